r"""The journal of a member: what it sent and received, on disk before anything follows from it.

::

    journal/
        lock                            held by the process that writes
        000000120.journal               messages since the checkpoint at slot 120
        epoch-000001/agent-003.*        the log and the snapshots of the checkpoints

Records are written in batches, each with its length and checksums, and flushed. A batch that a
crash cut off is the last one and was never acknowledged: it is dropped. Damage anywhere else is an
error. A checkpoint is written before the journal that begins at it, and older ones are removed
after.
"""

import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zlib import crc32

from grassvine.engines.checkpoints import AgentFiles, LogRecord
from grassvine.engines.checkpoints import Checkpoint as Mark
from grassvine.engines.peers.member.records import (
    Checkpoint,
    Incoming,
    LinkCounts,
    NeighbourFinished,
    Outgoing,
    Record,
    Recovered,
    Sent,
)
from grassvine.foundations.errors import CheckpointError, OutputError
from grassvine.foundations.files import make_folder, write_whole
from grassvine.protocol.report import StepReport

MAGIC = b"grassvine journal 1\n"
PAGE = mmap.PAGESIZE
EPOCH = 1  # of the checkpoint files; the lock takes the place of further ones
BATCH = b"\nbatch\n"
_BATCH = struct.Struct("<7sQII")  # mark, length of the content, its checksum, that of the header
_RECORD = struct.Struct("<BiqQ")  # kind, neighbour, slot, length of the payload
_KINDS = {"outgoing": 0, "incoming": 1, "finished": 2, "sent": 3, "counts": 4}
_COUNTS = struct.Struct("<qq")
_NAME = re.compile(r"(\d{9})\.journal")


