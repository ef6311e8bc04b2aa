"""What somebody asks of an estimator in plain values, and what came of it.

A request is a frozen dataclass of text and numbers, so a command can fill it and a run folder keep
it. It reads its own data: asked again, it does the same.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from grassvine.models import Card
from grassvine.models.persistence.forms import Model


@dataclass(frozen=True, slots=True, eq=False)
class JobResult:
    """What came of a request.

    Attributes
    ----------
    estimator : estimator
        As it was fitted.
    report : dict
        What is told, in plain values.
    data_hash : str
        Of all data that were read, those held out included.
    assumed : tuple of str
        Sentences on what was assumed about the data.
    """

    estimator: Any
    report: dict[str, Any]
    data_hash: str
    assumed: tuple[str, ...]

    @property
    def model(self) -> Model:
        """The model that was learned."""
        model: Model = self.estimator.model_
        return model

    def card(self, title: str, parameters: dict[str, Any]) -> Card:
        """Return what a saved model tells of itself: the numbers of the report are its metrics."""
        plain = {name: value for name, value in parameters.items() if _is_plain(value)}
        metrics = {
            name: value
            for name, value in self.report.items()
            if isinstance(value, float) and value == value
        }
        return Card(title, plain, metrics, self.data_hash)


class Job(Protocol):
    """Reads its data and learns from them."""

    @property
    def data(self) -> str:
        """Where the data are."""
        ...

    @property
    def checkpoints(self) -> str | None:
        """Where the run is kept on the way, if it is."""
        ...

    def read(self) -> Any:
        """Read the data."""
        ...

    def hash(self, data: Any) -> str:
        """Return a digest of the data, which the order of rows does not change."""
        ...

    def learn(self, data: Any) -> JobResult:
        """Learn, and measure."""
        ...


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Measure seconds, by the clock and of this process, of what happens inside."""
    spent: dict[str, float] = {}
    wall, processor = time.perf_counter(), time.process_time()
    yield spent
    spent["seconds"] = time.perf_counter() - wall
    spent["cpu_seconds"] = time.process_time() - processor


def run_report(estimator: Any, spent: Mapping[str, float]) -> dict[str, Any]:
    """Return what every report tells of the run behind a fit, and of its seconds."""
    return {
        "agreement_degrees": estimator.agreement_,
        "messages": estimator.messages_,
        "bytes": estimator.bytes_,
        **spent,
        "stop_reason": estimator.stop_reason_,
        "incidents": list(estimator.incidents_),
    }


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
