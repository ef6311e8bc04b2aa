"""The candidates that a program evaluates on held-out entries, as data of the run.

All agents know every held-out error, because it is a sum; so each agent's state contains the same
table, with one row per candidate in the order of evaluation.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.sums.program import Iterate, Program, map_iterates

PREFIX = "candidate_"  # of the names of the columns in an agent's state


@dataclass(slots=True)
class CandidateLog:
    """A record of the candidates of one program.

    Attributes
    ----------
    rows : list of dict
        Values of each candidate: its rank, its regularisation, its held-out ``rmse``, and
        ``n_sums``, the number of sums of the program up to this error.
    chosen : int
        The row that was chosen; −1 until then.
    n_sums : int
        Number of sums begun.
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    chosen: int = -1
    n_sums: int = 0

    def record(self, **values: float) -> int:
        """Add a candidate and return its row."""
        self.rows.append({**values, "n_sums": self.n_sums})
        return len(self.rows) - 1

    def columns(self) -> dict[str, Array]:
        """Return the table, with a column ``chosen`` of 0 and 1; empty without candidates."""
        if not self.rows:
            return {}
        found = {name: np.array([row[name] for row in self.rows], float) for name in self.rows[0]}
        return {**found, "chosen": (np.arange(len(self.rows)) == self.chosen).astype(float)}


def with_candidates(program: Program, log: CandidateLog) -> Program:
    """Run a program with the candidates of its log added to all its iterates."""

    def counted(iterate: Iterate) -> Iterate:
        log.n_sums += 1
        return replace(iterate, candidates=log.columns())

    outcome = yield from map_iterates(program, counted)
    return replace(outcome, iterate=replace(outcome.iterate, candidates=log.columns()))