@dataclass
class Journal:
    """An open journal; use :meth:`open`."""

    folder: Path
    agent: int
    identity: bytes
    recovered: Recovered
    _mark: Mark
    _lock: int
    _file: int
    _last_sent: int  # the slot of the last message

    @classmethod
    def open(cls, folder: str | os.PathLike[str], agent: int, plan: bytes) -> Self:
        """Open or begin the journal of an agent; ``plan`` is the digest of the plan."""
        place = make_folder(folder).absolute()
        lock = _locked(place)
        try:
            identity = MAGIC + plan + struct.pack("<i", agent)
            start = max(
                (int(m[1]) for e in place.iterdir() if (m := _NAME.fullmatch(e.name))), default=0
            )
            path = _path(place, start)
            _remove_leftovers(place, agent, start)
            records = list(_records(path, identity))
            mark = _mark(place, agent, start)
            files = AgentFiles(place, agent)
            recovered = Recovered(
                slot=start,
                snapshot=files.snapshot(mark) if start else None,
                agent_finished=any(report.finished for report in files.reports(mark)),
                log_entries=lambda: files.log_entries(mark),
                records=records,
            )
            if not path.exists():
                write_whole(path, identity)
            last_sent = max(recovered.outgoing, default=start - 1)
            return cls(place, agent, identity, recovered, mark, lock, _opened(path), last_sent)
        except BaseException:
            os.close(lock)
            raise

    def reports(self) -> Iterator[StepReport]:
        """Yield the agent's reports up to the last checkpoint."""
        return AgentFiles(self.folder, self.agent).reports(self._mark)

    def append(self, records: Iterable[Record]) -> None:
        """Write records and flush them to disk; after an error the journal must be opened again.

        A message for a slot that has one already is refused: what may have been sent is never
        computed again, because masks would then hide two payloads.
        """
        try:
            batch: list[Record] = []
            for record in records:
                if isinstance(record, Checkpoint):
                    self._write(batch)
                    batch = []
                    self._begin(record)
                else:
                    self._require_new(record)
                    batch.append(record)
            self._write(batch)
        except OSError as cause:
            raise OutputError(
                f"the journal in {self.folder} cannot be written ({cause.strerror or cause}); free "
                "disk space and run the same command again, and the run goes on where it was."
            ) from None

    def close(self) -> None:
        """Close the files, and let another process open the journal."""
        os.close(self._file)
        os.close(self._lock)

    def _require_new(self, record: Record) -> None:
        if isinstance(record, Outgoing):
            if record.slot <= self._last_sent:
                raise CheckpointError(
                    f"the journal in {self.folder} has a message of slot {self._last_sent} already,"
                    f" and got another one of slot {record.slot}; begin a new plan."
                )
            self._last_sent = record.slot

    def _write(self, records: Iterable[Record]) -> None:
        parts = _batch(records)
        if not parts:
            return
        for part in parts:  # one by one, because joining copies megabytes
            view = memoryview(part)
            while view:
                view = view[os.write(self._file, view) :]
        os.fdatasync(self._file)
        _release_memory(self._file)

    def _begin(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint and begin the journal after it."""
        if checkpoint.slot == self._slot:
            return  # no slot has passed
        records = [
            LogRecord(report.slot, entry, report)
            for entry, report in zip(checkpoint.log_entries, checkpoint.reports, strict=True)
        ]
        segment = (EPOCH, checkpoint.slot)
        files = AgentFiles(self.folder, self.agent)
        (self.folder / f"epoch-{EPOCH:06d}").mkdir(exist_ok=True)
        files.write(segment, records, checkpoint.snapshot, 0.0)
        path = _path(self.folder, checkpoint.slot)
        write_whole(path, b"".join([self.identity, *_batch(checkpoint.kept)]))
        old, self._file = self._file, _opened(path)
        os.close(old)
        previous, self._mark = self._mark, Mark(checkpoint.slot, (*self._mark.segments, segment))
        _path(self.folder, previous.slot).unlink(missing_ok=True)
        for before in previous.segments[-1:]:
            files.remove_snapshot(before)

    @property
    def _slot(self) -> int:
        return self._mark.slot


def _path(folder: Path, slot: int) -> Path:
    return folder / f"{slot:09d}.journal"


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))


def _release_memory(file: int) -> None:
    """Let the system drop its copy of what is on disk, which is read after a crash only.

    Otherwise the journal takes new memory with every message. In a virtual machine that returns
    free memory to its host this costs ten times as much as writing.
    """
    if advise := getattr(os, "posix_fadvise", None):  # macOS and Windows have none
        whole_pages = os.fstat(file).st_size // PAGE * PAGE  # the last one is still appended to
        advise(file, 0, whole_pages, os.POSIX_FADV_DONTNEED)


def _locked(folder: Path) -> int:
    """Lock a folder for this process, until it ends."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows has no locks of this kind
        return lock
    except OSError:
        os.close(lock)
        raise CheckpointError(
            f"another process is running with the journal in {folder}; stop it, or wait for it."
        ) from None
    return lock


def _remove_leftovers(folder: Path, agent: int, slot: int) -> None:
    """Remove what a crash in the middle of a checkpoint left: older journals, newer logs."""
    for path in folder.glob("*.journal"):
        if (match := _NAME.fullmatch(path.name)) and int(match[1]) < slot:
            path.unlink()
    for path in folder.glob(f"epoch-*/agent-{agent:03d}.*"):
        at = int(path.name.split(".")[1])
        if at > slot or (path.suffix == ".snapshot" and at < slot):
            path.unlink()


def _mark(folder: Path, agent: int, slot: int) -> Mark:
    """Return the checkpoint at a slot, with the segments of its log."""
    if not slot:
        return Mark()
    name = re.compile(rf"agent-{agent:03d}\.(\d{{9}})\.log")
    epoch = folder / f"epoch-{EPOCH:06d}"
    slots = sorted(int(m[1]) for e in epoch.iterdir() if (m := name.fullmatch(e.name)))
    return Mark(slot, tuple((EPOCH, one) for one in slots if one <= slot))


def _batch(records: Iterable[Record]) -> list[bytes]:
    """Return the parts of a batch, the header first; none without records."""
    parts = [part for record in records for part in _encoded(record)]
    if not parts:
        return []
    checksum = 0
    for part in parts:
        checksum = crc32(part, checksum)
    header = _BATCH.pack(BATCH, sum(map(len, parts)), checksum, 0)[:-4]
    return [header + struct.pack("<I", crc32(header)), *parts]


def _encoded(record: Record) -> tuple[bytes, bytes]:
    """Return a header and the payload."""
    match record:
        case Outgoing(slot, payload):
            return _RECORD.pack(_KINDS["outgoing"], -1, slot, len(payload)), payload
        case Incoming(sender, slot, payload):
            return _RECORD.pack(_KINDS["incoming"], sender, slot, len(payload)), payload
        case NeighbourFinished(neighbour):
            return _RECORD.pack(_KINDS["finished"], neighbour, -1, 0), b""
        case Sent(receiver, number, payload):
            return _RECORD.pack(_KINDS["sent"], receiver, number, len(payload)), payload
        case LinkCounts(neighbour, sent, received, left):
            payload = _COUNTS.pack(received, left)
            return _RECORD.pack(_KINDS["counts"], neighbour, sent, len(payload)), payload
    raise TypeError(f"{type(record).__name__} is not written in a batch")


def _records(path: Path, identity: bytes) -> Iterator[Record]:
    """Yield the records of a journal, and cut off a batch that was never completed."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data[: len(identity)] != identity:
        raise CheckpointError(
            f"{path} is the journal of another plan or member, or of another version of grassvine; "
            "run in the folder of this plan."
        )
    place = len(identity)
    while place < len(data):
        end = _end_of_batch(data, place)
        if end < 0:
            later = place
            while (later := data.find(BATCH, later + 1)) >= 0:
                if _end_of_batch(data, later) >= 0:  # so this one had been complete
                    raise _damaged(path, place)
            _truncate(path, place)
            return
        yield from _decoded(memoryview(data)[place + _BATCH.size : end], path, place)
        place = end


def _end_of_batch(data: bytes, place: int) -> int:
    """Return where the batch that begins at a place ends; −1 if it is not complete."""
    begin = place + _BATCH.size
    if begin > len(data):
        return -1
    mark, length, checksum, header_checksum = _BATCH.unpack_from(data, place)
    if mark != BATCH or header_checksum != crc32(data[place : begin - 4]):
        return -1
    end: int = begin + length
    if end > len(data) or crc32(memoryview(data)[begin:end]) != checksum:
        return -1
    return end


def _decoded(batch: memoryview, path: Path, place: int) -> Iterator[Record]:
    at = 0
    while at < len(batch):
        if at + _RECORD.size > len(batch):
            raise _damaged(path, place)
        kind, neighbour, slot, length = _RECORD.unpack_from(batch, at)
        at += _RECORD.size
        payload = bytes(batch[at : at + length])
        at += length
        if at > len(batch):
            raise _damaged(path, place)
        if kind == _KINDS["outgoing"]:
            yield Outgoing(slot, payload)
        elif kind == _KINDS["incoming"]:
            yield Incoming(neighbour, slot, payload)
        elif kind == _KINDS["finished"]:
            yield NeighbourFinished(neighbour)
        elif kind == _KINDS["sent"]:
            yield Sent(neighbour, slot, payload)
        elif kind == _KINDS["counts"] and length == _COUNTS.size:
            yield LinkCounts(neighbour, slot, *_COUNTS.unpack(payload))
        else:
            raise _damaged(path, place)


def _truncate(path: Path, size: int) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.ftruncate(file, size)
        os.fsync(file)
    finally:
        os.close(file)


def _damaged(path: Path, place: int) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged at byte {place}, and what was acknowledged is lost; restore the folder "
        "from a copy, or begin a new plan."
    )
