"""Gossip with own clocks: the plan, the parts of the run, and the replay of its record."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from tests.engines.peers.simulator import Simulation
from tests.peers.houses import cards, identity, learning, write_tables

import grassvine as gv
from grassvine.engines.in_process import LocalEngine
from grassvine.engines.peers.member.conversation import PART
from grassvine.engines.peers.member.walk import OwnClock
from grassvine.foundations.errors import CheckpointError, DataError, NetworkError, PlanError
from grassvine.gossip import GrowingRho
from grassvine.networks.timetable import Timetable
from grassvine.peers.fit.learning import MethodChoice
from grassvine.peers.fit.methods import LearnByMeetings
from grassvine.peers.identity.identity import OwnIdentity
from grassvine.peers.joining.join import Prepared, prepare, run
from grassvine.peers.joining.meetings import FILE, read_meetings, replay_plan, save_meetings
from grassvine.peers.joining.parts import MEETINGS, Course, Part, courses_of
from grassvine.peers.joining.run import agreement_of
from grassvine.peers.plan.explain import GOSSIP_WARNING, OWN_CLOCK, explain
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.protocol import Agent
from grassvine.protocol.agent import State
from grassvine.protocol.observers import AllFinished

NAMES = ("clinic-a", "clinic-b", "clinic-c")


def own_plan(kind: str = "ratings", network: str = "ring", **options: object) -> GroupPlan:
    choice = {"max_iter": 12, "clock": "own", **options}
    return GroupPlan.draft(
        cards("abc", ""),
        learning(kind, "gossip", **choice),
        network=network,
        seed=4,
        secrecy="none",
    )


class Meeting:
    """Runs the parts of members who arrive in threads of their own, with failures in between."""

    def __init__(self, count: int):
        self.there: dict[int, tuple[Callable[[], Agent], Course]] = {}
        self.states: list[State] = []
        self.n_parts = 0
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
        assert part is not None and journal.name == f"part-{part.number}"
        number = plan.number_of(identity.card.name)
        self.there[number] = create, course
        if self._all_there.wait() == 0:
            self.n_parts += 1
            self.states = self._run(part)
        self._ended.wait()
        return self.states[number]

    def _run(self, part: Part) -> list[State]:
        factories = [self.there[one][0] for one in sorted(self.there)]
        courses = [self.there[one][1] for one in sorted(self.there)]
        if isinstance(courses[0], Timetable):
            over = AllFinished(len(factories))
            return list(LocalEngine().run(factories, courses[0], over).states)
        clocks = [one for one in courses if isinstance(one, OwnClock)]
        nodes = Simulation(factories, clocks, part.number, checkpoint_bytes=20_000).run()
        states: list[State] = []
        for node in nodes:
            assert node.state is not None and node.member is not None
            states.append({**node.state, MEETINGS: np.array(node.member.meetings)})
        return states


def join_all(folder: Path, plan: GroupPlan) -> tuple[list[Prepared], list[State]]:
    _, paths = write_tables(folder, plan.learning.kind, len(NAMES))
    members = [
        prepare(plan, str(path), folder=identity(name).folder)
        for name, path in zip(NAMES, paths, strict=True)
    ]
    meeting = Meeting(len(members))
    with ThreadPoolExecutor(len(members)) as pool:
        states = list(pool.map(lambda one: run(one, meeting), members))
    assert meeting.n_parts == 3
    return members, states


def records_of(members: list[Prepared]) -> dict[str, Path]:
    return {member.name: member.journal / FILE for member in members}


@pytest.mark.parametrize("kind", ["ratings", "tasks", "pca"])
@pytest.mark.filterwarnings("ignore:the agents do not agree")
def test_the_record_replays_the_whole_run(tmp_path: Path, kind: str) -> None:
    plan = own_plan(kind)
    members, states = join_all(tmp_path, plan)
    data = [member.table.data for member in members]
    replayed = gv.run(replay_plan(plan, records_of(members)), data)
    for member, state, wanted in zip(members, states, replayed.states, strict=True):
        assert set(state) == set(wanted)
        for name, array in state.items():
            assert np.asarray(array).tobytes() == np.asarray(wanted[name]).tobytes(), name
        model, expected = member.table.data.model(state), member.table.data.model(wanted)
        assert type(model) is type(expected)

    def refuse(*_: object, **__: object) -> State:
        raise AssertionError("all parts were finished")

    again = run(members[1], refuse)
    assert {name: np.asarray(one).tobytes() for name, one in again.items()} == {
        name: np.asarray(one).tobytes() for name, one in states[1].items()
    }
    (members[1].journal / "part-3.safetensors").write_bytes(b"something else")
    with pytest.raises(CheckpointError, match=r"part-3\.safetensors is damaged"):
        run(members[1], refuse)


def test_a_part_that_was_interrupted_is_run_again(tmp_path: Path) -> None:
    plan = replace(own_plan("pca"), seed=77)
    _, paths = write_tables(tmp_path, "pca", len(NAMES))
    member = prepare(
        replace(plan, timetable=plan.run_plan.timetable.digest()),
        str(paths[0]),
        folder=identity(NAMES[0]).folder,
    )
    seen: list[int] = []

    def interrupted(*_: object, part: Part | None = None) -> State:
        assert part is not None
        seen.append(part.number)
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(member, interrupted)
    assert seen == [1, 1]
    assert member.n_slots == sum(
        one.updates if isinstance(one, OwnClock) else one.n_slots
        for one in courses_of(member.plan, 0)
    )


@pytest.mark.parametrize(
    ("network", "meetings", "updates"), [("ring", 8, [16, 16, 16]), ("path", 12, [12, 24, 12])]
)
def test_every_link_is_used_as_often_as_with_a_timetable(
    network: str, meetings: int, updates: list[int]
) -> None:
    plan = own_plan(network=network)
    method = plan.run_plan.method
    assert isinstance(method, LearnByMeetings)
    assert method.n_meetings(plan.network) == meetings
    clocks = [courses_of(plan, number)[1] for number in range(3)]
    found = [one.updates for one in clocks if isinstance(one, OwnClock)]
    assert sorted(found) == sorted(updates)
    gossip = method._gossip(gv.Gossip(GrowingRho(1.0, 9.0, 500)), plan.network, 0)
    assert gossip.clock == "own" and gossip.rho == GrowingRho(1.0, 9.0, found[0])


def test_the_clock_is_part_of_the_plan() -> None:
    own, common = own_plan(), own_plan(clock="common")
    assert GroupPlan.from_toml(own.to_toml()) == own and 'clock = "own"' in own.to_toml()
    assert own.digest != common.digest and "clock" not in common.to_toml()
    assert MethodChoice.of("pca", "gossip", {"clock": "common"}) == MethodChoice.of(
        "pca", "gossip", {}
    )
    with pytest.raises(PlanError, match="the meetings are not known before the run"):
        own.run_plan.agent(0, gv.PCAProblem(np.zeros((2, own.learning.n_items))))


@pytest.mark.parametrize(
    ("method", "clock", "says"),
    [
        ("bayes", "own", "has no option clock"),
        ("parallel", "own", "has no option clock"),
        ("gossip", "mine", "unknown clock 'mine'"),
    ],
)
def test_other_clocks_are_refused(method: str, clock: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        MethodChoice.of("ratings", method, {"clock": clock})
    if method == "parallel":
        choice = replace(MethodChoice.of("ratings", method, {}), clock=clock)
        with pytest.raises(PlanError, match="'parallel' has no clock"):
            choice.check("ratings")


def test_explain_says_what_is_sent_without_a_timetable() -> None:
    found = explain(own_plan(network="path"), "clinic-a")
    assert GOSSIP_WARNING in found.sentences and OWN_CLOCK in found.sentences
    (basis,) = [row for row in found.sent["clinic-a"] if row.stage == "gossip"]
    assert basis.most == 25 and "may be sent again" in basis.contains
    assert OWN_CLOCK not in explain(own_plan(clock="common")).sentences


def test_members_of_different_parts_do_not_agree() -> None:
    plan, own = own_plan(), identity("clinic-a")
    parts = [Part(number, 3, 0, 10) for number in (1, 2)]
    one, other = (agreement_of(plan, own, part) for part in parts)
    assert one.plan != other.plan != plan.digest
    assert {key for key in one.digests if one.digests[key] != other.digests[key]} == {PART}
    assert not one.verify(0, other.signature) and one.verify(0, one.signature)
    assert agreement_of(plan, own, Part(1, 1, 0, 10)).plan == plan.digest


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan, met = own_plan(), np.array([[1, 0], [2, 5], [1, 2]])
    save_meetings(tmp_path, plan, met)
    assert read_meetings(tmp_path / FILE, plan).tolist() == met.tolist()
    text = (tmp_path / FILE).read_text()
    assert text.splitlines()[:2] == ["update,neighbour,neighbour_update", "0,clinic-b,0"]
    for old, new, says in (
        ("update,", "number,", "does not begin with"),
        ("1,clinic-c,5", "1,clinic-z,5", "line 3"),
        ("1,clinic-c,5", "7,clinic-c,5", "line 3"),
        ("1,clinic-c,5", "1,clinic-c,-5", "line 3"),
        ("1,clinic-c,5", "1,clinic-c", "line 3"),
    ):
        (tmp_path / FILE).write_text(text.replace(old, new, 1))
        with pytest.raises(DataError, match=says):
            read_meetings(tmp_path / FILE, plan)


def test_records_of_other_runs_are_refused(tmp_path: Path) -> None:
    plan = own_plan()
    paths = {}
    for name, met in zip(NAMES, ([(1, 0)], [(0, 0)], [(0, 1)]), strict=True):
        (tmp_path / name).mkdir()
        save_meetings(tmp_path / name, plan, np.array(met))
        paths[name] = tmp_path / name / FILE
    with pytest.raises(NetworkError, match="does not have that as its meeting 1"):
        replay_plan(plan, paths)
    with pytest.raises(PlanError, match="those of all members: clinic-a, clinic-b, clinic-c"):
        replay_plan(plan, {"clinic-a": paths["clinic-a"]})
    with pytest.raises(PlanError, match="the plan has a timetable"):
        replay_plan(own_plan(clock="common"), paths)
