"""Job specifications, their engine options, and their results.

A job is a frozen dataclass of strings and numbers, which a command fills in and a run folder
stores. It reads its own data, so it can be repeated.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol

from grassvine.engines import Engine, RayEngine
from grassvine.fits.options import ENGINES
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.options import one_of
from grassvine.foundations.watch import Watch
from grassvine.models import Card
from grassvine.models.persistence.forms import Model
from grassvine.protocol import Observer
from grassvine.report.run_pictures import Tables
from grassvine.runs import Run

RAY = "ray"
RAY_ONLY = {"address", "agents_per_actor", "checkpoints", "resume"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The name of an engine, and options that only :class:`RayEngine` supports.

    Parameters
    ----------
    checkpoints : str, optional
        ``checkpoint_dir`` of the engine.
    """

    engine: str = "local"
    address: str | None = None
    agents_per_actor: int = 1
    checkpoints: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        """Reject options that the engine does not support, before any data are read."""
        one_of("engine", self.engine, ENGINES)
        for one in fields(EngineOptions):
            given = one.name in RAY_ONLY and getattr(self, one.name) != one.default
            if given and self.engine != RAY:
                option = Option(one.name)
                ray = Option("engine", RAY)
                raise PlanError(
                    option, " requires the Ray engine; add ", ray, ", or omit ", option, "."
                )
        if self.resume and self.checkpoints is None:
            folder = Option("checkpoints", "FOLDER")
            raise PlanError(
                Option("resume"), " requires the checkpoints of a run; use ", folder, "."
            )

    def make_engine(self) -> Engine:
        """Return the engine."""
        if self.engine != RAY:
            return ENGINES[self.engine]()
        return RayEngine(
            self.address,
            agents_per_actor=self.agents_per_actor,
            checkpoint_dir=self.checkpoints,
            resume=self.resume,
        )


@dataclass(frozen=True, slots=True, eq=False)
class JobResult:
    """The result of a job.

    Attributes
    ----------
    model : Model
        The fitted model.
    run : Run
        The run that fitted it.
    report : dict
        Results as plain values.
    data_hash : str
        Hash of all data read, including held-out data.
    assumed : tuple of str
        Assumptions made about the data, one sentence each.
    tables : dict of dicts of arrays
        Tables for plots, by name: the candidates of ``"validation"``, and summaries of the
        ``"held-out predictions"`` or ``"training predictions"``.
    """

    model: Model
    run: Run
    report: dict[str, Any]
    data_hash: str
    assumed: tuple[str, ...]
    tables: Tables = field(default_factory=dict)

    def card(self, title: str, parameters: dict[str, Any]) -> Card:
        """Return a model card, with the floats of the report as metrics."""
        plain = {name: value for name, value in parameters.items() if _is_plain(value)}
        metrics = {
            name: value
            for name, value in self.report.items()
            if isinstance(value, float) and value == value
        }
        return Card(title, plain, metrics, self.data_hash)


class Job(Protocol):
    """A job: reads its data and fits a model."""

    command: ClassVar[str]  # the command that it belongs to

    @property
    def data(self) -> str:
        """Path of the data, or another source that ``read`` accepts."""
        ...

    @property
    def checkpoints(self) -> str | None:
        """Folder for checkpoints, if any."""
        ...

    def read(self, watch: Watch | None = None) -> Any:
        """Read the data; ``watch`` is called with the completed fraction as it grows."""
        ...

    def learn(self, data: Any, observers: Sequence[Observer] = ()) -> JobResult:
        """Fit and evaluate an estimator; observers get the reports of its runs."""
        ...


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Measure the wall-clock and CPU seconds of the enclosed block."""
    spent: dict[str, float] = {}
    wall, processor = time.perf_counter(), time.process_time()
    yield spent
    spent["seconds"] = time.perf_counter() - wall
    spent["cpu_seconds"] = time.process_time() - processor


def run_report(run: Run, spent: Mapping[str, float]) -> dict[str, Any]:
    """Return the report entries common to all jobs: properties of the run and times."""
    return {
        "agreement_degrees": run.agreement_degrees,
        "messages": run.history.n_messages,
        "bytes": run.history.n_bytes,
        **spent,
        **({} if run.recovered is None else {"recovered": run.recovered}),
        "stop_reason": run.stop_reason,
        "incidents": list(run.incidents),
    }


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
