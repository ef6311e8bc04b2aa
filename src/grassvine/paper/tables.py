"""Tables of figures, with standard errors over repeats."""

import math
from collections.abc import Sequence

from grassvine.paper.case import Results
from grassvine.report.page import Table

_COLUMNS = {
    "updates": "updates",
    "train_mse": "train MSE",
    "worst_agent_train_mse": "worst agent",
    "test_mse": "test MSE",
    "distance_to_truth": "from U*",
    "consensus_distance": "apart",
}


def figures_table(results: Results) -> Table:
    """One row a method: means over repeats, with standard errors where there are several."""
    shown = [name for name in _COLUMNS if _present(results, name)]
    header = ("method", "ρ", *(_COLUMNS[name] for name in shown), "MB sent", "CPU s")
    rows = []
    for method in results.each("method"):
        mine = results.where(method=method)
        record = mine.first.record
        cells = [whole(mine, name) if name == "updates" else small(mine, name) for name in shown]
        sent, seconds = mine.mean("bytes") / 1e6, mine.mean("cpu_seconds")
        rho = "–" if record.rho is None else power(record.rho)
        rows.append((method, rho, *cells, f"{sent:.1f}", f"{seconds:.1f}"))
    words = ["Apart: the largest distance between the subspaces of two neighbours."]
    if len(results.each("repeat")) > 1:
        words.append(f"Means over {len(results.each('repeat'))} repeats ± standard error.")
    return Table(header, rows, " ".join(words))


def small(results: Results, figure: str) -> str:
    """A figure that may be tiny."""
    return _with_error(results, figure, ".1e")


def score(results: Results, figure: str) -> str:
    """A figure near one."""
    return _with_error(results, figure, ".4f") if results.finished else "–"


def whole(results: Results, figure: str) -> str:
    """A count."""
    return f"{results.mean(figure):.0f}"


def power(number: float) -> str:
    """A power of ten, or near one: 1e3."""
    digits, exponent = f"{number:.0e}".split("e")
    return f"{digits}e{int(exponent)}"


def printed(numbers: Sequence[float | None]) -> list[str]:
    """Numbers as the paper prints them."""
    return ["–" if number is None else f"{number:.3f}" for number in numbers]


def _with_error(results: Results, figure: str, form: str) -> str:
    mean, error = results.mean(figure), results.standard_error(figure)
    if math.isnan(mean):
        return "–"
    return f"{mean:{form}}" if math.isnan(error) else f"{mean:{form}} ± {error:{form}}"


def _present(results: Results, figure: str) -> bool:
    return any(getattr(one.record, figure) is not None for one in results.finished)
