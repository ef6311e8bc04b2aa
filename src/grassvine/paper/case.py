"""Types of a case of the paper: experiment, printed numbers, claims and results."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import numpy as np

from grassvine.engines import Engine, LocalEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError, unknown
from grassvine.foundations.options import whole_number
from grassvine.protocol import History, Observer
from grassvine.report.page import Picture, Table

Scale = Literal["small", "paper"]

# Opens an observer (a progress bar) for a run, given a title and the number of slots.
Watch = Callable[[str, int], AbstractContextManager[Observer | None]]


def unwatched(title: str, n_slots: int) -> AbstractContextManager[None]:
    """Return a context without an observer."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Request:
    """Options of a reproduction; None selects the default of the case.

    Parameters
    ----------
    scale : {"small", "paper"}, default="small"
        Problem sizes: small ones, which take half a minute on a laptop, or those of the paper.
    seed : int, default=0
        Random seed; repeat k uses seed + k.
    repeats, n_agents : int, optional
        Number of repeats and number of agents.
    engine : Engine, optional
        Engine that runs the agents; a LocalEngine by default.
    tune : bool, default=False
        Also run gossip with (a, b) chosen by cross-validation, as in the paper.
    datasets : tuple of str, default=()
        Names or paths of data sets, for the cases with real data.
    watch : callable, optional
        Opens an observer for each run; none by default.
    """

    scale: Scale = "small"
    seed: int = 0
    repeats: int | None = None
    n_agents: int | None = None
    engine: Engine = field(default_factory=LocalEngine)
    tune: bool = False
    datasets: tuple[str, ...] = ()
    watch: Watch = unwatched

    def __post_init__(self) -> None:
        """Check the options."""
        if self.scale not in get_args(Scale):
            raise PlanError(unknown("scale", self.scale, get_args(Scale)))
        whole_number("seed", self.seed, least=0)
        if self.repeats is not None:
            whole_number("repeats", self.repeats, least=1)
        if self.n_agents is not None:
            whole_number("agents", self.n_agents, least=2)


@dataclass(frozen=True, slots=True)
class Record:
    """Metrics of one run; ``None`` where a metric does not apply."""

    method: str
    dataset: str
    repeat: int
    n_agents: int
    rank: int
    rho: float | None
    updates: int
    train_mse: float
    worst_agent_train_mse: float
    consensus_distance: float
    messages: int
    bytes: int
    cpu_seconds: float
    test_mse: float | None = None
    test_rmse: float | None = None
    nmse: float | None = None
    distance_to_truth: float | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A completed run: its metrics, its history, and further data for figures.

    ``traces`` maps names to curves or bars, such as the distance to the truth after each update.
    """

    record: Record
    history: History | None = None
    traces: Mapping[str, Sequence[Array]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """All completed runs of a case."""

    finished: tuple[Finished, ...]

    def where(self, **figures: object) -> "Results":
        """Return the runs with the given values, such as a method and a rank."""
        return Results(
            tuple(
                one
                for one in self.finished
                if all(getattr(one.record, name) == value for name, value in figures.items())
            )
        )

    def each(self, figure: str) -> list[Any]:
        """Return the distinct values of a metric, in the order of the runs."""
        return list(dict.fromkeys(getattr(one.record, figure) for one in self.finished))

    def values(self, figure: str) -> Array:
        """Return a metric of every run."""
        return np.array([getattr(one.record, figure) for one in self.finished], dtype=np.float64)

    def mean(self, figure: str) -> float:
        """Return the mean of a metric over the runs; NaN if there are none."""
        values = self.values(figure)
        return float(values.mean()) if len(values) else math.nan

    def worst(self, figure: str) -> float:
        """Return the largest value of a metric over the runs."""
        return float(self.values(figure).max())

    def standard_error(self, figure: str) -> float:
        """Return the standard error of the mean of a metric; NaN for fewer than two runs."""
        values = self.values(figure)
        if len(values) < 2:
            return math.nan
        return float(values.std(ddof=1) / math.sqrt(len(values)))

    @property
    def first(self) -> Finished:
        """The first run."""
        return self.finished[0]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, usually of the paper; whether it holds here; and the evidence."""

    claim: str
    holds: bool | None
    evidence: str


class Experiment(Protocol):
    """Protocol of the experiment of a case."""

    def run(self, request: Request) -> Results:
        """Run all methods for every repeat."""
        ...


@dataclass(frozen=True)
class Case:
    """A case of the paper.

    Attributes
    ----------
    name, title : str
        Name, such as ``case4``, and title of the page.
    setup : str
        Description of the experiment in a few sentences.
    paper : mapping
        Numbers printed in the paper.
    experiment : Experiment
        The experiment.
    claims, figures, tables : callables
        Functions that derive claims, figures and tables from the results.
    remarks : tuple of str
        Differences from the paper and their reasons.
    """

    name: str
    title: str
    setup: str
    paper: Mapping[str, Any]
    experiment: Experiment
    claims: Callable[[Results], Sequence[Claim]]
    figures: Callable[[Results], Sequence[Picture]]
    tables: Callable[[Results], Sequence[Table]]
    remarks: tuple[str, ...] = ()
