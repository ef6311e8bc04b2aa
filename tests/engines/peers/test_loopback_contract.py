"""The engine contract, between processes that know each other by their certificates only."""

from collections.abc import Iterator

import numpy as np
import pytest
from tests.engines.peers.loopback_engine import LoopbackEngine
from tests.masked import masked_factories

import grassvine as gv
from grassvine.foundations.seeds import stream
from grassvine.protocol import Method, Recorder
from grassvine.protocol.observers import AllFinished, CombinedObserver

N_AGENTS = 6
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine() -> Iterator[LoopbackEngine]:
    made = LoopbackEngine()
    yield made
    made.close()


def test_members_over_tls_give_the_bits_of_the_local_engine(engine: LoopbackEngine) -> None:
    gv.checks.check_engine(engine)


def completion() -> list[gv.CompletionProblem]:
    data = gv.datasets.low_rank_ratings(40, 200, 3, oversampling=3.0, noise=0.1, seed=5)
    parts = gv.datasets.split_users(data.ratings, N_AGENTS)
    return [gv.CompletionProblem(part, unobserved=0.01) for part in parts]


METHODS: dict[str, Method] = {"gossip": gv.Gossip(max_iter=40), "exact": gv.Exact(max_iter=12)}


@pytest.mark.parametrize(("n_kills", "at_once"), [(50, 1), (10, 2)])
def test_killed_members_go_on_with_the_same_bits(
    engine: LoopbackEngine, n_kills: int, at_once: int
) -> None:
    problems = completion()
    rng = stream(0, "kills", at_once)
    felt = 0
    for method in METHODS.values():
        plan = gv.Plan(40, 3, gv.networks.ring(N_AGENTS), method, seed=1)
        wanted = gv.run(plan, problems)
        engine.kills = {}
        gv.run(plan, problems, engine=engine)
        n_events = engine.n_events
        for _ in range(n_kills // len(METHODS)):
            members = rng.choice(N_AGENTS, at_once, replace=False).tolist()
            engine.kills = {one: int(rng.integers(1, n_events[one] - 2)) for one in members}
            engine.killed.clear()
            found = gv.run(plan, problems, engine=engine)
            felt += set(engine.killed) == set(members)
            for one, other in zip(found.bases, wanted.bases, strict=True):
                assert one.tobytes() == other.tobytes()
            for name, column in wanted.history.columns.items():
                assert np.array_equal(found.history[name], column, equal_nan=True)
    engine.kills = {}
    assert felt >= 0.9 * n_kills


def test_killed_members_never_use_a_mask_for_two_payloads(engine: LoopbackEngine) -> None:
    """The journal refuses a second message for a slot; here all that was sent is compared, too."""
    problems, n_kills = completion(), 50
    plan = gv.Plan(40, 3, gv.networks.ring(N_AGENTS), gv.Exact(max_iter=12), seed=1, sums="fixed")
    wanted = gv.run(plan, problems)
    timetable = plan.timetable.rearranged(np.arange(wanted.n_slots))

    def run() -> tuple[list[bytes], dict[tuple[int, int, int], set[str]]]:
        observe = CombinedObserver(Recorder(), AllFinished(N_AGENTS))
        outcome = engine.run(masked_factories(plan, problems), timetable, observe)
        sent: dict[tuple[int, int, int], set[str]] = {}
        for member, slot, offset, digest in engine.sent:
            sent.setdefault((member, slot, offset), set()).add(digest)
        return [state["basis"].tobytes() for state in outcome.states], sent

    engine.kills = {}
    bases, undisturbed = run()
    assert bases == [basis.tobytes() for basis in wanted.bases]
    n_events, rng, felt = engine.n_events, stream(0, "kills", "masks"), 0
    for _ in range(n_kills):
        member = int(rng.integers(N_AGENTS))
        engine.kills = {member: int(rng.integers(1, n_events[member] - 2))}
        engine.killed.clear()
        bases, sent = run()
        felt += engine.killed == [member]
        assert bases == [basis.tobytes() for basis in wanted.bases]
        assert sent == undisturbed
    engine.kills = {}
    assert all(len(digests) == 1 for digests in undisturbed.values())
    assert felt >= 0.9 * n_kills
