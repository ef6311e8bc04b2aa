"""Sums of integers: the same bits in any order, near sums of floats, and never a wrong total."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sums.cases import CASES, largest_difference

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import AgentError, DataError, MessageError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks import Network
from grassvine.networks.tree import Tree
from grassvine.protocol import Message, StepReport
from grassvine.protocol.message import WordShape
from grassvine.sums import BayesianCompletionProblem, BayesianFactorization, SumAgent
from grassvine.sums.fixed_point import MAX_ROUNDS, FixedPointSummation, most_rounds
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Program, ProgramOutcome, all_reduce
from grassvine.sums.summation import Addends

PROBLEM = gv.PCAProblem(np.eye(3))
SHAPES: dict[str, Callable[[int], Network]] = {
    "path": gv.networks.path,
    "ring": gv.networks.ring,
    "star": gv.networks.star,
    "tree": lambda n: Network(n, tuple(((k - 1) // 2, k) for k in range(1, n))),
}
Parts = Sequence[Sequence[Array]]  # of each sum, the parts of all agents


def adding(parts: Sequence[Array], found: list[Array]) -> Program:
    """A program of so many sums; what it is sent is noted."""
    for part in parts:
        found += yield from all_reduce(Iterate(np.eye(3)), partial(_given, part))
    return ProgramOutcome(Iterate(np.eye(3)), "all is added")


def _given(part: Array, _: Data) -> tuple[Array]:
    return (part,)


def added(parts: Parts, tree: Tree) -> list[Array]:
    """Add up parts along a tree, and return the totals, which all agents have alike."""
    n_agents = len(tree.parents)
    found: list[list[Array]] = [[] for _ in range(n_agents)]

    def make(number: int) -> SumAgent:
        own = [part[number] for part in parts]
        agent = SumAgent(number, PROBLEM, adding(own, found[number]), tree)
        agent.add_up_by(FixedPointSummation(number, n_agents))
        return agent

    finished = gv.protocol.observers.AllFinished(n_agents)
    makers = [partial(make, number) for number in range(n_agents)]
    gv.LocalEngine().run(makers, tree.rounds(most_rounds(len(parts))), finished)
    for others in found[1:]:
        assert [one.tobytes() for one in others] == [one.tobytes() for one in found[0]]
    assert len(found[0]) == len(parts)
    return found[0]


def rounds(parts: Parts, *, wide: bool = False, bound: float = 0.0) -> tuple[list[Array], int]:
    """Add up parts without a tree, and return the totals and the number of rounds."""
    agents = [FixedPointSummation(number, len(parts[0])) for number in range(len(parts[0]))]
    totals = []
    for number, part in enumerate(parts):
        words: list[Addends] = [
            agent.begin(number, "sum", own.ravel(), [own.shape], wide=wide, bound=bound)
            for agent, own in zip(agents, part, strict=True)
        ]
        while True:
            results = [agent.total(sum(words)) for agent in agents]  # type: ignore[arg-type]
            if results[0] is not None:
                break
            words = [agent.again() for agent in agents]
        totals.append(results[0])
    return totals, agents[0].n_rounds


@pytest.mark.parametrize("n_agents", [2, 3, 4, 7, 16, 50])
def test_totals_have_the_same_bits_on_every_tree_and_in_every_order(n_agents: int) -> None:
    rng = stream(n_agents, "data", "parts")
    sizes = 10.0 ** rng.uniform(-9, 9, size=(3, n_agents, 1))
    parts = [list(one) for one in sizes * rng.standard_normal((3, n_agents, 20))]
    bits = set()
    for shape in SHAPES.values():
        for order in (np.arange(n_agents), rng.permutation(n_agents)):
            shuffled = [[part[agent] for agent in order] for part in parts]
            bits.add(b"".join(one.tobytes() for one in added(shuffled, shape(n_agents).tree)))
    assert len(bits) == 1
    for total, part in zip(added(parts, gv.networks.path(n_agents).tree), parts, strict=True):
        largest = max(np.abs(one).max() for one in part)
        # 52 bits of the largest part are kept, less one for each doubling of agents.
        assert (
            np.abs(total - np.sum(part, axis=0)).max()
            <= n_agents * largest * 2.0**-52 * 2 * n_agents
        )


def test_sums_of_floats_depend_on_the_order() -> None:
    """Otherwise the test above would show nothing."""
    parts = list(stream(0, "data", "parts").standard_normal((4, 20)))
    bits = {sum(parts[k] for k in order).tobytes() for order in permutations(range(4))}
    assert len(bits) > 1


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.sampled_from([0.0, -0.0, 1e18, -1e18, 1e-300, 5e-324, 1.7e308, 2.0**60, 2.0**-60]),
)


@st.composite
def any_parts(draw: st.DrawFn) -> list[list[list[float]]]:
    """Several sums of the parts of two to six agents, of few numbers or more."""
    n_agents, size = draw(st.integers(2, 6)), draw(st.sampled_from([3, 6]))
    numbers = st.lists(NUMBERS, min_size=size, max_size=size)
    parts = st.lists(numbers, min_size=n_agents, max_size=n_agents)
    return draw(st.lists(parts, min_size=1, max_size=4))


@settings(max_examples=200, deadline=None)
@given(any_parts())
@example([[[1e18, -1e18, 1e18], [-1e18, 1e18, 1e-300]], [[1e-300] * 3, [-1e-300] * 3]])
@example([[[1e-300, 0.0, 0.0], [1e-300, 0.0, 0.0]], [[1e18] * 3, [1e18] * 3], [[0.0] * 3] * 2])
@example([[[1.7e308] * 3, [-1.7e308] * 3]])
@example([[[1e18, -1e18] * 3, [1e-300] * 6], [[1e-300] * 6] * 2, [[1e18] * 6] * 2])
def test_no_total_is_wrong_whatever_the_parts(numbers: list[list[list[float]]]) -> None:
    parts = [[np.array(one) for one in part] for part in numbers]
    n_agents = len(parts[0])
    columns = [np.transpose(part).tolist() for part in parts]
    exact = [[Fraction(sum(map(Fraction, one))) for one in three] for three in columns]
    if any(abs(one) >= Fraction(2) ** 1024 for total in exact for one in total):
        with pytest.raises(MessageError, match="is larger than its parts can be"):
            rounds(parts)
        return
    totals, n_rounds = rounds(parts)
    assert n_rounds <= MAX_ROUNDS * len(parts)
    for total, part, true in zip(totals, parts, exact, strict=True):
        largest = float(max(np.abs(one).max() for one in part))
        # The error of N roundings to at least 52 − log₂N bits of the largest part, and of
        # the conversion to float64, where the least number is 5e-324.
        bits = 52 - math.ceil(math.log2(n_agents))
        allowed = Fraction(n_agents, 2**bits) * Fraction(largest) + Fraction(5e-324)
        for found, wanted in zip(total, true, strict=True):
            assert abs(Fraction(float(found)) - wanted) <= allowed


def test_scales_follow_numbers_that_fall_by_many_orders() -> None:
    """As squared errors do: every total keeps its relative accuracy, and few sums are repeated."""
    parts = [[np.array([size]), np.array([2.0 * size])] for size in 10.0 ** -np.arange(60.0)]
    totals, n_rounds = rounds(parts)
    for total, part in zip(totals, parts, strict=True):
        assert abs(total[0] / float(part[0][0] * 3.0) - 1.0) < 2.0**-40
    assert n_rounds < 1.5 * len(parts)


def test_numbers_of_other_units_keep_their_accuracy_in_wide_sums() -> None:
    """Such as the squares of features, of which one is a weight in kg and one a share."""
    rng = stream(0, "data", "units")
    units = 2.0 ** -np.arange(0.0, 60.0, 2.0)
    parts = [[units * rng.uniform(1.0, 2.0, size=30) for _ in range(6)]]
    (wide,), (narrow,) = (rounds(parts, wide=one)[0] for one in (True, False))
    wanted = np.sum(parts[0], axis=0)
    assert np.abs(wide / wanted - 1.0).max() < 1e-14
    assert np.abs(narrow / wanted - 1.0).max() > 1e-3


def test_a_part_that_does_not_fit_asks_for_another_scale_instead_of_wrapping() -> None:
    small, large = np.full(5, 1.0), np.full(5, 2.0**40)
    totals, n_rounds = rounds([[small, small], [small, large], [small, small]])
    assert [total.tolist() for total in totals] == [[2.0] * 5, [2.0**40 + 1.0] * 5, [2.0] * 5]
    assert n_rounds == 2 + 3 + 3  # each after the first is sent, sized, and sent again


def test_a_long_sum_is_sized_before_it_is_sent_for_the_second_time() -> None:
    """The first one of a kind is often unlike the others; after the second, sizes are kept."""
    one, large = np.full(2_000, 1.0), np.full(2_000, 2.0**40)
    totals, n_rounds = rounds([[one, one], [large, one], [large, large], [one, large]])
    assert [total[0] for total in totals] == [2.0, 2.0**40 + 1.0, 2.0**41, 2.0**40 + 1.0]
    assert n_rounds == 2 + 2 + 1 + 1


def popular_and_rare(n_users: int, n_items: int, n_ratings: int) -> gv.Ratings:
    """Ratings of a table whose items are popular or rare, as in a shop."""
    rng = stream(0, "data", "ratings")
    popularity = 1.0 / (5.0 + np.arange(n_items))
    entries = rng.choice(
        n_users * n_items,
        n_ratings,
        replace=False,
        p=np.tile(popularity / popularity.sum() / n_users, n_users),
    )
    values = rng.integers(1, 6, size=n_ratings).astype(np.float64)
    return gv.Ratings.from_arrays(
        entries // n_items, entries % n_items, values, n_users=n_users, n_items=n_items
    )


def test_a_fit_of_ratings_sends_hardly_more_than_with_floats() -> None:
    n_items = 1_000
    parts = gv.datasets.split_users(popular_and_rare(600, n_items, 30_000), 6)
    plan = gv.Plan(n_items, 5, gv.networks.ring(6), BayesianFactorization())

    def sent(sums: str) -> int:
        sizes = []
        gv.run(
            replace(plan, sums=sums),
            [BayesianCompletionProblem(part) for part in parts],
            observers=[lambda report: sizes.append(report.bytes)],
        )
        return sum(sizes)

    assert sent("fixed") <= 1.02 * sent("plain")


def test_an_agent_that_replayed_a_sum_sizes_the_next_like_the_others() -> None:
    def second_of(agent: FixedPointSummation) -> Addends:
        return agent.begin(1, "sum", np.full(2_000, 3.0), [(2_000,)], wide=False, bound=0.0)

    first, replayed = FixedPointSummation(0, 2), FixedPointSummation(0, 2)
    first.total(first.begin(0, "sum", np.full(2_000, 1.0), [(2_000,)], wide=False, bound=0.0))
    assert first.total(first.again()) is not None
    replayed.replay("sum", first.log_entry())
    np.testing.assert_array_equal(second_of(first), second_of(replayed))
    assert second_of(first).size < 100  # votes, not numbers


@pytest.mark.parametrize("bound", [3.0, 4.0, 2.0**20, 1e-3])
def test_a_bound_says_the_scale_and_a_wrong_one_is_not_believed(bound: float) -> None:
    part = np.linspace(-3.0, 3.0, 9)
    totals, n_rounds = rounds([[part, part, part]], bound=bound)
    np.testing.assert_allclose(totals[0], 3.0 * part, rtol=0, atol=1e-14)
    assert n_rounds == 1 if bound in (3.0, 4.0) else n_rounds > 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_part_that_is_not_finite_is_refused_before_it_is_sent(value: float) -> None:
    with pytest.raises(DataError, match="agent 1 in sum 7 contains"):
        FixedPointSummation(1, 3).begin(
            7, "sum", np.array([1.0, value]), [(2,)], wide=False, bound=0.0
        )


def test_a_member_that_never_agrees_on_a_scale_ends_the_sum() -> None:
    one, other = FixedPointSummation(0, 2), FixedPointSummation(1, 2)
    words: list[Addends] = [
        agent.begin(0, "sum", np.array([1.0]), [(1,)], wide=False, bound=0.0)
        for agent in (one, other)
    ]

    def claim() -> None:
        for _ in range(MAX_ROUNDS + 1):
            total = words[0] + words[1]
            total[0] = 7  # something does not fit
            assert one.total(total) is None
            other.total(total)
            words[:] = [agent.again() for agent in (one, other)]

    with pytest.raises(MessageError, match=f"after {MAX_ROUNDS} rounds of sum 0"):
        claim()


def test_scales_that_change_all_the_time_end_a_run_before_its_timetable() -> None:
    """Each sum takes four rounds: too small, two windows of sizes, and the numbers."""
    sizes = [1.0, 2.0**-60] * 200
    parts = [[np.full(5, size), np.full(5, size)] for size in sizes]
    with pytest.raises(MessageError, match=r"after \d+ rounds of sum \d+, and \d+ in all"):
        rounds(parts)


def test_a_total_beyond_what_parts_can_be_is_refused() -> None:
    agent = FixedPointSummation(0, 2)
    agent.total(agent.begin(0, "sum", np.array([1.0]), [(1,)], wide=False, bound=0.0))
    words = agent.again()
    words[-1] = np.uint64(2**62 + 1)
    with pytest.raises(MessageError, match="the total of sum 0 is larger than its parts can be"):
        agent.total(words)


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_that_of_float_sums(name: str) -> None:
    case = CASES[name]
    plan, problems = case.plan(gv.networks.path(3)), case.problems(3)
    plain, fixed = gv.run(plan, problems), gv.run(replace(plan, sums="fixed"), problems)
    # A descent to rounding ends at the accuracy of the cost, the square root of that of the point.
    # The users' regression on features that hardly vary multiplies rounding errors by a thousand.
    limit = {"biased, to rounding": 1e-7, "bayesian, few ratings": 1e-7}.get(name, 1e-9)
    assert plain.states[0]["updates"] == fixed.states[0]["updates"]
    if name != "biased, to rounding":
        assert plan.geometry.distance(plain.bases[0], fixed.bases[0]) < 1e-9
    assert largest_difference([plain.states[0], fixed.states[0]]) < limit
    assert plain.stop_reason == fixed.stop_reason


def test_each_meeting_leaves_a_state_from_which_the_agent_can_be_restored() -> None:
    """Also between the rounds of a sum, and with numbers that no float64 can hold."""
    case = CASES["tasks"]
    plan = replace(case.plan(gv.networks.path(3)), sums="fixed")
    problems = case.problems(3)
    agents = [plan.agent(number, problem) for number, problem in enumerate(problems)]
    logs: list[list[gv.protocol.State]] = [[] for _ in agents]
    restored_under_way = 0
    for slot in range(60):
        inboxes = plan.timetable.inboxes(slot)
        sent = {n: agents[n].outgoing(slot) for _, ns in inboxes for n in ns}
        for receiver, senders in inboxes:
            agents[receiver].meet(slot, [sent[sender] for sender in senders])
            logs[receiver].append(dict(agents[receiver].log_entry()))
            again = plan.agent(receiver, problems[receiver])
            snapshot = agents[receiver].snapshot()
            assert all(array.dtype != np.uint64 for array in snapshot.values())
            again.restore(iter(logs[receiver]), snapshot)
            assert isinstance(again, SumAgent)
            restored_under_way += again._summation.under_way
            for name, array in snapshot.items():
                assert np.array_equal(array, again.snapshot()[name]), name
            assert again.expected(slot + 1) == agents[receiver].expected(slot + 1)
            assert _bytes(again.outgoing(slot + 1)) == _bytes(agents[receiver].outgoing(slot + 1))
            agents[receiver] = again  # and goes on in its place
    assert restored_under_way > 10
    wanted = gv.run(plan, problems, observers=[lambda report: "enough" * (report.slot == 59)])
    assert agents[0].state()["basis"].tobytes() == wanted.bases[0].tobytes()


def _bytes(message: Message) -> list[bytes]:
    return [array.tobytes() for array in message.arrays.values()]


def test_messages_carry_words_and_a_float_is_refused() -> None:
    plan = replace(CASES["tasks"].plan(gv.networks.path(2)), sums="fixed")
    agent = plan.agent(0, CASES["tasks"].problems(2)[0])
    sent, shapes = agent.outgoing(0), agent.expected(0)
    assert sent.arrays["sum"].dtype == np.uint64 and isinstance(shapes["sum"], WordShape)
    floats = Message(0, 0, {**sent.arrays, "sum": sent.arrays["sum"].astype(float)})
    with pytest.raises(MessageError, match=r"'sum' .* of type float64, not uint64"):
        gv.protocol.checked_message(floats, shapes, sender=0, slot=0)


def test_the_plan_says_how_sums_are_added_up() -> None:
    plain = CASES["tasks"].plan(gv.networks.path(3))
    fixed = replace(plain, sums="fixed")
    assert gv.Plan.from_toml(fixed.to_toml()) == fixed
    assert gv.Plan.from_toml(plain.to_toml()) == plain
    assert fixed.fingerprint() != plain.fingerprint()
    with pytest.raises(PlanError, match="unknown sums 'fixd'"):
        replace(plain, sums="fixd")
    with pytest.raises(PlanError, match="Gossip adds nothing up along a tree"):
        replace(plain, method=gv.Gossip(), sums="fixed")


def test_a_single_agent_adds_up_its_own_part() -> None:
    case = CASES["tasks"]
    plan = case.plan(Network(1, ()))
    plain, fixed = (
        gv.run(replace(plan, sums=sums), case.problems(1)) for sums in ("plain", "fixed")
    )
    assert gv.geometry.Grassmann().distance(plain.bases[0], fixed.bases[0]) < 1e-9


def test_an_agent_with_data_that_are_not_finite_is_named() -> None:
    def nothing(number: int) -> SumAgent:
        part = np.array([np.nan if number else 1.0])
        agent = SumAgent(number, PROBLEM, adding([part], []), gv.networks.path(2).tree)
        agent.add_up_by(FixedPointSummation(number, 2))
        return agent

    def observe(report: StepReport) -> None:
        return None

    makers, timetable = [partial(nothing, n) for n in range(2)], gv.networks.path(2).tree.rounds(9)
    with pytest.raises(AgentError, match="the part of agent 1 in sum 0 contains nan"):
        gv.LocalEngine().run(makers, timetable, observe)
