"""The page of all results: tables of costs at equal error, and curves of error by cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.foundations.files import write_whole
from grassvine.report.chart import Curve, Panel
from grassvine.report.figure import draw

Result = Mapping[str, Any]
PICTURE = "speed.png"
TITLES = {
    "ratings": "Ratings: MovieLens-1M, rank 10",
    "large": "Ratings: 20 million of Netflix's shape, rank 10, two cores",
    "events": "Events: MovieLens-1M, rank 64",
    "components": "Principal components: 20,000 × 1,000, 10 components",
    "case1": "The paper's Case 1: a table of 800 × 8,000, rank 5",
}
NOTES = {
    "ratings": "A tenth of the ratings is held out; error is their RMSE. One thread, except Spark, "
    "which has two.",
    "large": "A tenth of the ratings is held out; error is their RMSE. Settings are tuned on a "
    "tenth of the users. Ours: two agents on Ray, which read the Parquet file that Spark reads; "
    "from the file to the model, with Ray and Spark already started.",
    "events": "A fifth of each user's items is held out; error is 1 − nDCG@100. One thread. Ours "
    "has no iterations to choose and no settings to tune.",
    "components": "CPU seconds of a fit, one thread; all are exact.",
    "case1": "CPU seconds of the fit that leaves a relative residual of 1e-6, by the loosest "
    "tolerance with which it does. Pymanopt uses our kernel.",
}
INTRODUCTION = """# Speed beside other libraries

`make bench-peers` measured this page. Each library runs in an environment of its own, and all are
tuned alike: the settings with the lowest error of a validation part after many passes. Then the
training and validation parts are fitted with growing numbers of passes, and the test part is
predicted. A row has the cost of the cheapest fit with the other library's lowest error (within
0.05 %), and that of ours. CPU seconds are those of the process and all below it; memory is its
largest, with the interpreter and the data. A ratio above 1 means that ours is slower.
"""


def write(path: Path, known: Mapping[str, Result]) -> None:
    """Write the page, and its picture in ``images`` beside it."""
    lines = [INTRODUCTION]
    for row in TITLES:
        if row in known:
            lines += section(row, known[row])
    for row in TITLES:
        if row not in known:
            lines += [
                f"Not measured yet: {TITLES[row]}, `python -m benchmarks.libraries {row}`.",
                "",
            ]
    curved = [row for row in TITLES if row in known and "curves" in known[row]]
    if curved:
        panels = [_panel(TITLES[row], known[row]["curves"]) for row in curved]
        picture = path.parent / "images" / PICTURE
        picture.parent.mkdir(exist_ok=True)
        write_whole(picture, draw(panels).png)
        lines += [f"![error by CPU seconds](images/{PICTURE})", ""]
    write_whole(path, "\n".join(lines).rstrip().encode() + b"\n")


def section(row: str, result: Result) -> list[str]:
    """Return a row as lines of Markdown."""
    lines = [f"## {TITLES[row]}", "", NOTES[row], ""]
    if "pairs" in result:
        lines += _contest(result)
    elif row == "components":
        names = [name for name in result["rows"][0] if name != "spectrum"]
        lines += [f"| | {' | '.join(names)} | ratio, 1 and 10 agents |", _rule(len(names) + 1)]
        for one in result["rows"]:
            best = min(one[name] for name in names if not name.startswith("ours"))
            ratios = " / ".join(f"{one[f'ours, {n}'] / best:.2f}" for n in (1, 10))
            lines.append(
                f"| {one['spectrum']} | {' | '.join(f'{one[n]:.2f}' for n in names)} | {ratios} |"
            )
    else:
        lines += ["| | CPU s | ours to it |", _rule(2)]
        ours = result["rows"]["ours"]
        lines += [f"| {n} | {s:.2f} | {ours / s:.2f} |" for n, s in result["rows"].items()]
    return [
        *lines,
        "",
        f"Measured {result['date']}: {result['machine']}; {result['versions']}.",
        "",
    ]


def _contest(result: Result) -> list[str]:
    heads = ("their lowest error", "CPU s", "wall s", "MB", "ours", "CPU s", "wall s", "MB")
    lines = [f"| | {' | '.join(heads)} | ratio of CPU |", _rule(len(heads) + 1)]
    for pair in result["pairs"]:
        theirs = " | ".join(_cost(pair, "their"))
        ours, ratio = "not reached | | | ", ""
        if pair["ours"] is not None:
            ours = " | ".join((pair["ours"].removeprefix("ours, "), *_cost(pair, "our")))
            ratio = f"{pair['our_cpu'] / pair['their_cpu']:.2f}"
        name = result["curves"][pair["theirs"]]["library"]
        lines.append(f"| {name} | {pair['goal']:.4f} | {theirs} | {ours} | {ratio} |")
    lines += ["", "Lowest errors, with the settings chosen:", ""]
    for name, curve in result["curves"].items():
        best = min(curve["points"], key=lambda one: float(one["error"]))
        setting = ", ".join(f"{key} {value}" for key, value in curve["setting"].items())
        text = f"- {name}: {best['error']:.4f} in {best['cpu']:.1f} CPU s"
        lines.append(f"{text} ({setting})" if setting else text)
    lines += [f"- {name} is left out: {reason}" for name, reason in result["absent"].items()]
    return lines


def _cost(pair: Result, whose: str) -> tuple[str, str, str]:
    cpu, wall, memory = (pair[f"{whose}_{one}"] for one in ("cpu", "wall", "megabytes"))
    return f"{cpu:.2f}", f"{wall:.2f}", f"{memory:.0f}"


def _rule(n_columns: int) -> str:
    return "|---|" + "---:|" * n_columns


def _panel(title: str, curves: Mapping[str, Result]) -> Panel:
    lines = tuple(
        Curve(
            name,
            np.array([one["cpu"] for one in curve["points"]]),
            np.array([one["error"] for one in curve["points"]]),
            style=place,
            marker=place,
        )
        for place, (name, curve) in enumerate(curves.items())
    )
    return Panel(title, "CPU seconds", "error of the test part", lines, log_y=False, log_x=True)
