"""Problems in Ray's object store. What needs a cluster is marked so."""

import copy
import importlib.util
import sys
from collections.abc import Iterator

import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.engines import FromObjectStore
from grassvine.foundations.errors import DataError, MissingExtra, PlanError
from grassvine.problems import ProblemSource

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)"
)


def test_without_ray_the_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        MissingExtra, match=r"^an object in Ray's store needs .*'grassvine\[ray\]'$"
    ):
        FromObjectStore("nothing")()


def test_the_options_are_checked() -> None:
    with pytest.raises(PlanError, match="timeout is 0; choose a finite number of at least 1"):
        FromObjectStore("nothing", timeout=0)


def test_a_copy_keeps_the_reference_itself() -> None:
    reference = object()
    assert copy.deepcopy(FromObjectStore(reference)).reference is reference


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with gv.engines.ray_cluster(cpus=2):
        yield


@needs_ray
@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
class TestInACluster:
    def test_agents_fetch_their_ratings_and_problems_themselves(self) -> None:
        import ray

        parts = gv.datasets.split_users(ratings(), 3)
        # one with a problem, two with ratings that another task could have put there
        first = FromObjectStore(ray.put(gv.CompletionProblem(parts[0], unobserved=0.1)))
        others = [FromObjectStore(ray.put(part)) for part in parts[1:]]
        given: list[ProblemSource] = [
            first,
            *gv.problems.problems_of(others, gv.CompletionProblem, unobserved=0.1),
        ]
        plan = gv.Plan(N_ITEMS, 3, gv.networks.path(3), gv.Gossip(max_iter=5))
        wanted = gv.run(plan, [gv.CompletionProblem(part, unobserved=0.1) for part in parts])
        for engine in (gv.RayEngine(agents_per_actor=2), gv.LocalEngine()):
            found = gv.run(plan, given, engine=engine)
            assert [b.tobytes() for b in found.bases] == [b.tobytes() for b in wanted.bases]

    def test_what_is_fetched_is_a_writable_copy(self) -> None:
        import ray

        part = ratings()
        fetch = FromObjectStore(ray.put(part))
        fetch().values[:] = 0.0
        assert fetch().values.tobytes() == part.values.tobytes()

    def test_nobody_is_waited_for_without_end(self) -> None:
        import ray

        def endless() -> None:
            import threading

            threading.Event().wait()

        reference = ray.remote(endless).options(num_cpus=0).remote()
        with pytest.raises(DataError, match=r"could not get .* within 1 s; check the task"):
            FromObjectStore(reference, timeout=1.0)()
        ray.cancel(reference, force=True)
