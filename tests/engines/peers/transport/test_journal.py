"""A journal never forgets what it has flushed, whenever its process is killed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.peers.agents import MixingAgent
from tests.engines.peers.member.test_simulation import draw_timetable
from tests.engines.peers.simulator import Disk, Simulation

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
from grassvine.engines.peers.transport.journal import Journal
from grassvine.foundations.errors import CheckpointError, OutputError
from grassvine.foundations.seeds import stream
from grassvine.protocol import StepReport

PLAN = b"p" * 32


def report(slot: int) -> StepReport:
    return StepReport(0, slot, slot, 1.0 / (slot + 1), 0.0, 0.0, 1, 0.5, share=0.0)


def checkpoint(slot: int, since: int, kept: tuple[Record, ...]) -> Checkpoint:
    return Checkpoint(
        slot=slot,
        snapshot={"x": np.arange(3.0) + slot},
        log_entries=tuple({"0": np.array([float(at)])} for at in range(since, slot)),
        reports=tuple(report(at) for at in range(since, slot)),
        kept=kept,
    )


# What a member writes, batch by batch.
BATCHES: list[tuple[Record, ...]] = [
    (Outgoing(0, b"first"),),
    (Incoming(1, 0, b"a" * 100), Incoming(2, 0, b"")),
    (Outgoing(1, b"second"),),
    (checkpoint(2, 0, (Outgoing(1, b"second"), Incoming(1, 2, b"early"))),),
    (Incoming(2, 2, b"x" * 5000), NeighbourFinished(2)),
    (Outgoing(3, b"third"), checkpoint(4, 2, (Outgoing(3, b"third"), NeighbourFinished(2)))),
    (Incoming(1, 5, b"last"),),
    (Incoming(1, 0, b"offer"), Sent(1, 4, b"answer"), Sent(2, 2**31 - 1, b"")),
    (
        checkpoint(
            5, 4, (LinkCounts(1, 5, 2**31, 7), LinkCounts(2, 0, 0, 2**20), Sent(1, 4, b"answer"))
        ),
    ),
]


def content(recovered: Recovered, reports: Iterator[StepReport] | list[StepReport]) -> object:
    snapshot = recovered.snapshot or {}
    return (
        recovered.slot,
        recovered.agent_finished,
        {name: np.asarray(array).tolist() for name, array in snapshot.items()},
        [{k: np.asarray(v).tolist() for k, v in e.items()} for e in recovered.log_entries() if e],
        dict(recovered.outgoing),
        dict(recovered.incoming),
        recovered.finished,
        list(recovered.records),
        list(reports),
    )


def after(n_batches: int) -> object:
    """What must be recovered after so many batches."""
    disk = Disk()
    for records in BATCHES[:n_batches]:
        disk.write(records)
    return content(disk.recovered(), disk.reports)


def recover(folder: Path) -> object:
    journal = Journal.open(folder, 0, PLAN)
    try:
        return content(journal.recovered, journal.reports())
    finally:
        journal.close()


def test_everything_written_is_recovered(tmp_path: Path) -> None:
    for count, records in enumerate(BATCHES):
        journal = Journal.open(tmp_path, 0, PLAN)
        journal.append(records)
        journal.close()
        assert recover(tmp_path) == after(count + 1)


class Killed(BaseException):
    """The process ends here."""


OPERATIONS = ("write", "fsync", "fdatasync", "replace", "rename", "unlink", "mkdir", "open")


@contextmanager
def killed_at(operation: int, half: bool) -> Iterator[list[str]]:
    """End the process at the n-th file operation; ``half`` of a write is then on disk."""
    done: list[str] = []
    real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in OPERATIONS}

    def wrapped(name: str, *args: Any, **kwargs: Any) -> Any:
        done.append(name)
        if len(done) > operation:
            if half and name == "write" and len(done) == operation + 1:
                real[name](args[0], bytes(args[1])[: len(args[1]) // 2])
            raise Killed
        return real[name](*args, **kwargs)

    patch = pytest.MonkeyPatch()
    for name in OPERATIONS:
        patch.setattr(os, name, partial(wrapped, name))
    try:
        yield done
    finally:
        patch.undo()


@pytest.mark.parametrize("half", [False, True])
def test_a_kill_at_any_file_operation_loses_nothing_that_was_flushed(
    tmp_path: Path, half: bool
) -> None:
    operation, over = 0, False
    while not over:
        folder = tmp_path / f"{operation}"
        completed = 0  # batches
        journal: Journal | None = None
        try:
            with killed_at(operation, half):
                journal = Journal.open(folder, 0, PLAN)
                for records in BATCHES:
                    journal.append(records)
                    completed += 1
            over = True
        except Killed:
            pass
        finally:
            if journal:
                journal.close()
        if folder.exists():
            found = recover(folder)
            # The batch under way may have become durable, or its checkpoint alone not.
            assert found in [
                after(max(completed, 0)),
                after(completed + 1),
                partial_last(completed),
            ]
            assert recover(folder) == found
        operation += 1
    assert operation > 40


def partial_last(n_batches: int) -> object:
    """What is recovered if only the records before a checkpoint of a batch were written."""
    disk = Disk()
    for records in BATCHES[:n_batches]:
        disk.write(records)
    for record in BATCHES[n_batches] if n_batches < len(BATCHES) else ():
        if isinstance(record, Checkpoint):
            break
        disk.write([record])
    return content(disk.recovered(), disk.reports)


def test_a_full_disk_is_one_sentence_and_the_journal_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.open(tmp_path, 0, PLAN)
    journal.append(BATCHES[0])

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OutputError, match=r"No space left on device.*free disk space"):
            journal.append(BATCHES[1])
    journal.close()
    assert recover(tmp_path) == after(1)


@pytest.mark.parametrize("place", range(56, 200, 3))
def test_damage_in_the_middle_is_an_error(tmp_path: Path, place: int) -> None:
    journal = Journal.open(tmp_path, 0, PLAN)
    for records in BATCHES[:3]:
        journal.append(records)
    journal.close()
    path = next(tmp_path.glob("*.journal"))
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="damaged"):
        recover(tmp_path)


def test_journals_of_other_plans_and_agents_are_refused(tmp_path: Path) -> None:
    Journal.open(tmp_path, 0, PLAN).close()
    for agent, plan in ((1, PLAN), (0, b"q" * 32)):
        with pytest.raises(CheckpointError, match="another plan or member"):
            Journal.open(tmp_path, agent, plan)


def test_two_processes_do_not_share_a_journal(tmp_path: Path) -> None:
    first = Journal.open(tmp_path, 0, PLAN)
    with pytest.raises(CheckpointError, match="another process"):
        Journal.open(tmp_path, 0, PLAN)
    first.close()
    Journal.open(tmp_path, 0, PLAN).close()


class JournalDisk(Disk):
    """A disk in memory beside a journal in files; both must recover the same."""

    def __init__(self, folder: Path, agent: int) -> None:
        super().__init__()
        self.folder, self.agent = folder, agent
        self.journal = Journal.open(folder, agent, PLAN)

    def write(self, records: Any) -> None:
        super().write(records)
        self.journal.append(records)

    def restart(self) -> None:
        self.journal.close()
        self.journal = Journal.open(self.folder, self.agent, PLAN)
        found = content(self.journal.recovered, self.journal.reports())
        assert repr(found) == repr(content(self.recovered(), self.reports))


@pytest.mark.parametrize("seed", range(6))
def test_simulated_members_recover_from_files_as_from_memory(tmp_path: Path, seed: int) -> None:
    timetable = draw_timetable(stream(seed, "timetable"))
    make = partial(MixingAgent, timetable=timetable, logs=bool(seed % 2))
    simulation = Simulation(
        [partial(make, number) for number in range(timetable.n_agents)],
        timetable,
        seed,
        checkpoint_bytes=300,
    )
    disks = [JournalDisk(tmp_path / f"{node.number}", node.number) for node in simulation.nodes]
    for node, disk in zip(simulation.nodes, disks, strict=True):
        node.disk = disk
    simulation.run()
    for disk in disks:
        disk.restart()
        disk.journal.close()


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="the system does not tell what it keeps")
def test_the_system_keeps_no_copy_of_what_is_on_disk(tmp_path: Path) -> None:
    """Otherwise a journal fills the memory with messages that nobody reads."""

    def in_memory(path: Path, offset: int) -> bool:
        file = os.open(path, os.O_RDONLY)
        try:
            return os.preadv(file, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
        except BlockingIOError:
            return False
        finally:
            os.close(file)

    plain = tmp_path / "plain"
    with plain.open("wb") as file:
        file.write(bytes(2**20))
        file.flush()
        os.fsync(file.fileno())
        before = in_memory(plain, 2**19)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if not before or in_memory(plain, 2**19):
        pytest.skip("this file system keeps its files in memory, or none of them")
    journal = Journal.open(tmp_path / "journal", 0, PLAN)
    journal.append([Outgoing(0, bytes(2**20))])
    path = tmp_path / "journal" / "000000000.journal"
    assert not in_memory(path, 2**19)
    assert in_memory(path, path.stat().st_size - 1)  # the page to which the next batch is added
    journal.close()


def test_a_slot_has_one_message_for_ever(tmp_path: Path) -> None:
    """Otherwise a mask would hide two payloads: what may have been sent is never computed again."""
    batches: list[tuple[Record, ...]] = [
        (Outgoing(0, b"first"),),
        (Outgoing(2, b"second"), Incoming(1, 2, b"a")),
        (checkpoint(3, 0, ()),),
    ]
    for used, batch in enumerate(batches):
        journal = Journal.open(tmp_path, 0, PLAN)
        journal.append(batch)
        last = (0, 2, 2)[used]
        for slot in range(last + 1):
            with pytest.raises(CheckpointError, match=f"slot {last} already.* of slot {slot};"):
                journal.append([Outgoing(slot, b"again")])
        journal.close()
        # So does a process that was started again.
        journal = Journal.open(tmp_path, 0, PLAN)
        with pytest.raises(CheckpointError, match=f"slot {last} already"):
            journal.append([Outgoing(last, b"again")])
        journal.close()
    journal = Journal.open(tmp_path, 0, PLAN)
    journal.append([Outgoing(3, b"third")])
    journal.close()
