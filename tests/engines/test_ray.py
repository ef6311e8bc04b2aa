"""The Ray engine. What needs a cluster is marked so, and shares one local Ray of two CPUs."""

import importlib.util
import os
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, MissingExtra, PlanError
from grassvine.problems import Evaluation, LocalProblem

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
)


def plan(n_agents: int, n_slots: int = 3) -> gv.Plan:
    return gv.Plan(N_ITEMS, 3, gv.path(n_agents), gv.Gossip(n_slots=n_slots))


def problems(n_agents: int) -> list[LocalProblem]:
    return [gv.CompletionProblem(part) for part in gv.split_users(ratings(), n_agents)]


def test_without_ray_the_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"^the Ray engine needs .* 'grassvine\[ray\]'$"):
        gv.run(plan(2), problems(2), engine=gv.RayEngine())


def test_the_options_are_checked() -> None:
    with pytest.raises(PlanError, match="agents_per_actor is 0; choose a number at least 1"):
        gv.RayEngine(agents_per_actor=0)
    with pytest.raises(PlanError, match="timeout is 0; choose a finite number of at least 1"):
        gv.RayEngine(timeout=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with gv.ray_cluster(cpus=2):
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


@needs_ray
@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
class TestInACluster:
    def test_the_bits_are_those_of_the_local_engine(self) -> None:
        # Five agents in three actors: some messages stay within an actor, most do not.
        gv.check_engine(gv.RayEngine(agents_per_actor=2))

    def test_messages_that_lie_in_the_object_store_give_the_same_bits(self) -> None:
        # Ray hands results under 100 kB on by itself; a basis here has 160 kB.
        data = gv.low_rank_ratings(4000, 300, 5, oversampling=2.0).ratings
        parts = [gv.CompletionProblem(part, unobserved=0.01) for part in gv.split_users(data, 3)]
        large = gv.Plan(4000, 5, gv.path(3), gv.Gossip(n_slots=5))
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
            PlanError, match=r"(?s)cannot be sent to its actor \(.*lock.*another engine"
        ):
            gv.run(plan(2), [own, own], engine=gv.RayEngine())

    def test_the_death_of_an_actor_ends_the_run_and_names_an_agent(self) -> None:
        with pytest.raises(AgentError, match=r"agent 1 failed at slot .*Died"):
            gv.run(plan(2), [problems(2)[0], Deadly(N_ITEMS)], engine=gv.RayEngine())

    def test_nobody_is_waited_for_without_end(self) -> None:
        engine = gv.RayEngine(timeout=20.0)
        with pytest.raises(AgentError, match=r"agent 1 failed at slot 0: .* within 20 s; look"):
            gv.run(plan(2), [problems(2)[0], Endless(N_ITEMS)], engine=engine)

    def test_another_address_is_refused_while_connected(self) -> None:
        with pytest.raises(PlanError, match=r"connected .* leave the address there:1 out"):
            gv.run(plan(2), problems(2), engine=gv.RayEngine("there:1"))

    def test_a_run_leaves_the_cluster_that_it_found(self) -> None:
        gv.run(plan(2), problems(2), engine=gv.RayEngine(agents_per_actor=2))
        assert sys.modules["ray"].is_initialized()

    def test_only_its_owner_can_read_the_token(self) -> None:
        path = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
