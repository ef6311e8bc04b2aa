"""CPU time of a run outside problem evaluation and geometry: ``python -m benchmarks.overhead``.

Case 4 on the local engine. The clocks of problem and geometry are read inside one run; what reading
them costs is measured in the same run and left out.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from benchmarks.timing import timed

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.problems import Evaluation

Result = TypeVar("Result")


@dataclass
class Clock:
    """Adds up the CPU time of what it times."""

    seconds: float = 0.0
    readings: int = 0

    def time(self, action: Callable[[], Result]) -> Result:
        began = time.process_time()
        result = action()
        self.seconds += time.process_time() - began
        self.readings += 1
        return result

    @classmethod
    def cost(cls) -> float:
        """Return what one reading costs."""
        clock, began = cls(), time.process_time()
        for _ in range(20_000):
            clock.time(lambda: None)
        return (time.process_time() - began) / clock.readings


@dataclass(frozen=True)
class TimedProblem(gv.CompletionProblem):
    clock: Clock = field(default_factory=Clock)

    def evaluate(self, basis: Array) -> Evaluation:
        return self.clock.time(lambda: super(TimedProblem, self).evaluate(basis))


@dataclass(frozen=True)
class TimedGrassmann(gv.geometry.Grassmann):
    clock: Clock = field(default_factory=Clock)

    def as_point(self, *arguments: Any, **options: Any) -> Array:
        return self.clock.time(lambda: gv.geometry.Grassmann.as_point(self, *arguments, **options))

    def project(self, point: Array, vector: Array) -> Array:
        return self.clock.time(lambda: gv.geometry.Grassmann.project(self, point, vector))

    def exp(self, point: Array, tangent: Array) -> Array:
        return self.clock.time(lambda: gv.geometry.Grassmann.exp(self, point, tangent))

    def log(self, point: Array, other: Array) -> Array:
        return self.clock.time(lambda: gv.geometry.Grassmann.log(self, point, other))

    def mean(self, points: Sequence[Array]) -> Array:
        return self.clock.time(lambda: gv.geometry.Grassmann.mean(self, points))


def measure(repeats: int = 3) -> dict[str, Any]:
    data = gv.datasets.low_rank_ratings(500, 12_000, 5, oversampling=6.0, seed=1)
    parts = gv.datasets.split_users(data.ratings, 6)
    TimedProblem(parts[0]).evaluate(data.subspace)  # compile before the clock runs
    results = []
    for _ in range(repeats):
        tasks, space = Clock(), Clock()
        problems = [TimedProblem(part, clock=tasks) for part in parts]
        plan = gv.Plan(
            500, 5, gv.networks.path(6), gv.Gossip(), geometry=TimedGrassmann(space), seed=7
        )
        _, took = timed(lambda: gv.run(plan, problems))  # noqa: B023
        total = took.cpu - (tasks.readings + space.readings) * Clock.cost()
        results.append(
            {
                "cpu_seconds": total,
                "wall_seconds": took.wall,
                "problem": tasks.seconds / total,
                "geometry": space.seconds / total,
                "outside": 1.0 - (tasks.seconds + space.seconds) / total,
            }
        )
    return min(results, key=lambda result: result["outside"])


def show(result: dict[str, Any]) -> None:
    shares = (f"{part} {result[part]:.1%}" for part in ("problem", "geometry", "outside"))
    seconds = f"{result['cpu_seconds']:.2f} CPU s ({result['wall_seconds']:.2f} s of the wall)"
    print(f"{seconds}: {', '.join(shares)}")


if __name__ == "__main__":
    show(measure())
