"""What a fit between members costs beside one in a process: ``python -m benchmarks.members``.

Six members fit MovieLens-1M at rank 10 by variational Bayes, the default, and by MAP, each in a
process of its own, over mutual TLS on loopback and with a journal on disk. The CPU seconds of all
processes, without their start, are compared with those of the local engine in this process. A run
of two iterations tells how much goes into sending the data to the processes, creating agents, and
connecting.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.timing import timed
from tests.engines.peers.loopback_engine import LoopbackEngine

import grassvine as gv
from grassvine.datasets import load_ratings
from grassvine.engines.base import AgentFactory, Engine, EngineResult
from grassvine.networks import Timetable
from grassvine.protocol.observers import AllFinished

RANK, N_MEMBERS = 10, 6
MAP = gv.sums.BiasedFactorization
METHODS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bayes": (gv.sums.BayesianCompletionProblem, gv.sums.BayesianFactorization),
    "map, given": (gv.BiasedCompletionProblem, partial(MAP, regularization=2.0)),
    "map, chosen": (gv.BiasedCompletionProblem, MAP),
}
TICKS = os.sysconf("SC_CLK_TCK")  # per second, of the CPU times that the kernel tells
CHECKPOINT_BYTES = 2**26  # as between organisations


def measure() -> Iterator[dict[str, Any]]:
    members = LoopbackEngine(checkpoint_bytes=CHECKPOINT_BYTES)
    engines: dict[str, Engine] = {"local": gv.LocalEngine(), "members": members}
    for name_of_method, (problem, method) in METHODS.items():
        factories, timetable = _fit(problem, method())
        found = {}
        for name, engine in engines.items():
            _run(engine, *_fit(problem, method(max_iter=2)))  # starts processes, loads kernels
            beginning = _measured(engine, *_fit(problem, method(max_iter=2)))
            whole = _measured(engine, factories, timetable)
            n_more = whole["sums"] - beginning["sums"]
            found[name] = {**whole, "ms a sum": 1e3 * (whole["cpu"] - beginning["cpu"]) / n_more}
        same = all(
            one["basis"].tobytes() == other["basis"].tobytes()
            for one, other in zip(*(one["result"].states for one in found.values()), strict=True)
        )
        yield {
            "method": name_of_method,
            "sums": found["local"]["sums"],
            "same bits": same,
            **{
                f"{name} {what}": one[what]
                for name, one in found.items()
                for what in ("cpu", "wall", "ms a sum")
            },
        }
    members.close()


def show(rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        print(
            f"{row['method']}: {row['sums']} sums; local "
            f"{row['local cpu']:.1f} CPU s ({row['local wall']:.1f} s), six members "
            f"{row['members cpu']:.1f} CPU s ({row['members wall']:.1f} s), ratio "
            f"{row['members cpu'] / row['local cpu']:.2f}; CPU ms per further sum "
            f"{row['local ms a sum']:.1f} and {row['members ms a sum']:.1f}, ratio "
            f"{row['members ms a sum'] / row['local ms a sum']:.2f}; "
            f"{'the same bits' if row['same bits'] else 'OTHER BITS'}",
            flush=True,
        )


def _fit(problem: Callable[..., Any], method: Any) -> tuple[Sequence[AgentFactory], Timetable]:
    parts = gv.datasets.split_users(load_ratings("ml-1m").ratings, N_MEMBERS)
    plan = gv.Plan(parts[0].n_items, RANK, gv.networks.ring(N_MEMBERS), method)
    problems = [problem(part) for part in parts]
    return [partial(plan.agent, number, one) for number, one in enumerate(problems)], plan.timetable


def _run(engine: Engine, factories: Sequence[AgentFactory], timetable: Timetable) -> EngineResult:
    return engine.run(factories, timetable, AllFinished(N_MEMBERS))


def _measured(
    engine: Engine, factories: Sequence[AgentFactory], timetable: Timetable
) -> dict[str, Any]:
    """Run the agents; return the result with the seconds of all processes that they are in."""
    before = cpu_seconds(engine)
    result, took = timed(partial(_run, engine, factories, timetable))
    return {
        "cpu": cpu_seconds(engine) - before,
        "wall": took.wall,
        "sums": int(result.states[0]["updates"][0]),
        "result": result,
    }


def cpu_seconds(engine: Engine) -> float:
    """Return the CPU seconds so far of the processes in which agents run."""
    if not isinstance(engine, LoopbackEngine):
        return time.process_time()
    total = 0
    for process, _ in engine.processes:
        with open(f"/proc/{process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])  # of the program and of the system for it
    return total / TICKS


if __name__ == "__main__":
    show(measure())
