"""What fits take to the same error: settings tuned on a validation part, then fits by passes.

Every library is tuned alike: the setting with the lowest error of the validation part after many
passes. With it, the training and validation parts together are fitted with growing numbers of
passes, and the test part is predicted. The goal of a pair is the lowest error of the other library
(with a tolerance, because errors flatten); its cost is that of the cheapest fit that reaches it,
and so is ours.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.libraries.environments import Absent, version
from benchmarks.libraries.worker import Worker
from numpy.typing import NDArray

TOLERANCE = 5e-4  # of the goal, relative


@dataclass(frozen=True)
class Contender:
    """A library, the settings among which it is tuned, and the passes of its fits."""

    library: str
    settings: Sequence[Mapping[str, Any]]
    passes: Sequence[int]
    of_all: bool = False  # whether processes below the one that fits do the work
    repeats: int = 2  # of timings, of which the least counts


# Returns the error of predictions of a part: "validation" or "test".
Score = Callable[[str, NDArray[Any]], float]


def measure(
    contenders: Mapping[str, Contender], folder: Path, score: Score
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the curves of all contenders by name, and the reasons of those that are absent."""
    curves, absent = {}, {}
    for name, contender in contenders.items():
        print(f"  {name} …", flush=True)
        try:
            curves[name] = _curve(name, contender, folder, score)
        except Absent as reason:
            absent[name] = str(reason)
            print(f"  {name} is left out: {reason}", flush=True)
    return curves, absent


def _curve(name: str, contender: Contender, folder: Path, score: Score) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch, Worker(contender.library, folder) as worker:
        file = str(Path(scratch) / "predicted.npy")

        def fit(part: str, test: str, setting: Mapping[str, Any]) -> dict[str, Any]:
            took = worker.ask(
                of_all=contender.of_all,
                fit=name,
                part=part,
                test=test,
                setting={**contender.settings[0], **setting},
                save=file,
            )
            return {**took, "error": score(test, np.load(file))}

        most = contender.passes[-1]
        fit("train", "validation", {"passes": contender.passes[0]})  # compiles, and fills caches
        found = [
            (fit("train", "validation", {**one, "passes": most})["error"], place)
            for place, one in enumerate(contender.settings)
        ]
        setting = {**contender.settings[min(found)[1]]}
        points = []
        for passes in contender.passes:
            asked = {**setting, "passes": passes}
            timed = [fit("whole", "test", asked) for _ in range(contender.repeats)]
            best = min(timed, key=lambda one: float(one["cpu"]))
            points.append({"passes": passes, **best})
    with Worker(contender.library, folder) as worker:
        worker.ask(fit=name, part="whole", setting={**setting, "passes": contender.passes[0]})
    memory = worker.peak
    library = "grassvine" if contender.library == "grassvine" else contender.library
    return {
        "library": f"{library} {version(library)}",
        "setting": setting,
        "points": points,
        "megabytes": memory,
    }


def cheapest(curve: Mapping[str, Any], goal: float) -> dict[str, Any] | None:
    """Return the cheapest fit whose error is at most the goal, if there is one."""
    reached = [one for one in curve["points"] if one["error"] <= goal]
    return min(reached, key=lambda one: float(one["cpu"]), default=None)


def pairs(curves: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each other library: its cost and ours to its lowest error."""
    ours = {name: curve for name, curve in curves.items() if name.startswith("ours")}
    rows = []
    for name, curve in curves.items():
        if name in ours:
            continue
        lowest = min(float(one["error"]) for one in curve["points"])
        goal = lowest + TOLERANCE * abs(lowest)
        theirs = cheapest(curve, goal)
        assert theirs is not None
        reached = {one: found for one in ours if (found := cheapest(ours[one], goal)) is not None}
        best = min(reached, key=lambda one: float(reached[one]["cpu"]), default=None)
        rows.append(
            {
                "theirs": name,
                "goal": goal,
                **{f"their_{key}": theirs[key] for key in ("cpu", "wall")},
                "their_megabytes": curve["megabytes"],
                "ours": best,
                **({} if best is None else {f"our_{k}": reached[best][k] for k in ("cpu", "wall")}),
                **({} if best is None else {"our_megabytes": ours[best]["megabytes"]}),
            }
        )
    return rows
