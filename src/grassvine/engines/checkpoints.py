"""Checkpoints: what agents must be told again, in files that are whole and safe from zombies.

::

    epoch-000002/                   what one crew of hosts wrote, and nobody else
        agent-003.000000120.log       what the agent learned and reported since the last checkpoint
        agent-003.000000120.snapshot  the rest of what it was at slot 120
        000000120.json              slot 120 is complete: every agent's files are there

A crew makes a new epoch when it begins, after every loss too. A host that was cut off may go on
writing, but only into an epoch that is over: no later checkpoint refers to what it writes there.
Since nothing is random after slot 0, what is done again from a checkpoint has the same bits.
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

from grassvine.foundations.errors import CheckpointError, OutputError
from grassvine.foundations.files import make_folder, write_whole
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import State
from grassvine.protocol.report import StepReport

FORMAT = "grassvine checkpoint 1"
KEYS = {"format", "timetable", "n_agents", "slot", "segments"}
LESSON, REPORTS, ORIGIN = "log entry ", "reports", "origin"
_EPOCH = re.compile(r"epoch-(\d{6})")
_COMPLETE = re.compile(r"(\d{9})\.json")

Segment = tuple[int, int]  # epoch and slot: an agent's log entries up to that slot


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: its slot, and where the log entries up to there are."""

    slot: int = 0
    segments: tuple[Segment, ...] = ()


