"""The Ray engine. What needs a cluster is marked so, and shares one local Ray of two CPUs."""

import importlib.util
import os
import re
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.engines.ray.ray_processes import kill_one
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.averaging import DLMaFit, Tracked
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, CheckpointError, MissingExtra, PlanError
from grassvine.foundations.seeds import stream
from grassvine.problems import Evaluation, Problem
from grassvine.protocol import Method, Observer, StepReport
from grassvine.runs.progress import ProgressWriter
from grassvine.sums import BayesianCompletionProblem, BayesianFactorization, BiasedFactorization

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
)


def plan(n_agents: int, n_slots: int = 3) -> gv.Plan:
    return gv.Plan(N_ITEMS, 3, gv.networks.path(n_agents), gv.Gossip(max_iter=n_slots))


def problems(n_agents: int) -> list[Problem]:
    return [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings(), n_agents)]


def problems_for(name: str, n_agents: int) -> list[Problem]:
    parts = gv.datasets.split_users(ratings(), n_agents)
    if name == "bayes":
        return [BayesianCompletionProblem(part) for part in parts]
    kind = gv.BiasedCompletionProblem if name == "biases" else gv.CompletionProblem
    return [kind(part) for part in parts]


def test_without_ray_the_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"^the Ray engine needs .* 'grassvine\[ray\]'$"):
        gv.run(plan(2), problems(2), engine=gv.RayEngine())


def test_the_options_are_checked() -> None:
    with pytest.raises(PlanError, match="agents_per_actor is 0; choose a number of at least 1"):
        gv.RayEngine(agents_per_actor=0)
    with pytest.raises(PlanError, match="timeout is 0; choose a finite number of at least 1"):
        gv.RayEngine(timeout=0)
    with pytest.raises(PlanError, match="checkpoint_seconds is -1; choose a finite number of at"):
        gv.RayEngine(checkpoint_seconds=-1)
    with pytest.raises(PlanError, match="resume needs checkpoints; pass the checkpoint_dir"):
        gv.RayEngine(resume=True)


def test_every_agent_needs_a_place() -> None:
    with pytest.raises(PlanError, match="got 1 placements for 2 agents; pass one per agent"):
        gv.run(plan(2), problems(2), engine=gv.RayEngine(placements=[gv.engines.Placement()]))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with gv.engines.ray_cluster(cpus=2):
        yield


@dataclass(frozen=True)
class Deadly:
    """A problem whose evaluation ends its process, as a lack of memory would."""

    n_items: int
    n_values: int = 1

    def evaluate(self, basis: Array) -> Evaluation:
        os._exit(1)

    def weights(self, basis: Array) -> Array:
        os._exit(1)


@dataclass(frozen=True)
class Endless:
    """A problem whose evaluation never ends."""

    n_items: int
    n_values: int = 1

    def evaluate(self, basis: Array) -> Evaluation:
        threading.Event().wait()
        raise AssertionError

    def weights(self, basis: Array) -> Array:
        raise AssertionError


METHODS: dict[str, Method] = {
    "gossip": gv.Gossip(max_iter=20),
    "exact": gv.Exact(max_iter=12),
    "bayes": BayesianFactorization(max_iter=8),
    "biases": BiasedFactorization(regularization=2.0, max_iter=8),
    "tracked": Tracked(max_iter=3),
    "d-lmafit": DLMaFit(max_iter=12),
}


class KillAtSlot:
    """An observer that kills an actor at a slot, once; the engine is ahead of it then."""

    only_watches = True

    def __init__(self, slot: int):
        self._slot = slot
        self._done = False

    def __call__(self, report: StepReport) -> None:
        if report.slot == self._slot and not self._done:
            self._done = True
            assert kill_one(stream(0, "data", "kill"))


@dataclass(frozen=True)
class InterruptAt:
    """An observer behind which somebody presses Ctrl-C."""

    slot: int

    def __call__(self, report: StepReport) -> None:
        if report.slot == self.slot:
            raise KeyboardInterrupt


def in_step(report: StepReport) -> None:
    """Promise nothing, so that the engine is never ahead and a checkpoint is kept at every slot."""


def require_equal_state(found: gv.Run, wanted: gv.Run) -> None:
    for one, other in zip(found.states, wanted.states, strict=True):
        assert {k: v.tobytes() for k, v in one.items()} == {
            k: v.tobytes() for k, v in other.items()
        }
    for name, column in wanted.history.columns.items():
        assert np.array_equal(found.history[name], column, equal_nan=True), name
    assert (found.n_slots, found.stop_reason) == (wanted.n_slots, wanted.stop_reason)


