"""Masks cancel, are used once, and leave nothing but uniform noise of what they hide."""

import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests.engines.peers.simulator import Simulation
from tests.masked import masked_factories, masks_of, private_key
from tests.sums.cases import CASES

import grassvine as gv
from grassvine.engines.in_process import run_slots
from grassvine.foundations.arrays import Words
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import AgentError, PeerError
from grassvine.networks import Network
from grassvine.peers.identity.cards import x25519_text
from grassvine.peers.joining.masks import PairMasks
from grassvine.protocol.observers import AllFinished

SIZE = 4096
LEVEL = 1e-3  # of all tests of uniformity together


def total(masks: list[Words]) -> Words:
    return np.sum(masks, axis=0, dtype=np.uint64)


@pytest.mark.parametrize("n_members", [2, 3, 6, 10])
def test_the_masks_of_all_members_cancel_and_those_of_fewer_do_not(n_members: int) -> None:
    given = [masks_of(number, n_members).mask(4, 1, SIZE) for number in range(n_members)]
    assert not total(given).any()
    for missing in range(n_members):
        rest = total(given[:missing] + given[missing + 1 :])
        assert_uniform([rest])


def test_a_mask_is_given_out_once() -> None:
    masks = masks_of(0, 3)
    masks.mask(5, 0, 9)
    masks.mask(5, 1, 9)
    for used in ((5, 1), (5, 0), (4, 7)):
        with pytest.raises(PeerError, match=f"sum {used[0]}, round {used[1]}, was used already"):
            masks.mask(*used, 9)
    masks.mask(6, 0, 9)


def _mask(digest: bytes = b"p" * 32, number: int = 5, attempt: int = 0, key: int = 0) -> Words:
    own = private_key(key)
    public = [x25519_text(private_key(one).public_key()) for one in (key, 1, 2)]
    return PairMasks(digest, own, 0, public).mask(number, attempt, SIZE)


FLIPPED = bytes([ord("p") ^ 1]) + b"p" * 31
OTHERS: dict[str, Callable[[], Words]] = {
    "plan": lambda: _mask(digest=FLIPPED),
    "sum": lambda: _mask(number=4),
    "round": lambda: _mask(attempt=1),
    "key": lambda: _mask(key=9),
    "other pair": lambda: masks_of(1, 3, b"p" * 32).mask(5, 0, SIZE),
    "own random words": lambda: masks_of(0, 3, b"p" * 32).random(5, 0, SIZE),
}


@pytest.mark.parametrize("name", OTHERS)
def test_seeds_that_differ_in_one_bit_give_unrelated_masks(name: str) -> None:
    one, other = _mask(), OTHERS[name]()
    assert_uniform([one ^ other])
    assert_uniform([one - other])


def test_a_restarted_member_draws_the_same_words() -> None:
    assert np.array_equal(_mask(), _mask())
    one, again, other = (masks_of(number, 3).random(2, 1, SIZE) for number in (0, 0, 1))
    assert np.array_equal(one, again)
    assert_uniform([one ^ other])


def test_a_shorter_round_has_the_beginning_of_a_longer_one_only_at_its_own_place() -> None:
    """Sums of another number of words must not share masks with those before or after."""
    assert np.array_equal(masks_of(0, 3).mask(1, 0, 10), masks_of(0, 3).mask(1, 0, 99)[:10])
    assert not np.array_equal(masks_of(0, 3).mask(1, 0, 10), masks_of(0, 3).mask(2, 0, 10))


# What a neighbour receives.


def heard(case: str, n_members: int, n_rounds: int, *, masked: bool) -> list[Words]:
    """Return the words that members send their parents in the first rounds of a run."""
    plan = CASES[case].plan(_tree(n_members))
    plan = gv.Plan(plan.n_items, plan.rank, plan.network, plan.method, seed=5, sums="fixed")
    problems = CASES[case].problems(n_members)
    if masked:
        agents = [make() for make in masked_factories(plan, problems, b"of this test")]
    else:
        agents = [plan.agent(number, one) for number, one in enumerate(problems)]
    words = []
    with one_blas_thread():
        for slot in range(n_rounds * 2 * plan.network.tree.height):
            inboxes = plan.timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for _, ns in inboxes for n in ns}
            words += [one.arrays["sum"].copy() for one in sent.values() if "checksum" in one.arrays]
            for receiver, senders in inboxes:
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
    return words