START = Checkpoint()


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What an agent learned and reported at one slot."""

    slot: int
    log_entry: State
    report: StepReport


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of one agent, written and read by the host that it lives in."""

    folder: Path
    agent: int

    def write(
        self, segment: Segment, pages: Sequence[LogRecord], snapshot: State, origin: float
    ) -> None:
        """Write what the agent learned since the checkpoint before, and what else it is.

        The origin is the cost at which it started: by it other data are found out.
        """
        arrays: dict[str, NDArray[Any]] = {
            f"{LESSON}{place:09d} {name}": array
            for place, page in enumerate(pages)
            for name, array in page.log_entry.items()
        }
        reports = json.dumps([asdict(page.report) for page in pages]).encode()
        arrays[REPORTS] = np.frombuffer(reports, dtype=np.uint8)
        arrays[ORIGIN] = np.array([origin])
        try:
            _write(self._path(segment, "log"), arrays)
            _write(self._path(segment, "snapshot"), snapshot)
        except OutputError as cause:
            raise OutputError(
                f"{cause} Every host must reach the checkpoint folder by the same path."
            ) from None

    def log_entries(self, mark: Checkpoint) -> Iterator[State]:
        """Read what the agent learned up to a checkpoint, in order, a segment at a time."""
        for segment in mark.segments:
            log_entries: dict[str, dict[str, NDArray[Any]]] = {}
            for key, array in sorted(_read_all(self._path(segment, "log")).items()):
                if key.startswith(LESSON):
                    place, name = key.removeprefix(LESSON).split(" ", 1)
                    log_entries.setdefault(place, {})[name] = array
            yield from log_entries.values()

    def snapshot(self, mark: Checkpoint) -> State:
        """Read the rest of what the agent was at a checkpoint."""
        return _read_all(self._path(mark.segments[-1], "snapshot"))

    def origin(self, mark: Checkpoint) -> float:
        """Read the cost at which the agent started."""
        return float(_read_one(self._path(mark.segments[-1], "log"), ORIGIN)[0])

    def reports(self, mark: Checkpoint) -> Iterator[StepReport]:
        """Read what the agent reported up to a checkpoint."""
        for segment in mark.segments:
            text = _read_one(self._path(segment, "log"), REPORTS).tobytes()
            yield from (StepReport(**report) for report in json.loads(text))

    def forget(self, segment: Segment) -> None:
        """Remove a snapshot that a later one has made useless."""
        self._path(segment, "snapshot").unlink(missing_ok=True)

    def _path(self, segment: Segment, kind: str) -> Path:
        epoch, slot = segment
        return _epoch(self.folder, epoch) / f"agent-{self.agent:03d}.{slot:09d}.{kind}"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run in one folder, as its driver sees them."""

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
        """Open a folder for a run; one that holds checkpoints is refused unless they are wished."""
        found = cls(make_folder(folder).absolute(), timetable.digest(), timetable.n_agents)
        newest = found.newest()
        if newest.slot and not resume:
            raise CheckpointError(
                f"{found.folder} holds checkpoints of a run, up to slot {newest.slot}; resume it "
                "(resume=True, --resume), or choose another folder."
            )
        return found

    def newest(self) -> Checkpoint:
        """Return the newest complete checkpoint, of the newest epoch that has one, or the start."""
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
        """Make an epoch that nobody has written to."""
        epoch = max(self._epochs(), default=0) + 1
        while True:
            try:
                _epoch(self.folder, epoch).mkdir()
                return epoch
            except FileExistsError:  # another driver was faster
                epoch += 1
            except OSError as cause:
                raise OutputError(
                    f"{self.folder} cannot be written to ({cause.strerror}); choose another folder "
                    "for the checkpoints."
                ) from None

    def complete(self, epoch: int, slot: int, before: Checkpoint) -> Checkpoint:
        """Declare a checkpoint complete; all agents have written their files.

        A driver that was cut off while another went on from its checkpoints ends here: it would
        remove what the other may still need.
        """
        newest = max(self._epochs(), default=epoch)
        if newest > epoch:
            raise CheckpointError(
                f"another driver has gone on from the checkpoints in {self.folder} (epoch {newest} "
                f"follows {epoch}); this run ends, and that one has the result."
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
        # Two generations stay: should the newest be spoilt, there is the one before.
        for segment in mark.segments[-3:-2]:
            for agent in range(self.n_agents):
                AgentFiles(self.folder, agent).forget(segment)
        return mark

    def reports(self, mark: Checkpoint) -> list[StepReport]:
        """Read what all agents reported up to a checkpoint, by slot, then agent."""
        everyone = (AgentFiles(self.folder, agent) for agent in range(self.n_agents))
        found = (report for files in everyone for report in files.reports(mark))
        return sorted(found, key=lambda report: (report.slot, report.agent))

    def _epochs(self) -> Iterable[int]:
        matches = (_EPOCH.fullmatch(entry.name) for entry in self.folder.iterdir())
        return [int(match[1]) for match in matches if match]

    def _load(self, epoch: int, slot: int) -> Checkpoint:
        path = _complete(self.folder, epoch, slot)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or set(content) != KEYS or content["format"] != FORMAT:
                raise ValueError(f"it is no '{FORMAT}'")
            segments = tuple((int(one), int(other)) for one, other in content["segments"])
            if content["slot"] != slot or not segments or segments[-1] != (epoch, slot):
                raise ValueError("its slots do not fit")
        except (OSError, ValueError, TypeError) as cause:
            raise CheckpointError(
                f"{path} cannot be used ({cause}); remove it to go on from the checkpoint before."
            ) from None
        if (content["timetable"], content["n_agents"]) != (self.digest, self.n_agents):
            raise CheckpointError(
                f"{self.folder} holds checkpoints of another run: its agents or its timetable "
                "differ; give the plan that they belong to, or another folder."
            )
        return Checkpoint(slot, segments)


def _epoch(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:06d}"


def _complete(folder: Path, epoch: int, slot: int) -> Path:
    return _epoch(folder, epoch) / f"{slot:09d}.json"


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_whole(path, save(whole, metadata={"format": FORMAT, "digest": _digest(whole)}))


def _read_all(path: Path) -> dict[str, NDArray[Any]]:
    """Read arrays that are as they were written."""
    with _opened(path) as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if file.metadata().get("digest") != _digest(arrays):
            raise ValueError("its digest differs")
    return arrays


def _read_one(path: Path, name: str) -> NDArray[Any]:
    """Read one array, without the others."""
    with _opened(path) as file:
        array: NDArray[Any] = file.get_tensor(name)
    return array


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="numpy") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise ValueError(f"it is no '{FORMAT}'")
            yield file
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(
            f"{path} is cut off, altered or missing ({cause}); remove the newest .json of its "
            "epoch to go on from the checkpoint before, or begin anew in another folder."
        ) from None


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
