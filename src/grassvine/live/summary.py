"""A run in figures: what ``grassvine runs show`` prints and the live page shows first."""

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from grassvine.foundations.errors import DataError
from grassvine.foundations.folders import located
from grassvine.live.history import from_history
from grassvine.report.remaining import RemainingTime
from grassvine.runs.progress import FILE, Begin, Point, Progress, ProgressReader

HISTORY = "history.safetensors"
RUNS = "runs"  # folder of runs within a member's private folder
WORDS = {"w": "working", "i": "waiting", "f": "finished", "a": "absent", "u": "unknown"}


def follow(path: Path) -> ProgressReader:
    """Return a reader of the run in a folder: a run folder, or a member's private folder.

    A run that was saved without events is read from its history.
    """
    folder = located(path)
    if folder.is_dir() and not (folder / FILE).exists():
        newest = max((folder / RUNS).glob(f"*/{FILE}"), key=_changed, default=None)
        if newest is not None:
            folder = newest.parent
    reader = ProgressReader(folder / FILE)
    reader.poll()
    if reader.progress.begin is None and (folder / HISTORY).exists():
        reader.progress = from_history(folder)
    return reader


def require_run(path: Path, reader: ProgressReader) -> None:
    """Raise :class:`DataError` if there is no run."""
    if reader.progress.begin is None:
        raise DataError(
            f"{path} has no run to show; pass a folder written by 'grassvine complete --run', or "
            "the private folder of a member."
        )


def summary(progress: Progress) -> dict[str, Any]:
    """Return the figures of a run as plain values; numbers that are not known are None."""
    begin = progress.begin
    assert begin is not None, "the run has not begun"
    last = progress.points[-1] if progress.points else Point(begin.time, 0)
    end, state = progress.end, progress.state()
    members = progress.members
    left = seconds_left(progress.points) if state == "running" else math.nan
    return {
        "state": state,
        "reason": "" if end is None else end.reason,
        "run": begin.run,
        "method": begin.method,
        "agents": begin.n_agents,
        "links": len(begin.links),
        "member": begin.names[begin.own] if begin.own >= 0 and begin.names else None,
        "slot": last.slot,
        "n_slots": begin.n_slots,
        "share": known(last.share),
        "seconds_left": known(left),
        "started": begin.started,
        "updated": progress.updated,
        "seconds": progress.updated - begin.started,
        "update": last.update,
        "cost": known(last.cost),
        "rmse": known(last.rmse),
        "held_out_rmse": known(last.held_out),
        "agreement_degrees": known(last.largest),
        "bytes": last.bytes,
        "messages": last.messages,
        "waiting_for": waiting_for(progress, begin),
        "doing": {}
        if members is None
        else {word: members.states.count(letter) for letter, word in WORDS.items()},
        "incidents": [
            {"time": one.time, "slot": one.slot, "text": one.text} for one in progress.incidents
        ],
        "n_incidents": progress.n_incidents,
        "report": {} if end is None else dict(end.report),
    }


def waiting_for(progress: Progress, begin: Begin) -> list[list[str]]:
    """Return who waits for whom, by name or number."""
    if progress.members is None or progress.end is not None:
        return []
    return [[name_of(begin, one) for one in pair] for pair in progress.members.waits]


def name_of(begin: Begin, agent: int) -> str:
    """Return the name of an agent, or its number."""
    return begin.names[agent] if begin.names else str(agent)


def seconds_left(points: Sequence[Point]) -> float:
    """Return the expected seconds from the last point to the end; NaN if unknown."""
    at = 0.0
    remaining = RemainingTime(clock=lambda: at)
    left = math.nan
    for point in points[-200:]:
        if not math.isnan(point.share):
            at = point.time
            left = remaining.update(point.share)
    return left


def known(number: float) -> float | None:
    """Return a number, or None if it is NaN."""
    return number if math.isfinite(number) else None


def in_time(seconds: float) -> str:
    """Return a time since 1970 in words."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
