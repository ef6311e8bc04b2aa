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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from grassvine.engines.checkpoint_records import Segment, reports_of, segments_of
from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import CheckpointError, Option, OutputError
from grassvine.foundations.files import make_folder, write_whole
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import State
from grassvine.protocol.report import StepReport

FORMAT = "grassvine checkpoint 2"
KEYS = {"format", "timetable", "n_agents", "slot", "segments"}
LOG_ENTRY, REPORTS, ORIGIN = "log entry ", "reports", "origin"
DIGEST = "sha256 "
_LOG_ENTRY = re.compile(LOG_ENTRY + r"(\d{9}) (.*)", re.DOTALL)
_EPOCH = re.compile(r"epoch-(\d{6})")
_COMPLETE = re.compile(r"(\d{9})\.json")


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
        reports = json.dumps([record.report._asdict() for record in records]).encode()
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
                if match := _LOG_ENTRY.fullmatch(key):
                    log_entries.setdefault(match[1], {})[match[2]] = array
            yield from log_entries.values()

    def snapshot(self, mark: Checkpoint) -> State:
        """Read the snapshot of a checkpoint."""
        return _read_all(self._path(mark.segments[-1], "snapshot"))

    def origin(self, mark: Checkpoint) -> float:
        """Read the agent's cost before slot 0."""
        path = self._path(mark.segments[-1], "log")
        origin = _read_one(path, ORIGIN)
        if origin.shape != (1,) or origin.dtype != np.float64:
            raise _damaged(path, "its origin is not a number")
        return float(origin[0])

    def reports(self, mark: Checkpoint) -> Iterator[StepReport]:
        """Yield the agent's reports up to a checkpoint."""
        next_slot = 0
        for segment in mark.segments:
            path = self._path(segment, "log")
            text = _read_one(path, REPORTS).tobytes()
            try:
                for report in reports_of(parse_json(text)):
                    if report.agent != self.agent or not next_slot <= report.slot < segment[1]:
                        raise ValueError("a report is of another agent or slot")
                    next_slot = report.slot + 1
                    yield report
            except ValueError as cause:
                raise _damaged(path, cause) from None

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
    n_slots: int

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        timetable: Timetable,
        *,
        resume: bool,
    ) -> "Checkpoints":
        """Open the checkpoint folder of a run; it must hold no checkpoints unless ``resume``."""
        place, digest = make_folder(folder).absolute(), timetable.digest()
        found = cls(place, digest, timetable.n_agents, timetable.n_slots)
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
            content = parse_json(path.read_bytes())
            if not isinstance(content, dict) or set(content) != KEYS or content["format"] != FORMAT:
                raise ValueError(f"not a '{FORMAT}'")
            segments = segments_of(content["segments"])
            if content["slot"] != slot or not segments or segments[-1] != (epoch, slot):
                raise ValueError("slot and segments do not match")
        except (OSError, ValueError) as cause:
            raise CheckpointError(
                f"cannot use {path} ({cause}); remove it to resume from the previous checkpoint."
            ) from None
        same = (content["timetable"], content["n_agents"]) == (self.digest, self.n_agents)
        if not same or slot > self.n_slots:
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
    digests = {DIGEST + name: _digest(array) for name, array in contiguous.items()}
    write_whole(path, save(contiguous, metadata={"format": FORMAT, **digests}))


def _read_all(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of a file and check their digests."""
    with _opened(path) as file:
        wanted = {key for key in file.metadata() if key.startswith(DIGEST)}
        if wanted != {DIGEST + name for name in file.keys()}:  # noqa: SIM118
            raise ValueError("arrays are missing")
        return {name: _intact(file, name) for name in file.keys()}  # noqa: SIM118


def _read_one(path: Path, name: str) -> NDArray[Any]:
    """Read one array of a file and check its digest."""
    with _opened(path) as file:
        return _intact(file, name)


def _intact(file: Any, name: str) -> NDArray[Any]:
    array: NDArray[Any] = file.get_tensor(name)
    if file.metadata().get(DIGEST + name) != _digest(array):
        raise ValueError("the digest does not match")
    return array


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="numpy") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise ValueError(f"not a '{FORMAT}'")
            yield file
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as cause:
        raise _damaged(path, cause) from None


def _damaged(path: Path, cause: object) -> CheckpointError:
    return CheckpointError(
        f"{path} is truncated, modified or missing ({cause}); remove the newest .json of its "
        "epoch to resume from the previous checkpoint, or start again in another folder."
    )


def _digest(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(array.tobytes())
    return digest.hexdigest()