@needs_ray
@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
class TestInACluster:
    def test_the_bits_are_those_of_the_local_engine(self) -> None:
        # Five agents in three actors: some messages stay within an actor, most do not.
        gv.checks.check_engine(gv.RayEngine(agents_per_actor=2))

    def test_messages_that_lie_in_the_object_store_give_the_same_bits(self) -> None:
        # Ray hands results under 100 kB on by itself; a basis here has 160 kB.
        data = gv.datasets.low_rank_ratings(4000, 300, 5, oversampling=2.0).ratings
        parts = [
            gv.CompletionProblem(part, unobserved=0.01) for part in gv.datasets.split_users(data, 3)
        ]
        large = gv.Plan(4000, 5, gv.networks.path(3), gv.Gossip(max_iter=5))
        found = gv.run(large, parts, engine=gv.RayEngine())
        wanted = gv.run(large, parts)
        for one, other in zip(found.states, wanted.states, strict=True):
            assert one["basis"].tobytes() == other["basis"].tobytes()
            assert one["basis"].flags.writeable
        assert found.bytes == wanted.bytes

    def test_an_agent_that_cannot_be_made_is_refused_as_by_the_local_engine(self) -> None:
        wrong = [*problems(2)[:1], gv.PCAProblem(np.eye(N_ITEMS + 1))]
        with pytest.raises(PlanError, match="the problem of agent 1 has"):
            gv.run(plan(2), wrong, engine=gv.RayEngine())

    def test_a_problem_that_cannot_be_sent_is_refused(self) -> None:
        lock = threading.Lock()
        own = gv.CustomProblem(N_ITEMS, lambda basis: (float(lock.locked()), basis))
        with pytest.raises(
            PlanError, match=r"(?s)cannot send a problem to its actor \(.*lock.*another engine"
        ):
            gv.run(plan(2), [own, own], engine=gv.RayEngine())

    def test_without_checkpoints_the_death_of_an_actor_ends_the_run(self) -> None:
        with pytest.raises(
            AgentError, match=r"agent 1 failed at slot .*Died.*; pass a checkpoint_dir"
        ):
            gv.run(plan(2), [problems(2)[0], Deadly(N_ITEMS)], engine=gv.RayEngine())

    def test_an_actor_that_always_dies_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grassvine.engines.ray.engine.MAX_LOSSES", 2)
        parts = [problems(2)[0], Deadly(N_ITEMS)]
        with pytest.raises(AgentError, match=r"agent 1 failed .*Died.*; this was loss 3 in a row"):
            gv.run(plan(2), parts, engine=gv.RayEngine(checkpoint_dir=tmp_path))

    @pytest.mark.parametrize("name", METHODS)
    def test_a_run_that_lost_an_actor_has_the_bits_of_one_that_did_not(
        self, name: str, tmp_path: Path
    ) -> None:
        of_four = gv.Plan(N_ITEMS, 3, gv.networks.path(4), METHODS[name])
        wanted = gv.run(of_four, problems_for(name, 4))
        at = wanted.n_slots // 2
        folder, writer = tmp_path / "checkpoints", ProgressWriter(tmp_path / "run")
        engine = gv.RayEngine(agents_per_actor=2, checkpoint_dir=folder, checkpoint_seconds=0.0)
        observers: list[Observer] = [KillAtSlot(at), writer]
        found = gv.run(of_four, problems_for(name, 4), engine=engine, observers=observers)
        require_equal_state(found, wanted)
        assert [one.text for one in writer.log.progress.incidents] == [*found.incidents]
        assert writer.log.progress.points[-1].bytes == found.bytes  # nothing is counted twice
        assert len(found.incidents) == 1
        assert re.fullmatch(
            r"agents (0, 1|2, 3) were lost at slot \d+ \(.*\); "
            r"all agents were restored to slot [1-9]\d*",
            found.incidents[0],
        )

    @pytest.mark.parametrize("name", METHODS)
    def test_an_interrupted_run_is_resumed_to_the_same_bits(
        self, name: str, tmp_path: Path
    ) -> None:
        of_four = gv.Plan(N_ITEMS, 3, gv.networks.path(4), METHODS[name])
        wanted = gv.run(of_four, problems_for(name, 4))
        engine = gv.RayEngine(agents_per_actor=2, checkpoint_dir=tmp_path, checkpoint_seconds=0.0)
        with pytest.raises(KeyboardInterrupt):
            gv.run(
                of_four,
                problems_for(name, 4),
                engine=engine,
                observers=[InterruptAt(wanted.n_slots // 2)],
            )
        # Other actors than before, as on another cluster.
        again = gv.RayEngine(agents_per_actor=3, checkpoint_dir=tmp_path, resume=True)
        seen: list[StepReport] = []
        found = gv.run(of_four, problems_for(name, 4), engine=again, observers=[seen.append])
        require_equal_state(found, wanted)
        assert len(seen) == len(found.history)
        assert re.fullmatch(r"the run was resumed at slot [1-9]\d*", found.incidents[0])

    def test_who_stops_before_the_checkpoint_gets_the_state_of_that_slot(
        self, tmp_path: Path
    ) -> None:
        def enough(report: StepReport) -> str | None:
            return "enough" if report.slot == 2 else None

        long = plan(3, n_slots=12)
        engine = gv.RayEngine(agents_per_actor=3, checkpoint_dir=tmp_path, checkpoint_seconds=0.0)
        gv.run(long, problems(3), engine=engine, observers=[in_step])
        assert len(list(tmp_path.glob("epoch-000001/*.json"))) > 3
        wanted = gv.run(long, problems(3), observers=[enough])
        again = gv.RayEngine(agents_per_actor=3, checkpoint_dir=tmp_path, resume=True)
        require_equal_state(gv.run(long, problems(3), engine=again, observers=[enough]), wanted)

    def test_a_folder_of_checkpoints_is_for_one_run(self, tmp_path: Path) -> None:
        engine = gv.RayEngine(agents_per_actor=2, checkpoint_dir=tmp_path, checkpoint_seconds=0.0)
        gv.run(plan(2), problems(2), engine=engine, observers=[in_step])
        with pytest.raises(
            CheckpointError, match=r"already holds checkpoints up to slot 3; resume"
        ):
            gv.run(plan(2), problems(2), engine=engine)
        other = [gv.CompletionProblem(part) for part in gv.datasets.split_users(ratings(seed=1), 2)]
        again = gv.RayEngine(agents_per_actor=2, checkpoint_dir=tmp_path, resume=True)
        with pytest.raises(CheckpointError, match=r"agent 0 has different data .* start again in"):
            gv.run(plan(2), other, engine=again)

    def test_a_run_goes_on_where_no_checkpoint_can_be_written(self, tmp_path: Path) -> None:
        def spoil(report: StepReport) -> None:
            if (report.slot, report.agent) == (0, 0):
                (tmp_path / "epoch-000001").rename(tmp_path / "elsewhere")

        engine = gv.RayEngine(agents_per_actor=2, checkpoint_dir=tmp_path, checkpoint_seconds=0.0)
        found = gv.run(plan(2), problems(2), engine=engine, observers=[spoil])
        require_equal_state(found, gv.run(plan(2), problems(2)))
        assert any("no checkpoint was written at slot" in incident for incident in found.incidents)

    def test_a_place_that_no_node_offers_is_refused_at_once(self) -> None:
        nowhere = gv.engines.Placement(labels={"disk": "a"}, resources={"site": 1.0})
        engine = gv.RayEngine(placements=[gv.engines.Placement(), nowhere])
        with pytest.raises(PlanError, match="agent 1 needs: label disk=a, 1 of site; start one"):
            gv.run(plan(2), problems(2), engine=engine)

    def test_agents_that_need_the_same_share_an_actor_and_others_do_not(self) -> None:
        placements = [
            gv.engines.Placement(),
            gv.engines.Placement(),
            gv.engines.Placement(resources={"CPU": 0.5}),
            gv.engines.Placement(),
        ]
        engine = gv.RayEngine(agents_per_actor=4, placements=placements)
        found = gv.run(plan(4), problems(4), engine=engine)
        require_equal_state(found, gv.run(plan(4), problems(4)))

    def test_nobody_is_waited_for_without_end(self) -> None:
        engine = gv.RayEngine(timeout=20.0)
        # Where the machine is busy, an actor may even take longer to start; that names agent 0.
        with pytest.raises(AgentError, match=r"agent [01] failed at slot 0: .* within 20 s; check"):
            gv.run(plan(2), [problems(2)[0], Endless(N_ITEMS)], engine=engine)

    def test_another_address_is_refused_while_connected(self) -> None:
        with pytest.raises(PlanError, match=r"already connected .* omit the address there:1"):
            gv.run(plan(2), problems(2), engine=gv.RayEngine("there:1"))

    def test_a_run_leaves_the_cluster_that_it_found(self) -> None:
        gv.run(plan(2), problems(2), engine=gv.RayEngine(agents_per_actor=2))
        assert sys.modules["ray"].is_initialized()

    def test_only_its_owner_can_read_the_token(self) -> None:
        path = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
