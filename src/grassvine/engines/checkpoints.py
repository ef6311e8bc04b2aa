"""Checkpoint files, written atomically and protected from actors that were given up.

::

    epoch-000002/                     written by one pool of actors only
        agent-003.000000120.log       log entries and reports since the previous checkpoint
        agent-003.000000120.snapshot  the rest of the agent's state at slot 120
        000000120.json                marks slot 120 as complete: all agents' files exist

A pool of actors creates a new epoch when it starts and after every loss. An actor that was cut off
may keep writing, but only to an old epoch, which no later checkpoint refers to. Nothing is random
after slot 0, so a run that restarts from a checkpoint gives bitwise identical results.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from grassvine.foundations.errors import CheckpointError, Option, OutputError
from grassvine.foundations.files import make_folder, write_whole
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import State
from grassvine.protocol.report import StepReport

FORMAT = "grassvine checkpoint 1"
KEYS = {"format", "timetable", "n_agents", "slot", "segments"}
LOG_ENTRY, REPORTS, ORIGIN = "log entry ", "reports", "origin"
_EPOCH = re.compile(r"epoch-(\d{6})")
_COMPLETE = re.compile(r"(\d{9})\.json")

Segment = tuple[int, int]  # (epoch, slot) of a log file, which ends at that slot


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: its slot and the segments of the log up to that slot."""

    slot: int = 0
    segments: tuple[Segment, ...] = ()


START = Checkpoint()


