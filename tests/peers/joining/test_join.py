"""Joining, up to the first connection and after the last one, with a run on the local engine."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import numpy as np
import polars as pl
import pytest
from tests.peers.houses import FEATURES, identity, learning, write_tables

from grassvine import LocalEngine, models
from grassvine.foundations.errors import DataError, GrassvineError, OutputError, PlanError
from grassvine.networks.timetable import Timetable
from grassvine.peers.identity.identity import OwnIdentity, create_identity
from grassvine.peers.joining.join import Prepared, metrics, own_identity, prepare, run, save_model
from grassvine.peers.joining.parts import Course, Part
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.protocol import Agent
from grassvine.protocol.agent import State
from grassvine.protocol.observers import AllFinished

NAMES = ("clinic-a", "clinic-b", "clinic-c")


class Meeting:
    """Runs members who arrive in threads of their own together, as soon as all are there."""

    def __init__(self, count: int):
        self.agents: dict[int, Callable[[], Agent]] = {}
        self.states: tuple[State, ...] = ()
        self.journals: set[Path] = set()
        self._all_there = Barrier(count, timeout=60)
        self._ended = Barrier(count, timeout=60)

    def __call__(
        self,
        plan: GroupPlan,
        identity: OwnIdentity,
        create: Callable[[], Agent],
        course: Course,
        journal: Path,
        patience: float,
        part: Part | None = None,
    ) -> State:
        number = plan.number_of(identity.card.name)
        assert isinstance(course, Timetable) and part is None
        assert journal.is_dir() and patience == plan.limits.patience
        self.journals.add(journal)
        self.agents[number] = create
        if self._all_there.wait() == 0:
            factories = [self.agents[one] for one in sorted(self.agents)]
            ended = LocalEngine().run(factories, course, AllFinished(len(factories)))
            self.states = ended.states
        self._ended.wait()
        return self.states[number]


def prepared(folder: Path, kind: str, method: str = "exact", **options: object) -> list[Prepared]:
    plan = GroupPlan.draft(
        [identity(name).card for name in NAMES],
        learning(kind, method, **options),
        seed=2,
        secrecy="none",
    )
    _, paths = write_tables(folder, kind, len(NAMES))
    return [
        prepare(plan, str(path), folder=identity(name).folder)
        for name, path in zip(NAMES, paths, strict=True)
    ]


def meet(members: list[Prepared]) -> list[State]:
    meeting = Meeting(len(members))
    with ThreadPoolExecutor(len(members)) as pool:
        states = list(pool.map(lambda one: run(one, meeting), members))
    assert len(meeting.journals) == len(members)
    return states


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("kind", "method", "options"),
    [
        ("ratings", "bayes", {"holdout": 0.1}),
        ("ratings", "gossip", {"max_iter": 20, "holdout": 0.1}),
        ("tasks", "exact", {"holdout": 0.2}),
        ("pca", "exact", {}),
    ],
)
def test_all_houses_save_the_same_shared_part_and_their_own_private_part(
    tmp_path: Path, kind: str, method: str, options: dict[str, object]
) -> None:
    members = prepared(tmp_path, kind, method, **options)
    states = meet(members)
    shared, private = [], []
    for member, state in zip(members, states, strict=True):
        out = tmp_path / member.name
        save_model(member, state, out)
        model = models.load(out)
        described = models.inspect(out)
        assert described.card.parameters["plan"] == member.plan.digest.hex()
        assert described.card.data_hash is None  # a digest of private data would be shared
        if options.get("holdout"):
            assert described.card.metrics == metrics(state)
            assert 0.0 < described.card.metrics["held_out_rmse"] < 2.0
        files = ("model.json", "shared.safetensors", "items.arrow")
        shared.append([digest(out / name) for name in files])
        if kind != "pca":
            private.append(digest(out / "private.safetensors"))
        assert type(model) is type(members[0].table.data.model(states[0]))
    assert shared[0] == shared[1] == shared[2]
    assert len(set(private)) == len(private)


def test_a_saved_model_predicts_what_the_model_in_memory_does(tmp_path: Path) -> None:
    members = prepared(tmp_path, "tasks")
    states = meet(members)
    saved = save_model(members[0], states[0], tmp_path / "model")
    frame = pl.read_parquet(tmp_path / "tasks-0.parquet")
    x = frame.select(FEATURES).to_numpy()
    loaded = models.load(tmp_path / "model")
    assert isinstance(loaded, models.TasksModel) and isinstance(saved, models.TasksModel)
    np.testing.assert_array_equal(
        loaded.predict(x, frame["task"]).targets, saved.predict(x, frame["task"]).targets
    )
    with pytest.raises(OutputError, match="already exists"):
        save_model(members[0], states[0], tmp_path / "model")
    save_model(members[0], states[0], tmp_path / "model", private=False, overwrite=True)
    without = models.load(tmp_path / "model")
    assert isinstance(without, models.TasksModel) and without.private is None


def test_the_own_card_must_be_in_the_plan_unchanged(tmp_path: Path) -> None:
    members = [identity(name).card for name in NAMES]
    what = learning("pca")
    moved = replace(members[0], address="elsewhere.example:443")
    plan = GroupPlan.draft([moved, *members[1:]], what, secrecy="none")
    with pytest.raises(
        PlanError, match="the card of clinic-a in the plan is not its own"
    ) as caught:
        own_identity(plan, identity("clinic-a").folder)
    assert "differs in address" in str(caught.value)
    other = create_identity("clinic-a", members[0].address, tmp_path / "other")
    with pytest.raises(PlanError, match="differs in certificate and 1 more"):
        own_identity(GroupPlan.draft(members, what, secrecy="none"), other.folder)
    stranger = create_identity("clinic-z", None, tmp_path / "z")
    with pytest.raises(PlanError, match="'clinic-z' is no member of the plan"):
        own_identity(plan, stranger.folder)


def test_the_folder_is_found_by_name_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own = create_identity("clinic-x", "x.example:443")
    plan = GroupPlan.draft([own.card, identity("clinic-a").card], learning("pca"), secrecy="none")
    assert own.folder == tmp_path / "grassvine" / "peers" / "clinic-x"
    assert own_identity(plan, None).card == own.card
    create_identity("clinic-a", None)
    with pytest.raises(PlanError, match="private folders of clinic-a, clinic-x; name one with"):
        own_identity(plan, None)
    others = GroupPlan.draft(
        [identity(name).card for name in NAMES[1:]], learning("pca"), secrecy="none"
    )
    with pytest.raises(PlanError, match="none of its members"):
        own_identity(others, None)


def test_expired_certificates_and_other_timetables_end_it_early(tmp_path: Path) -> None:
    _, paths = write_tables(tmp_path, "pca", 1)
    plan = GroupPlan.draft([identity(name).card for name in NAMES], learning("pca"), secrecy="none")
    folder = identity("clinic-a").folder
    late = datetime.now(UTC) + timedelta(days=900)
    with pytest.raises(PlanError, match="certificate of clinic-a expired"):
        prepare(plan, str(paths[0]), folder=folder, now=late)
    with pytest.raises(PlanError, match="draws another timetable"):
        prepare(replace(plan, timetable="0" * 64), str(paths[0]), folder=folder)
    with pytest.raises(GrassvineError, match="absent"):
        prepare(plan, str(tmp_path / "absent.csv"), folder=folder)


def test_a_run_goes_on_only_with_the_table_that_it_began_with(tmp_path: Path) -> None:
    member = prepared(tmp_path, "pca")[0]

    def interrupted(*_: object, **__: object) -> State:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(member, interrupted)
    changed = replace(member, table=replace(member.table, data_hash="0" * 64))
    with pytest.raises(DataError, match="the table has changed since this run began"):
        run(changed, interrupted)


def test_runs_of_two_plans_have_journals_of_their_own(tmp_path: Path) -> None:
    one = prepared(tmp_path, "pca")[0]
    other = replace(one, plan=replace(one.plan, seed=99))
    assert one.journal != other.journal
    assert one.journal.parent.parent == one.identity.folder
