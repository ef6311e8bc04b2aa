"""Identities, tables and runs of a few members."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import polars as pl

import grassvine as gv
from grassvine.foundations.seeds import stream
from grassvine.networks import Network
from grassvine.peers.fit.learning import Learning, MethodChoice, usual_method
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.identity import OwnIdentity, create_identity
from grassvine.peers.joining.member_data import read_member_data
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.runs import Run

N_ITEMS, N_FEATURES = 30, 8
NAMES = ("clinic-a", "clinic-b", "clinic-c", "clinic-d")
FEATURES = tuple(f"f{number}" for number in range(N_FEATURES))


@cache
def identity(name: str, *, listens: bool = True) -> OwnIdentity:
    """Return an identity, which is created once per test process."""
    folder = Path(mkdtemp(prefix="grassvine-test-")) / name
    return create_identity(name, f"{name}.example:443" if listens else None, folder)


def cards(listening: str = "abc", dialling: str = "d") -> list[Card]:
    """Return cards of clinics, of which some listen."""
    return [
        *(identity(f"clinic-{letter}").card for letter in listening),
        *(identity(f"clinic-{letter}", listens=False).card for letter in dialling),
    ]


def rating_frame(house: int, n_users: int) -> pl.DataFrame:
    """Ratings of a house in half stars; the ids of its users are its own."""
    rng = stream(house, "data", "house")
    factors = stream(9, "data", "items").standard_normal((N_ITEMS, 2))
    rows = []
    for user in range(n_users):
        weights = rng.standard_normal(2)
        for item in rng.choice(N_ITEMS, size=12, replace=False):
            exact = 3.0 + 0.8 * factors[item] @ weights + 0.2 * rng.standard_normal()
            rating = float(np.clip(np.round(2.0 * exact) / 2.0, 0.5, 5.0))
            rows.append((f"h{house}u{user:02d}", int(item), rating))
    return pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")


def task_frame(house: int, n_tasks: int = 3) -> pl.DataFrame:
    """Samples of regressions whose weights lie in a plane; the ids of tasks sort by house."""
    rng = stream(house, "data", "tasks of a house")
    plane = stream(9, "data", "plane").standard_normal((N_FEATURES, 2))
    parts = []
    for task in range(n_tasks):
        x = rng.standard_normal((12, N_FEATURES)) * np.linspace(0.5, 3.0, N_FEATURES) + 1.0
        y = x @ (plane @ rng.standard_normal(2)) + 0.1 * rng.standard_normal(12) + task
        columns = {name: x[:, k] for k, name in enumerate(FEATURES)}
        parts.append(pl.DataFrame({"task": [f"h{house}t{task}"] * 12, **columns, "y": y}))
    return pl.concat(parts)


def sample_frame(house: int) -> pl.DataFrame:
    """Samples of a house with a spectrum that decays."""
    rng = stream(house, "data", "samples of a house")
    x = rng.standard_normal((20 + house, N_FEATURES)) * np.geomspace(3.0, 0.3, N_FEATURES) + 2.0
    return pl.DataFrame(x, schema=list(FEATURES))


def event_frame(house: int, n_users: int) -> pl.DataFrame:
    """What the users of a house choose, and how often: items of one half more than of the other."""
    rng = stream(house, "data", "events of a house")
    half = np.arange(N_ITEMS) < N_ITEMS // 2
    rows = []
    for user in range(n_users):
        liked = np.where(half == (user % 2 == 0), 4.0, 1.0) / (1.0 + np.arange(N_ITEMS) % 15)
        chosen = rng.choice(N_ITEMS, size=9, replace=False, p=liked / liked.sum())
        rows += [(f"h{house}u{user:02d}", int(item), int(rng.integers(1, 5))) for item in chosen]
    return pl.DataFrame(rows, schema=["user", "item", "count"], orient="row")


FRAMES = {
    "events": lambda house: event_frame(house, 40 + 5 * house),
    "ratings": lambda house: rating_frame(house, 20 + 3 * house),
    "tasks": task_frame,
    "pca": sample_frame,
}


def learning(kind: str, method: str | None = None, **options: Any) -> Learning:
    """Return what is learned; options of the method and of the model may be mixed."""
    model = {
        key: options.pop(key)
        for key in ("lowest", "highest", "holdout", "min_support")
        if key in options
    }
    rank = options.pop("rank", 2)
    choice = MethodChoice.of(kind, method or usual_method(kind), options)
    if kind in ("ratings", "events"):
        return Learning(kind, tuple(range(N_ITEMS)), rank, choice, **model)
    columns: dict[str, Any] = {"target": "y", "task": "task"} if kind == "tasks" else {}
    return Learning(kind, FEATURES, rank, choice, **columns, **model)


@dataclass(frozen=True, eq=False)
class Together:
    """A plan, the tables and data of its members, and their run on the local engine."""

    plan: GroupPlan
    frames: list[pl.DataFrame]
    data: list[Any]  # of the kind of the plan
    run: Run

    @property
    def network(self) -> Network:
        """The network of the plan."""
        return self.plan.network


def write_tables(folder: Path, kind: str, count: int) -> tuple[list[pl.DataFrame], list[Path]]:
    """Write a table for each member."""
    frames = [FRAMES[kind](house) for house in range(count)]
    paths = [folder / f"{kind}-{house}.parquet" for house in range(count)]
    for frame, path in zip(frames, paths, strict=True):
        frame.write_parquet(path)
    return frames, paths


def learn_together(
    folder: Path,
    what: Learning,
    members: Sequence[Card],
    seed: int = 5,
    secrecy: str = "none",
) -> Together:
    """Write the tables, read them as the members do, and run the plan, without masks here."""
    plan = GroupPlan.draft(members, what, seed=seed, secrecy=secrecy)
    frames, paths = write_tables(folder, what.kind, len(plan.members))
    data: list[Any] = [read_member_data(plan, str(path)).data for path in paths]
    return Together(plan, frames, data, gv.run(plan.run_plan, data))