@dataclass(frozen=True, slots=True)
class LogRecord:
    """Log entry and report of one agent at one slot."""

    slot: int
    log_entry: State
    report: StepReport


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of one agent, written and read by the actor that runs it."""

    folder: Path
    agent: int

    def write(
        self, segment: Segment, records: Sequence[LogRecord], snapshot: State, origin: float
    ) -> None:
        """Write the log records since the previous checkpoint, and the snapshot.

        ``origin`` is the agent's cost before slot 0; on restoring it reveals different data.
        """
        arrays: dict[str, NDArray[Any]] = {
            f"{LOG_ENTRY}{index:09d} {name}": array
            for index, record in enumerate(records)
            for name, array in record.log_entry.items()
        }
        reports = json.dumps([asdict(record.report) for record in records]).encode()
        arrays[REPORTS] = np.frombuffer(reports, dtype=np.uint8)
        arrays[ORIGIN] = np.array([origin])
        try:
            _write(self._path(segment, "log"), arrays)
            _write(self._path(segment, "snapshot"), snapshot)
        except OutputError as cause:
            raise OutputError(
                f"{cause} Every node must see the checkpoint folder at the same path."
            ) from None

    def log_entries(self, mark: Checkpoint) -> Iterator[State]:
        """Yield the log entries up to a checkpoint in order, reading one segment at a time."""
        for segment in mark.segments:
            log_entries: dict[str, dict[str, NDArray[Any]]] = {}
            for key, array in sorted(_read_all(self._path(segment, "log")).items()):
                if key.startswith(LOG_ENTRY):
                    index, name = key.removeprefix(LOG_ENTRY).split(" ", 1)
                    log_entries.setdefault(index, {})[name] = array
            yield from log_entries.values()

    def snapshot(self, mark: Checkpoint) -> State:
        """Read the snapshot of a checkpoint."""
        return _read_all(self._path(mark.segments[-1], "snapshot"))

    def origin(self, mark: Checkpoint) -> float:
        """Read the agent's cost before slot 0."""
        return float(_read_one(self._path(mark.segments[-1], "log"), ORIGIN)[0])

    def reports(self, mark: Checkpoint) -> Iterator[StepReport]:
        """Yield the agent's reports up to a checkpoint."""
        for segment in mark.segments:
            text = _read_one(self._path(segment, "log"), REPORTS).tobytes()
            yield from (StepReport(**report) for report in json.loads(text))

    def remove_snapshot(self, segment: Segment) -> None:
        """Remove a snapshot that is no longer needed."""
        self._path(segment, "snapshot").unlink(missing_ok=True)

    def _path(self, segment: Segment, kind: str) -> Path:
        epoch, slot = segment
        return _epoch(self.folder, epoch) / f"agent-{self.agent:03d}.{slot:09d}.{kind}"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run in one folder, managed by its driver."""

    folder: Path
    digest: str
    n_agents: int

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        timetable: Timetable,
        *,
        resume: bool,
    ) -> "Checkpoints":
        """Open the checkpoint folder of a run; it must hold no checkpoints unless ``resume``."""
        found = cls(make_folder(folder).absolute(), timetable.digest(), timetable.n_agents)
        newest = found.newest()
        if newest.slot and not resume:
            raise CheckpointError(
                f"{found.folder} already holds checkpoints up to slot {newest.slot}; resume that "
                "run with ",
                Option("resume", True),
                ", or choose another folder.",
            )
        return found

    def newest(self) -> Checkpoint:
        """Return the last complete checkpoint of the newest epoch that has one, or ``START``."""
        for epoch in sorted(self._epochs(), reverse=True):
            slots = [
                int(match[1])
                for entry in _epoch(self.folder, epoch).iterdir()
                if (match := _COMPLETE.fullmatch(entry.name))
            ]
            if slots:
                return self._load(epoch, max(slots))
        return START

    def new_epoch(self) -> int:
        """Create a new, empty epoch and return its number."""
        epoch = max(self._epochs(), default=0) + 1
        while True:
            try:
                _epoch(self.folder, epoch).mkdir()
                return epoch
            except FileExistsError:  # created by another driver meanwhile
                epoch += 1
            except OSError as cause:
                raise OutputError(
                    f"cannot write to {self.folder} ({cause.strerror}); choose another checkpoint "
                    "folder."
                ) from None

    def complete(self, epoch: int, slot: int, before: Checkpoint) -> Checkpoint:
        """Mark a checkpoint as complete once all agents have written their files.

        Raises CheckpointError if another driver has resumed from this folder meanwhile, because
        removing old snapshots could delete files that the other driver still needs.
        """
        newest = max(self._epochs(), default=epoch)
        if newest > epoch:
            raise CheckpointError(
                f"another driver has resumed from the checkpoints in {self.folder} (epoch {newest} "
                f"follows {epoch}); use the result of that run."
            )
        mark = Checkpoint(slot, (*before.segments, (epoch, slot)))
        content = {
            "format": FORMAT,
            "timetable": self.digest,
            "n_agents": self.n_agents,
            "slot": slot,
            "segments": mark.segments,
        }
        write_whole(_complete(self.folder, epoch, slot), json.dumps(content).encode())
        # Keep two snapshots per agent, in case the newest is damaged.
        for segment in mark.segments[-3:-2]:
            for agent in range(self.n_agents):
                AgentFiles(self.folder, agent).remove_snapshot(segment)
        return mark

    def reports(self, mark: Checkpoint) -> list[StepReport]:
        """Return all agents' reports up to a checkpoint, ordered by slot, then agent."""
        all_files = (AgentFiles(self.folder, agent) for agent in range(self.n_agents))
        found = (report for files in all_files for report in files.reports(mark))
        return sorted(found, key=lambda report: (report.slot, report.agent))

    def _epochs(self) -> Iterable[int]:
        matches = (_EPOCH.fullmatch(entry.name) for entry in self.folder.iterdir())
        return [int(match[1]) for match in matches if match]

    def _load(self, epoch: int, slot: int) -> Checkpoint:
        path = _complete(self.folder, epoch, slot)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or set(content) != KEYS or content["format"] != FORMAT:
                raise ValueError(f"not a '{FORMAT}'")
            segments = tuple((int(one), int(other)) for one, other in content["segments"])
            if content["slot"] != slot or not segments or segments[-1] != (epoch, slot):
                raise ValueError("slot and segments do not match")
        except (OSError, ValueError, TypeError) as cause:
            raise CheckpointError(
                f"cannot use {path} ({cause}); remove it to resume from the previous checkpoint."
            ) from None
        if (content["timetable"], content["n_agents"]) != (self.digest, self.n_agents):
            raise CheckpointError(
                f"{self.folder} holds checkpoints of another run with different agents or a "
                "different timetable; use the plan of that run or choose another folder."
            )
        return Checkpoint(slot, segments)


def _epoch(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:06d}"


def _complete(folder: Path, epoch: int, slot: int) -> Path:
    return _epoch(folder, epoch) / f"{slot:09d}.json"


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    metadata = {"format": FORMAT, "digest": _digest(contiguous)}
    write_whole(path, save(contiguous, metadata=metadata))


def _read_all(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of a file and check their digest."""
    with _opened(path) as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if file.metadata().get("digest") != _digest(arrays):
            raise ValueError("the digest does not match")
    return arrays


def _read_one(path: Path, name: str) -> NDArray[Any]:
    """Read one array of a file."""
    with _opened(path) as file:
        array: NDArray[Any] = file.get_tensor(name)
    return array


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="numpy") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise ValueError(f"not a '{FORMAT}'")
            yield file
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(
            f"{path} is truncated, modified or missing ({cause}); remove the newest .json of its "
            "epoch to resume from the previous checkpoint, or start again in another folder."
        ) from None


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
