"""Tables of metrics, with standard errors over repeats."""

import math
from collections.abc import Sequence

from grassvine.paper.case import Results
from grassvine.report.page import Table

_COLUMNS = {
    "updates": "updates",
    "train_mse": "train MSE",
    "worst_agent_train_mse": "worst agent's MSE",
    "test_mse": "test MSE",
    "distance_to_truth": "distance to U*",
    "consensus_distance": "neighbour distance",
}


def figures_table(results: Results) -> Table:
    """Return a table with one row per method: means over repeats and standard errors, if any."""
    shown = [name for name in _COLUMNS if _present(results, name)]
    header = ("method", "ρ", *(_COLUMNS[name] for name in shown), "MB sent", "CPU s")
    rows = []
    for method in results.each("method"):
        mine = results.where(method=method)
        record = mine.first.record
        cells = [
            format_count(mine, name) if name == "updates" else format_small(mine, name)
            for name in shown
        ]
        sent, seconds = mine.mean("bytes") / 1e6, mine.mean("cpu_seconds")
        rho = "–" if record.rho is None else format_power(record.rho)
        rows.append((method, rho, *cells, f"{sent:.1f}", f"{seconds:.1f}"))
    caption = ["Neighbour distance: the largest distance between the subspaces of two neighbours."]
    if len(results.each("repeat")) > 1:
        caption.append(f"Means over {len(results.each('repeat'))} repeats ± standard error.")
    return Table(header, rows, " ".join(caption))


def format_small(results: Results, figure: str) -> str:
    """Format the mean of a metric in scientific notation."""
    return _with_error(results, figure, ".1e")


def format_score(results: Results, figure: str) -> str:
    """Format the mean of a metric of order one."""
    return _with_error(results, figure, ".4f") if results.finished else "–"


def format_count(results: Results, figure: str) -> str:
    """Format the mean of a count."""
    return f"{results.mean(figure):.0f}"


def format_power(number: float) -> str:
    """Format a number as one digit and a power of ten, such as 1e3."""
    digits, exponent = f"{number:.0e}".split("e")
    return f"{digits}e{int(exponent)}"


def format_printed(numbers: Sequence[float | None]) -> list[str]:
    """Format numbers with the digits printed in the paper."""
    return ["–" if number is None else f"{number:.3f}" for number in numbers]


def _with_error(results: Results, figure: str, form: str) -> str:
    mean, error = results.mean(figure), results.standard_error(figure)
    if math.isnan(mean):
        return "–"
    return f"{mean:{form}}" if math.isnan(error) else f"{mean:{form}} ± {error:{form}}"


def _present(results: Results, figure: str) -> bool:
    return any(getattr(one.record, figure) is not None for one in results.finished)
