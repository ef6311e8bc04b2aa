"""What the page is sent: the figures of a run, and of its curves only what is new."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grassvine.live.layout import positions
from grassvine.live.summary import known, name_of, summary
from grassvine.runs.progress import Begin, Point, Progress, ProgressReader

COLUMNS = ("slot", "update", "bytes", "cost", "rmse", "held_out", "largest", "median")


@dataclass(frozen=True, slots=True)
class Seen:
    """What of the curves and the network a page has."""

    progress: int = -1  # which progress, by the number of times that the file was written anew
    n_thinned: int = 0
    n_points: int = 0
    began: float = -1.0


@dataclass(slots=True)
class View:
    """The run as the page shows it; :meth:`refresh` reads what is new."""

    reader: ProgressReader
    title: str
    revision: int = 0
    _progress: Progress = field(default_factory=Progress)
    _n_progress: int = 0
    _layout: tuple[Begin | None, list[list[float]]] = (None, [])

    def refresh(self) -> bool:
        """Read what is new; return whether there is anything, such as the death of the writer."""
        before = self._progress.state()
        changed = self.reader.poll() or self.revision == 0
        if self.reader.progress is not self._progress:
            self._progress = self.reader.progress
            self._n_progress += 1
            changed = True
        if changed or self._progress.state() != before:
            self.revision += 1
            return True
        return False

    def message(self, seen: Seen) -> tuple[dict[str, Any], Seen]:
        """Return what a page is to be sent, and what it has then."""
        progress = self._progress
        begin = progress.begin
        if begin is None:
            return {"title": self.title, "summary": {"state": "waiting"}}, Seen()
        same = (seen.progress, seen.n_thinned) == (self._n_progress, progress.n_thinned)
        first = seen.n_points if same else 0
        sent: dict[str, Any] = {
            "title": self.title,
            "summary": summary(progress),
            "members": _members(progress),
            "curves": {"from": first, **_columns(progress.points[first:], begin.started)},
            "unreadable": self.reader.n_unreadable,
        }
        if not same or seen.began != begin.time:
            sent["network"] = self._network(begin)
        now = Seen(self._n_progress, progress.n_thinned, len(progress.points), begin.time)
        return sent, now

    def _network(self, begin: Begin) -> dict[str, Any]:
        drawn, places = self._layout
        if drawn is None or (drawn.n_agents, drawn.links) != (begin.n_agents, begin.links):
            places = positions(begin.n_agents, begin.links)
            self._layout = (begin, places)
        return {
            "names": [name_of(begin, agent) for agent in range(len(places))],
            "own": begin.own,
            "links": begin.links,
            "positions": places,
            "of_sums": begin.one_cost,
        }


def encoded(message: Mapping[str, Any]) -> str:
    """Return a message as JSON; the page takes nothing in it for markup."""
    return json.dumps(_plain(message), separators=(",", ":"), allow_nan=False)


def _members(progress: Progress) -> dict[str, Any] | None:
    members = progress.members
    if members is None:
        return None
    return {
        "states": members.states,
        "waits": [] if progress.end is not None else members.waits,
        "updates": members.updates,
        "costs": [known(cost) for cost in members.costs],
        "link_bytes": members.link_bytes,
    }


def _columns(points: list[Point], started: float) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {
        name: [known(getattr(point, name)) for point in points] for name in COLUMNS
    }
    found["seconds"] = [round(point.time - started, 3) for point in points]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
