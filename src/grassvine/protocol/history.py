"""The history of a run: one row per update of an agent, and one per agent for its final state."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from grassvine.foundations import picture
from grassvine.foundations.described import Described, size_in_words
from grassvine.foundations.errors import DataError
from grassvine.foundations.files import write_whole
from grassvine.protocol.report import StepReport

FORMAT = "grassvine history 1"
_KINDS = {
    name: np.int64 if kind is int else np.float64
    for name, kind in StepReport.__annotations__.items()
    if name not in ("finished", "share", "held_out")
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class History(Described):
    """A table with the fields of :class:`StepReport` as columns, ordered by slot, then agent.

    Slots and updates count from 0; the last row of each agent is its final state.

    Examples
    --------
    >>> import grassvine as gv
    >>> parts = gv.datasets.split_samples([[2.0, 0.1], [-2.0, 0.1], [1.0, 0.0], [0.0, 1.0]], 2)
    >>> plan = gv.Plan(2, 1, gv.networks.path(2), gv.Gossip(max_iter=5))
    >>> history = gv.run(plan, [gv.PCAProblem(part) for part in parts]).history
    >>> history.to_frame("polars").shape  # two rows per meeting, and a final one per agent
    (12, 11)
    >>> history.final()["agent"].tolist()
    [0, 1]
    """

    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns["agent"])

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column."""
        return self.columns[column]

    def _facts(self) -> dict[str, object]:
        updates, final = self["update"], self.final()
        return {
            "rows": len(self),
            "agents": len(np.unique(self["agent"])),
            "updates": int(updates.max(initial=0)),
            "messages": self.n_messages,
            "sent": size_in_words(self.n_bytes),
            **({"final_cost": float(final["cost"].sum())} if len(final) else {}),
        }

    def _picture(self) -> str:
        from grassvine.protocol.sampling import sampled  # which needs histories

        found = sampled(self, picture.MAX_POINTS)
        return picture.curve(found.updates, found.cost, of="cost", against="sums or updates")

    @property
    def n_messages(self) -> int:
        """The number of messages sent."""
        return int(self["messages"].sum())

    @property
    def n_bytes(self) -> int:
        """The total size of the arrays sent, in bytes."""
        return int(self["bytes"].sum())

    def of_agent(self, agent: int) -> "History":
        """Return the rows of one agent: its updates in order, then its final state."""
        return self.where(self["agent"] == agent)

    def final(self) -> "History":
        """Return the final rows, one per agent."""
        return self.where(self["neighbour"] == -1)

    def where(self, chosen: NDArray[np.bool_]) -> "History":
        """Return the rows where the mask is true."""
        return History({name: column[chosen] for name, column in self.columns.items()})

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return a ``"pandas"`` or ``"polars"`` data frame, or a ``"pyarrow"`` table."""
        import narwhals

        return narwhals.from_dict(dict(self.columns), backend=backend).to_native()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to a safetensors file, atomically."""
        write_whole(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the bytes that :meth:`save` writes; equal histories give equal bytes."""
        return save(dict(self.columns), metadata={"format": FORMAT})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "History":
        """Read a history written by :meth:`save`."""
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                columns = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except FileNotFoundError:
            raise DataError(
                f"{os.fspath(path)} does not exist; pass a file written by History.save."
            ) from None
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as cause:
            raise DataError(
                f"{os.fspath(path)} is not a history ({cause}); pass a file written by "
                "History.save."
            ) from None
        if metadata.get("format") != FORMAT or set(columns) != set(_KINDS):
            raise DataError(
                f"{os.fspath(path)} is a safetensors file but not a '{FORMAT}'; "
                "pass a file written by History.save."
            )
        history = cls({name: columns[name] for name in _KINDS})
        if not history._is_valid():
            raise DataError(
                f"{os.fspath(path)} was altered after it was saved: its columns are not a history; "
                "pass a file written by History.save."
            )
        return history

    def _is_valid(self) -> bool:
        """Return whether the columns have the right types and ranges, and the rows are in order."""
        kinds = {(name, column.dtype, column.shape) for name, column in self.columns.items()}
        if kinds != {(name, np.dtype(kind), (len(self),)) for name, kind in _KINDS.items()}:
            return False
        slots, agents = self["slot"], self["agent"]
        in_order = (np.diff(slots) > 0) | ((np.diff(slots) == 0) & (np.diff(agents) > 0))
        counts = ("agent", "slot", "update", "messages", "bytes")
        return bool(
            in_order.all()
            and all((self[name] >= 0).all() for name in counts)
            and (self["neighbour"] >= -1).all()
        )


class Recorder:
    """An observer that records all reports.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.protocol import Recorder
    >>> recorder = Recorder()
    >>> plan = gv.Plan(2, 1, gv.networks.path(2))
    >>> result = gv.run(plan, [gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])] * 2, observers=[recorder])
    >>> len(recorder.history()) == len(result.history)
    True
    """

    only_watches = True

    def __init__(self) -> None:
        self._reports: list[StepReport] = []

    def __call__(self, report: StepReport) -> None:
        """Record a report."""
        self._reports.append(report)

    def history(self) -> History:
        """Return the recorded reports as a history."""
        return History(
            {
                name: np.fromiter(map(attrgetter(name), self._reports), kind, len(self._reports))
                for name, kind in _KINDS.items()
            }
        )
