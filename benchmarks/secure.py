"""What masks cost beside plain sums: ``python -m benchmarks.secure [ROW…]``.

Six organisations learn from MovieLens-1M at rank 10, from School and Parkinsons, and components of
handwritten digits and of the 500 most rated films of MovieLens-1M: once with sums of floats, once
with masked sums of integers. Both have the same plan otherwise, so the same items and features take
part. The CPU seconds are those of the agents in this process, and of six processes that talk over
TLS on loopback and write journals. ``GRASSVINE_DATA`` is the folder of the data sets.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.members import cpu_seconds
from benchmarks.timing import Timing, timed
from sklearn.datasets import load_digits
from tests.engines.peers.loopback_engine import LoopbackEngine
from tests.masked import masked_factories

import grassvine as gv
from grassvine.datasets import load_ratings, load_tasks
from grassvine.engines.base import AgentFactory
from grassvine.foundations.seeds import stream
from grassvine.peers.fit.learning import Learning, MethodChoice
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.identity import create_identity
from grassvine.peers.joining.join import metrics
from grassvine.peers.joining.member_data import read_member_data
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.plan.secrecy import MIN_SUPPORT
from grassvine.protocol import StepReport
from grassvine.protocol.agent import State
from grassvine.protocol.observers import AllFinished, CombinedObserver

REPEATS = 2
ENCODING = 264  # bytes that encoding adds to a message: names, types and shapes
N_MEMBERS = 6
HOLDOUT = 0.1


@dataclass(frozen=True)
class Setting:
    """What the members learn, and their tables."""

    learning: Learning
    tables: list[pl.DataFrame]


def films(method: str, **options: float | str) -> Setting:
    """MovieLens-1M at rank 10; each user is at one of the members."""
    table = load_ratings("ml-1m")
    users, items = table.ratings.users_of_values(), table.ratings.items
    frame = pl.DataFrame(
        {"user": users, "item": items.astype(np.int64), "rating": table.ratings.values}
    )
    choice = MethodChoice.of("ratings", method, options)
    learning = Learning(
        "ratings", tuple(range(len(table.items))), 10, choice, 1.0, 5.0, holdout=HOLDOUT
    )
    house = stream(0, "data", "houses").integers(N_MEMBERS, size=table.n_users)
    return Setting(learning, [frame.filter(pl.Series(house[users] == k)) for k in range(N_MEMBERS)])


def related(name: str, method: str, rank: int = 3) -> Setting:
    """Tasks in turn at one of the members."""
    tasks = load_tasks(name)
    names = tuple(f"f{k}" for k in range(tasks.n_items))
    frames = [
        pl.DataFrame(x, schema=list(names)).with_columns(
            pl.Series("y", y), pl.lit(f"t{number:03d}").alias("task")
        )
        for number, (x, y) in enumerate(zip(tasks.features, tasks.targets, strict=True))
    ]
    choice = MethodChoice.of("tasks", method, {})
    learning = Learning("tasks", names, rank, choice, target="y", task="task", holdout=0.3)
    return Setting(learning, [pl.concat(frames[k::N_MEMBERS]) for k in range(N_MEMBERS)])


def components(samples: "np.ndarray[Any, Any]", rank: int) -> Setting:
    """Samples in turn at one of the members."""
    names = tuple(f"f{k}" for k in range(samples.shape[1]))
    learning = Learning("pca", names, rank, MethodChoice.of("pca", "exact", {}))
    parts = [samples[k::N_MEMBERS] for k in range(N_MEMBERS)]
    return Setting(learning, [pl.DataFrame(part, schema=list(names)) for part in parts])


def most_rated(count: int) -> "np.ndarray[Any, Any]":
    """Return users by the films that most of them have rated, 0 where they have not."""
    ratings = load_ratings("ml-1m").ratings
    chosen = np.argsort(-np.bincount(ratings.items, minlength=ratings.n_items))[:count]
    whole = np.zeros((ratings.n_users, ratings.n_items))
    whole[ratings.users_of_values(), ratings.items] = ratings.values
    return whole[:, chosen]


SETTINGS: dict[str, Callable[[], Setting]] = {
    "ml-1m": lambda: films("bayes"),
    "ml-1m map": lambda: films("map", regularization=30.0),
    "ml-1m map auto": lambda: films("map", regularization="auto"),
    "school": lambda: related("school", "bayes"),
    "school exact": lambda: related("school", "exact"),
    "parkinsons": lambda: related("parkinsons", "bayes"),
    "parkinsons exact": lambda: related("parkinsons", "exact"),
    "digits": lambda: components(load_digits().data, 10),
    "films": lambda: components(most_rated(500), 10),
}


def measure(names: list[str]) -> Iterator[dict[str, Any]]:
    members = LoopbackEngine(checkpoint_bytes=2**26)  # as between organisations
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cards = [
            create_identity(f"house-{k}", f"house-{k}.example:443", root / f"{k}").card
            for k in range(N_MEMBERS)
        ]
        for name in names:
            setting = SETTINGS[name]()
            for k, table in enumerate(setting.tables):
                table.write_parquet(root / f"{k}.parquet")
            plain, masked = (fit_of(setting, cards, root, one) for one in ("none", "masked"))
            here, apart = [], []
            for _ in range(1 + REPEATS):  # the first one loads kernels
                here.append([fit.here().cpu for fit in (plain, masked)])
                apart.append([fit.apart(members) for fit in (plain, masked)])
            errors = [metrics(fit.state).get("held_out_rmse", np.nan) for fit in (plain, masked)]
            bases = [np.asarray(fit.state["basis"], dtype=np.float64) for fit in (plain, masked)]
            yield {
                "name": name,
                "sums": int(plain.state["updates"][0]),
                "rounds": masked.n_rounds,
                "error": errors[0],
                "difference": abs(errors[1] - errors[0]),
                "distance": gv.geometry.Grassmann().distance(*bases),
                # The least of some: this machine may have other work.
                "here": np.min(here[1:], axis=0),
                "members": np.min(apart[1:], axis=0),
                "megabytes": plain.n_bytes / 1e6,
                "bytes": masked.n_bytes / plain.n_bytes,
            }
    members.close()


@dataclass
class Fit:
    """A plan with the agents of its members, and what its last run here ended with."""

    secrecy: str
    plan: gv.Plan
    factories: Sequence[AgentFactory]
    n_bytes: int = 0
    n_rounds: int = 0
    state: State = field(default_factory=dict)

    def here(self) -> Timing:
        """Run all agents in this process, and return how long it took."""
        self.n_bytes = 0

        def count(report: StepReport) -> None:
            self.n_bytes += report.bytes + ENCODING * report.messages

        count.only_watches = True  # type: ignore[attr-defined]
        observe = CombinedObserver(count, AllFinished(N_MEMBERS))
        timetable, engine = self.plan.timetable, gv.LocalEngine()
        outcome, took = timed(lambda: engine.run(self.factories, timetable, observe))
        self.state = outcome.states[0]
        self.n_rounds = outcome.n_slots // (2 * self.plan.network.tree.height)
        timing: Timing = took
        return timing

    def apart(self, members: LoopbackEngine) -> float:
        """Run each agent in a process of its own, and return their CPU seconds."""
        before = cpu_seconds(members)
        members.run(self.factories, self.plan.timetable, AllFinished(N_MEMBERS))
        return cpu_seconds(members) - before


def fit_of(setting: Setting, cards: list[Card], root: Path, secrecy: str) -> Fit:
    """Return a fit of six members by the plan that they would draft."""
    common = GroupPlan.draft(cards, setting.learning, secrecy=secrecy, min_support=MIN_SUPPORT)
    data = [read_member_data(common, str(root / f"{k}.parquet")).data for k in range(N_MEMBERS)]
    plan = common.run_plan
    factories: list[AgentFactory] = [partial(plan.agent, k, one) for k, one in enumerate(data)]
    if secrecy == "masked":
        factories = [*masked_factories(plan, data, common.digest)]
    return Fit(secrecy, plan, factories)


def show(rows: Iterator[dict[str, Any]]) -> None:
    print(f"{'':38}held-out           subspace  CPU s here       of members")
    print(
        f"{'':18}sums rounds     MB  bytes    error  differs  differs  "
        "plain masked  ratio  plain masked  ratio"
    )
    for row in rows:
        here, members = row["here"], row["members"]
        print(
            f"{row['name']:17} {row['sums']:4} {row['rounds']:6} {row['megabytes']:6.1f} "
            f"{row['bytes']:6.3f} {row['error']:8.4f} {row['difference']:8.0e} "
            f"{row['distance']:8.0e} {here[0]:6.2f} {here[1]:6.2f} {here[1] / here[0]:6.2f} "
            f"{members[0]:6.2f} {members[1]:6.2f} {members[1] / members[0]:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    show(measure(sys.argv[1:] or list(SETTINGS)))
