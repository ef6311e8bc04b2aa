"""The page ``docs/ratings-benchmark.md``, from the results of a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.ratings.published import Published
from benchmarks.ratings.rows import ROWS

from grassvine.foundations.arrays import Array

Result = Mapping[str, Any]

LABELS = {
    "default": "default",
    "rank-10": "default at rank 10",
    "map": "MAP, rank 10",
    "biases": "biases alone",
    "cmfrec": "cmfrec, its defaults, rank 10",
}

INTRODUCTION = """# Ratings: the field's own tables

`python -m benchmarks.ratings` wrote this page. It fits the training part of each split and
predicts all ratings of its test part, also those of users and items without training ratings;
predictions are clipped to the range of the training ratings. *Default* is `MatrixCompleter()`:
nothing is chosen by hand, and nothing on a test part. Errors are means over splits ± their standard
errors; *of known* is the RMSE of the test ratings whose user and item have training ratings;
*default is better by* is the mean difference of RMSE on the same splits. CPU seconds are those of
one fit with its predictions, by one agent in one thread. Published figures are the authors', on
their splits; the last column says on what they chose the number of epochs, as far as their papers
and published code tell.
"""


def page(results: Sequence[Result]) -> str:
    """Return the page, with the rows in the order of :data:`ROWS`."""
    parts = [INTRODUCTION, _machines(results), _summary(results)]
    for name, row in ROWS.items():
        mine = [result for result in results if result["row"] == name]
        if not mine:
            continue
        parts.append(f"## {row.title}\n")
        absent = [result for result in mine if result["kind"] == "skipped"]
        errors = [result for result in mine if result["kind"] == "error"]
        if errors:
            parts += [_of_errors(errors), _of_intervals(errors), _of_agents(mine)]
        elif absent:
            parts.append(f"Not measured: {absent[-1]['why']}\n")
        parts.append(_of_published(row.published))
    return "\n".join(part for part in parts if part)


def _machines(results: Sequence[Result]) -> str:
    """Say where and when the results were measured."""
    found = sorted({(one["date"], one["machine"], one["versions"]) for one in results})
    return "\n".join(f"Measured {date}: {machine}; {text}." for date, machine, text in found) + "\n"


def _summary(results: Sequence[Result]) -> str:
    """Return a table of the mean errors of all rows, with the lowest published figure."""
    lines = [
        f"| RMSE | {' | '.join(LABELS.values())} | lowest published |",
        f"|---|{'---:|' * (len(LABELS) + 1)}",
    ]
    for name, row in ROWS.items():
        mine = [one for one in results if one["row"] == name and one["kind"] == "error"]
        by_method = _by_method(mine)
        means = [
            _digits(_column(by_method[method], "rmse").mean()) if method in by_method else ""
            for method in LABELS
        ]
        lowest = min(row.published, key=lambda one: float(one.rmse), default=None)
        if mine:
            published = f"{lowest.rmse} ({lowest.method}, {lowest.split})" if lowest else ""
            lines.append(f"| {row.title} | {' | '.join(means)} | {published} |")
    return "\n".join(lines) + "\n"


def _of_errors(errors: Sequence[Result]) -> str:
    by_method = _by_method(errors)
    splits = list(dict.fromkeys(one["split"] for one in errors))
    first = errors[0]
    lines = [
        f"{_plural(len(splits), 'split')}, {first['n_train']:,} ratings for training and "
        f"{first['n_test']:,} for testing, {first['known']:.1%} of them of known users and "
        "items.\n",
        "| method | rank | RMSE | of known | MAE | default is better by | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    reference = by_method.get("default", {})
    for method, ones in by_method.items():
        rmse, known, mae, cpu, rank = (
            _column(ones, name) for name in ("rmse", "rmse_known", "mae", "cpu_seconds", "rank")
        )
        common = [split for split in ones if split in reference]
        better = np.array([ones[one]["rmse"] - reference[one]["rmse"] for one in common])
        difference = "" if method == "default" or not common else _mean(better, sign="+")
        lines.append(
            f"| {LABELS[method]} | {_number(rank)} | {_mean(rmse)} | "
            f"{_digits(known.mean())} | {_digits(mae.mean())} | {difference} | {cpu.mean():.1f} |"
        )
    text = "\n".join(lines) + "\n"
    if "u1" in splits:
        each = "; ".join(
            f"{LABELS[method]} {_digits(ones['u1']['rmse'])}" for method, ones in by_method.items()
        )
        text += f"\nOn u1 alone: {each}.\n"
    return text


def _of_intervals(errors: Sequence[Result]) -> str:
    """Return the coverage of the intervals, where a method has them."""
    lines = []
    for method, ones in _by_method([one for one in errors if "coverage" in one]).items():
        coverage, least, width = (
            _column(ones, name) for name in ("coverage", "coverage_widest", "width")
        )
        lines.append(
            f"90% intervals of {LABELS[method]}: coverage {coverage.mean():.3f}, in the fifth of "
            f"the largest standard deviations {least.mean():.3f}; mean width {width.mean():.2f}.\n"
        )
    return "\n".join(lines)


def _of_agents(results: Sequence[Result]) -> str:
    """Return what the number of agents changes."""
    found = [one for one in results if one["kind"] == "agents"]
    if not found:
        return ""
    lines = [
        f"{LABELS[found[0]['method']].capitalize()}, split {found[0]['split']!r}, by number of "
        "agents:\n",
        "| agents | RMSE | largest difference of a prediction | sums | MB | CPU s |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    latest = {one["agents"]: one for one in found}
    lines += [
        f"| {agents} | {one['rmse']:.6f} | {one['difference']:.0e} | {one['sums']:.0f} | "
        f"{one['bytes'] / 1e6:.1f} | {one['cpu_seconds']:.1f} |"
        for agents, one in sorted(latest.items())
    ]
    return "\n".join(lines) + "\n"


def _of_published(figures: Sequence[Published]) -> str:
    if not figures:
        return ""
    lines = ["| published | RMSE | split | epochs chosen on |", "|---|---:|---|---|"]
    lines += [
        f"| {one.method} ({one.source}) | {one.rmse} | {one.split} | {one.selection} |"
        for one in figures
    ]
    return "\n".join(lines) + "\n"


def _by_method(errors: Sequence[Result]) -> dict[str, dict[str, Result]]:
    """Return the last result of each split, by method in the order of :data:`LABELS`."""
    return {
        method: ones
        for method in LABELS
        if (ones := {one["split"]: one for one in errors if one["method"] == method})
    }


def _column(ones: Mapping[str, Result], name: str) -> Array:
    return np.array([one[name] for one in ones.values()], dtype=np.float64)


def _mean(values: Array, sign: str = "") -> str:
    digits = 4 if abs(values.mean()) < 1.0 or sign else 3
    text = f"{values.mean():{sign}.{digits}f}"
    if len(values) < 2:
        return text
    return f"{text} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def _digits(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1.0 else f"{value:.3f}"


def _number(values: Array) -> str:
    """Return the values of a column in which they usually are all equal."""
    found = sorted({int(value) for value in values})
    return str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def lines(result: Result) -> Iterator[str]:
    """Return a result in words, for the terminal."""
    where = f"{result['row']}"
    if result["kind"] in ("skipped", "absent"):
        yield f"{where}: not measured: {result['why']}"
        return
    agents = f", {result['agents']} agents" if "agents" in result else ""
    yield (
        f"{where}, {result['split']}, {result['method']}{agents}: RMSE {result['rmse']:.4f}, MAE "
        f"{result['mae']:.4f}, {result['cpu_seconds']:.1f} CPU s, {result['bytes'] / 1e6:.1f} MB"
    )
