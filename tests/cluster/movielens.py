"""Fit MovieLens-1M among eight agents, on one machine or in a cluster: the same numbers.

``python -m tests.cluster.movielens --ratings FILE --notes FOLDER [--address HOST:PORT]`` prints one
JSON object. Without an address the local engine runs it. Every slot that is over is told on
standard error, as ``slot 12``, and in the folder stands where each agent was made, so that somebody
who reads along can do something to a host in the middle.
"""

import argparse
import json
import math
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import grassvine as gv
from grassvine.data import hold_out_ratings
from grassvine.datasets import read_movielens
from grassvine.engines.base import AgentFactory, Engine, EngineResult
from grassvine.networks import Timetable
from grassvine.protocol import Agent, Observer, StepReport
from grassvine.sums import BiasedCompletionProblem, BiasedFactorization, BiasedModel

N_AGENTS = 8
RANK = 10
CHECKPOINT_SECONDS = 1.0
MU = 10.0  # near the best on what is held out, and takes about 500 slots


@dataclass(frozen=True)
class Noted:
    """An engine whose agents leave a note of the host where they are made, each time they are."""

    engine: Engine
    notes: Path

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run as the engine does."""
        noting = [
            partial(_noted, make, self.notes / f"agent-{k}") for k, make in enumerate(factories)
        ]
        return self.engine.run(noting, timetable, observe)


def _noted(make: AgentFactory, note: Path) -> Agent:
    with note.open("a") as file:
        print(socket.gethostname(), file=file)
    return make()


class SlotTeller:
    """Tells on standard error when the first report of a slot comes."""

    only_watches = True

    def __init__(self) -> None:
        self._last = -1

    def __call__(self, report: StepReport) -> None:
        """Take a report."""
        if report.slot > self._last:
            self._last = report.slot
            sys.stderr.write(f"slot {report.slot}\n")


def main() -> None:
    """Run as the command line says, and print the result."""
    wishes = _wishes()
    train, test = hold_out_ratings(read_movielens(wishes.ratings).ratings, 0.2, seed=0)
    parts = gv.datasets.split_users(train, N_AGENTS)
    problems = [gv.BiasedCompletionProblem(part) for part in parts]
    plan = gv.Plan(
        train.n_items, RANK, gv.networks.ring(N_AGENTS), BiasedFactorization(regularization=MU)
    )
    began = time.monotonic()
    run = gv.run(plan, problems, engine=_engine(wishes), observers=[SlotTeller()])
    seconds = time.monotonic() - began
    found = {
        "rmse": _rmse(run, train, test),
        "n_slots": run.n_slots,
        "seconds": seconds,
        "stop_reason": run.stop_reason,
        "hosts": hosts_of_agents(wishes.notes),
        "n_reports": len(run.history),
        "incidents": run.incidents,
    }
    json.dump(found, sys.stdout)


def _engine(wishes: argparse.Namespace) -> Engine:
    if not wishes.address:
        return Noted(gv.LocalEngine(), wishes.notes)
    engine = gv.RayEngine(
        wishes.address, checkpoint_dir=wishes.checkpoints, checkpoint_seconds=CHECKPOINT_SECONDS
    )
    return Noted(engine, wishes.notes)


def _rmse(run: gv.Run, train: gv.Ratings, test: gv.Ratings) -> float:
    model = BiasedModel.from_arrays(run.states[0])  # all agents have the same
    predicted = BiasedCompletionProblem(train).predict(model, test)
    return math.sqrt(float(np.mean((predicted - test.values) ** 2)))


def hosts_of_agents(notes: Path) -> list[list[str]]:
    """Return for each agent the hosts where it was made, the last one last."""
    return [(notes / f"agent-{k}").read_text().split() for k in range(N_AGENTS)]


def _wishes() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ratings", type=Path, required=True)
    parser.add_argument("--notes", type=Path, required=True, help="an empty folder all hosts see")
    parser.add_argument("--address", help="the Ray cluster; without it the local engine runs")
    parser.add_argument("--checkpoints", type=Path, help="a folder all hosts see")
    return parser.parse_args()


if __name__ == "__main__":
    main()