def _tree(n_members: int) -> Network:
    return Network(n_members, tuple(((k - 1) // 2, k) for k in range(1, n_members)))


def p_values(words: list[Words]) -> Iterator[float]:
    """Yield p-values of tests that hold for independent uniform bytes.

    Byte histogram (χ² with 255 degrees of freedom), correlation of neighbouring bytes and words,
    the number of ones, and repeated words.
    """
    octets = np.concatenate(words).astype("<u8").view(np.uint8)
    n = len(octets)
    yield float(stats.chisquare(np.bincount(octets, minlength=256)).pvalue)
    for place in range(8):  # of the byte in its word: the highest are signs and small numbers
        yield float(stats.chisquare(np.bincount(octets[place::8] >> 4, minlength=16)).pvalue)
    for lag in (1, 2, 8, 16):
        correlation = float(np.corrcoef(octets[:-lag], octets[lag:])[0, 1])
        yield float(2.0 * stats.norm.sf(abs(correlation) * np.sqrt(n - lag)))
    ones = int(np.unpackbits(octets).sum())
    yield float(2.0 * stats.norm.sf(abs(ones - 4.0 * n) / np.sqrt(2.0 * n)))


def compressed(words: list[Words]) -> float:
    """Return the size of a compressed copy over that of the original."""
    data = np.concatenate(words).tobytes()
    return len(zlib.compress(data, 9)) / len(data)


def assert_uniform(words: list[Words]) -> None:
    found = list(p_values(words))
    assert min(found) > LEVEL / len(found) / 20  # for some twenty calls in this file
    assert compressed(words) >= 1.0
    whole = np.concatenate(words)
    assert len(np.unique(whole)) == len(whole)  # of 2^64


@pytest.mark.parametrize("n_members", [3, 6, 10])
@pytest.mark.parametrize("case", ["biased, auto", "by rank", "components, one sum"])
def test_what_a_neighbour_receives_cannot_be_told_from_noise(case: str, n_members: int) -> None:
    n_rounds = 2 if case == "components, one sum" else 12
    masked = heard(case, n_members, n_rounds, masked=True)
    assert_uniform(masked)
    # The same words of consecutive rounds, and of the siblings, are not related either.
    pairs = [a ^ b for a, b in pairwise(masked) if len(a) == len(b)]
    assert_uniform([one for one in pairs if one.any()])
    plain = heard(case, n_members, n_rounds, masked=False)
    assert len(plain) == len(masked)
    assert min(p_values(plain)) < 1e-12 and compressed(plain) < 0.95


def test_local_sums_of_integers_have_the_bits_of_masked_ones() -> None:
    for name in ("tasks", "biased, auto", "validated", "components, blocks"):
        plan = CASES[name].plan(gv.networks.star(4))
        plan = gv.Plan(plan.n_items, plan.rank, plan.network, plan.method, seed=5, sums="fixed")
        problems = CASES[name].problems(4)
        wanted = gv.run(plan, problems)
        engine = gv.LocalEngine()
        found = engine.run(masked_factories(plan, problems), plan.timetable, AllFinished(4))
        for one, other in zip(found.states, wanted.states, strict=True):
            assert {k: v.tobytes() for k, v in one.items()} == {
                k: v.tobytes() for k, v in other.items()
            }


@pytest.mark.parametrize("checkpoint_bytes", [0, 3000])
def test_crashes_and_broken_links_change_no_bit_and_use_no_mask_twice(
    checkpoint_bytes: int,
) -> None:
    """The simulator asserts at every frame that a slot has one message in all lives."""
    case, struck = CASES["tasks"], 0
    plan = gv.Plan(case.n_items, case.rank, gv.networks.star(3), case.method, seed=5, sums="fixed")
    problems = case.problems(3)
    timetable = plan.timetable.rearranged(np.arange(80))
    wanted = gv.run(plan, problems, observers=[lambda report: "over" * (report.slot == 79)])
    for seed in range(6):
        makers = masked_factories(plan, problems)
        simulation = Simulation(makers, timetable, seed, checkpoint_bytes=checkpoint_bytes)
        for node, state in zip(simulation.run(), wanted.states, strict=True):
            assert node.state is not None
            assert node.state["basis"].tobytes() == state["basis"].tobytes()
        struck += sum(simulation.struck[kind] for kind in ("kill", "kill two", "torn write"))
    assert struck >= 6


def test_members_of_which_one_has_another_key_than_its_card_stop_with_a_sentence() -> None:
    plan = CASES["tasks"].plan(gv.networks.path(3))
    plan = gv.Plan(plan.n_items, plan.rank, plan.network, plan.method, seed=5, sums="fixed")
    makers = masked_factories(plan, CASES["tasks"].problems(3))
    agents = [makers[0](), makers[1]()]
    agents.append(masked_factories(plan, CASES["tasks"].problems(3), b"another plan")[2]())
    with pytest.raises(AgentError, match=r"larger than its parts can be|no scale that fits"):
        run_slots(
            agents, plan.timetable, AllFinished(3), lambda actions: (act() for act in actions)
        )
