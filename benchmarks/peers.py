"""How long two members take for an exchange on loopback: ``python -m benchmarks.peers``.

Two processes with mutual TLS send each other a message of a given size at every slot. An exchange
goes from one meeting to the next: each member encodes its message, writes it to its journal, sends
it, writes the neighbour's to its journal, acknowledges and decodes it. Both writes are flushed to
disk; what flushing takes by itself is measured beside it.
"""

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from tests.engines.peers.certificate_cases import card, numbered, signed

import grassvine as gv
from grassvine.engines.peers.member.conversation import Agreement
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.journal import Journal
from grassvine.networks import AllEdges
from grassvine.protocol import Message, StepReport
from grassvine.protocol.agent import State
from grassvine.protocol.message import Shapes

SIZES = (0.4e6, 3.2e6)  # bytes
EXCHANGES = 120
WARM_UP = 20
QUANTILES = (0.05, 0.25, 0.75, 0.95)
PLAN = b"benchmark".ljust(32)


@dataclass
class Exchanger:
    """An agent that sends an array at every slot, and notes when it meets its neighbour."""

    id: int
    size: int
    times: list[tuple[float, float]] = field(default_factory=list)  # of the wall, of the processor

    def precompute(self, slot: int) -> None:
        return None

    def outgoing(self, slot: int) -> Message:
        return Message(self.id, slot, {"x": np.full(self.size // 8, float(slot))})

    def expected(self, slot: int) -> Shapes:
        return {"x": (self.size // 8,)}

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        assert inbox[0].arrays["x"][-1] == slot
        self.times.append((time.perf_counter(), time.process_time()))
        return self.conclude(slot)

    def conclude(self, slot: int) -> StepReport:
        return StepReport(self.id, slot, slot, 0.0, 0.0, 0.0)

    def state(self) -> State:
        return {}

    def log_entry(self) -> State:
        return {}

    def snapshot(self) -> State:
        return {}

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        raise NotImplementedError


def measure(sizes: Iterable[float] = SIZES) -> Iterator[dict[str, Any]]:
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            flush = _flush_seconds(Path(folder), int(size))
            times = np.array(_exchange(Path(folder), int(size)))[WARM_UP:]
        wall, cpu = np.diff(times, axis=0).T
        yield {
            "megabytes": size / 1e6,
            "wall": float(np.median(wall)),
            "quantiles": np.quantile(wall, QUANTILES),
            "cpu": float(cpu.mean()),
            "flush": flush,
        }


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        spread = " / ".join(f"{1e3 * one:.1f}" for one in row["quantiles"])
        print(
            f"exchange of {row['megabytes']:.1f} MB each way: median {1e3 * row['wall']:.1f} ms "
            f"(5, 25, 75, 95 %: {spread} ms), {1e3 * row['cpu']:.1f} CPU ms a member; "
            f"writing and flushing as much takes {1e3 * row['flush']:.1f} ms, and is done twice",
            flush=True,
        )


def _flush_seconds(folder: Path, size: int, repeats: int = 30) -> float:
    """Return how long it takes to append so many bytes to a file and flush them."""
    seconds, data = [], bytes(size)
    with (folder / "file").open("ab", buffering=0) as file:
        for _ in range(repeats):
            began = time.perf_counter()
            file.write(data)
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def _exchange(folder: Path, size: int) -> list[tuple[float, float]]:
    a, b = (numbered(signed(name), number) for number, name in enumerate("ab"))
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_dial, args=(there, b, a, folder / "b", size))
    process.start()
    agent = asyncio.run(_run(a, card(b), folder / "a", size, "127.0.0.1:0", here.send))
    process.join()
    return agent.times


def _dial(line: "Connection[Any, Any]", own: Identity, other: Identity, folder: Path, size: int):  # type: ignore[no-untyped-def]
    asyncio.run(_run(own, card(other, f"127.0.0.1:{line.recv()}"), folder, size))


async def _run(
    own: Identity,
    neighbour: Neighbour,
    folder: Path,
    size: int,
    listen: str | None = None,
    opened: Any = None,
) -> Exchanger:
    plan = gv.Plan(9, 2, gv.networks.path(2), gv.Gossip(max_iter=EXCHANGES, schedule=AllEdges()))
    agent = Exchanger(own.number, size)
    journal = Journal.open(folder, own.number, PLAN)
    member = Member(
        Agreement(own.number, ["a", "b"], PLAN),
        lambda: agent,
        plan.timetable,
        journal.recovered,
        Limits(checkpoint_bytes=2**40),
    )
    await run_member(
        member, own.number, own, [neighbour], journal, listen=listen, opened=opened or print
    )
    journal.close()
    return agent


if __name__ == "__main__":
    show(measure())
