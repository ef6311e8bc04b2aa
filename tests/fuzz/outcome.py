"""What became of mutants: refused with one sentence, or accepted and valid."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grassvine.foundations.errors import GrassvineError

MAX_SENTENCE = 2000


@dataclass
class Outcome:
    """Counts of mutants, and descriptions of the first that went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def problem(self, kind: str, text: str) -> None:
        """Count a mutant that went wrong."""
        self.counts[kind] += 1
        if len(self.problems) < 20:
            self.problems.append(f"{kind}: {text}")


def tried(mutants: Iterable[tuple[str, Callable[[], str | None]]]) -> Outcome:
    """Try every mutant: an action that raises GrassvineError, or returns why it is invalid."""
    outcome = Outcome()
    for what, action in mutants:
        try:
            invalid = action()
        except GrassvineError as error:
            outcome.counts["refused"] += 1
            if "\n" in str(error).strip() or len(str(error)) > MAX_SENTENCE or "\x1b" in str(error):
                outcome.problem("bad sentences", f"{what}: {str(error)[:300]!r}")
        except Exception as error:
            outcome.problem("tracebacks", f"{what}: {type(error).__name__}: {str(error)[:300]}")
        else:
            outcome.counts["accepted"] += 1
            if invalid:
                outcome.problem("invalid accepted", f"{what}: {invalid}")
    return outcome
