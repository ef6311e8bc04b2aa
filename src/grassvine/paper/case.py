"""What a case of the paper is: an experiment, the paper's numbers, and claims to be decided."""

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

# Opens an observer for a run of so many slots under a title; for progress.
Watch = Callable[[str, int], AbstractContextManager[Observer | None]]


def unwatched(title: str, n_slots: int) -> AbstractContextManager[None]:
    """Watch nothing."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks of a case; None leaves the choice to the case.

    Parameters
    ----------
    scale : {"small", "paper"}
        The sizes: those that a laptop does in half a minute, or the printed ones.
    seed : int
        Random seed; repeat k uses seed + k.
    repeats, n_agents : int, optional
        How often to repeat, and among how many agents to divide.
    engine : Engine
        Where agents run.
    tune : bool
        Also run gossip with (a, b) chosen by cross-validation, as the paper did.
    datasets : tuple of str
        Names or paths of data sets, for the cases on real data.
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
    """The figures of one run; ``None`` where a figure has no meaning."""

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
    """A run that is over: its figures, its history, and what a figure of the paper shows besides.

    ``traces`` are curves or bars by name, such as the distance to the truth, update by update.
    """

    record: Record
    history: History | None = None
    traces: Mapping[str, Sequence[Array]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """All runs of a case."""

    finished: tuple[Finished, ...]

    def where(self, **figures: object) -> "Results":
        """The runs with the given figures, such as a method and a rank."""
        return Results(
            tuple(
                one
                for one in self.finished
                if all(getattr(one.record, name) == value for name, value in figures.items())
            )
        )

    def each(self, figure: str) -> list[Any]:
        """The different values of a figure, in the order of the runs."""
        return list(dict.fromkeys(getattr(one.record, figure) for one in self.finished))

    def values(self, figure: str) -> Array:
        """A figure of every run."""
        return np.array([getattr(one.record, figure) for one in self.finished], dtype=np.float64)

    def mean(self, figure: str) -> float:
        """The mean of a figure over the runs; NaN where there are none."""
        values = self.values(figure)
        return float(values.mean()) if len(values) else math.nan

    def worst(self, figure: str) -> float:
        """The largest of a figure over the runs."""
        return float(self.values(figure).max())

    def standard_error(self, figure: str) -> float:
        """The standard error of the mean of a figure; NaN for a single run."""
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
    """Something that the paper says, whether it holds here, and the figures that decide."""

    claim: str
    holds: bool | None
    evidence: str


class Experiment(Protocol):
    """What a case runs."""

    def run(self, request: Request) -> Results:
        """Run everything, for every repeat."""
        ...


@dataclass(frozen=True)
class Case:
    """A case of the paper.

    Attributes
    ----------
    name, title : str
        ``case4`` and what it is about.
    setup : str
        What is run, in a few sentences.
    paper : mapping
        The numbers that the paper prints.
    experiment : Experiment
        What is run.
    claims, figures, tables : callables
        What is made of the results.
    remarks : tuple of str
        Where the paper and we differ, and why.
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
