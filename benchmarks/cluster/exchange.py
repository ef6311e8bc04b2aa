"""What a meeting costs on Ray: ``python -m benchmarks.cluster exchange``.

Two agents with hardly any data meet at every slot: a message there and one back, in the wall's
milliseconds. Where an observer may stop the run the driver waits for every slot; where it only
watches, slots are submitted ahead. The local engine does the same work without Ray.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import grassvine as gv
from grassvine.engines import Engine
from grassvine.protocol import StepReport

SIZES = {0.04: 500, 0.4: 5_000, 3.2: 40_000}  # megabytes of a basis of rank 10, and its items
N_SLOTS, RANK = 200, 10


@dataclass
class Clock:
    """Records when slots begin to be reported."""

    only_watches: bool
    times: list[float] = field(default_factory=list)

    def __call__(self, report: StepReport) -> None:
        if report.slot == len(self.times):
            self.times.append(time.perf_counter())

    @property
    def milliseconds(self) -> float:
        """The mean from one slot to the next, without the first quarter."""
        first = len(self.times) // 4
        return 1e3 * (self.times[-1] - self.times[first]) / (len(self.times) - 1 - first)


def measure() -> list[dict[str, float]]:
    rows = []
    with gv.engines.ray_cluster():
        for size, n_items in SIZES.items():
            ratings = gv.Ratings.from_arrays([0], [0], [1.0], n_items=n_items)
            problems = [gv.CompletionProblem(ratings, unobserved=0.1)] * 2
            plan = gv.Plan(n_items, RANK, gv.networks.path(2), gv.Gossip(max_iter=N_SLOTS))

            def slot(
                engine: Engine, watches: bool, plan: Any = plan, parts: Any = problems
            ) -> float:
                clock = Clock(watches)
                gv.run(plan, parts, engine=engine, observers=[clock])
                return clock.milliseconds

            rows.append(
                {
                    "MB": size,
                    "local": slot(gv.LocalEngine(), True),
                    "one actor": slot(gv.RayEngine(agents_per_actor=2), True),
                    "ahead": slot(gv.RayEngine(), True),
                    "in step": slot(gv.RayEngine(), False),
                }
            )
    return rows


def show(rows: list[dict[str, float]]) -> None:
    print("milliseconds a slot; two agents, a message each way\n" + "  ".join(rows[0]))
    for row in rows:
        print("  ".join(f"{value:8.2f}" for value in row.values()))
