"""What an attacker who follows the plan recovers, with and without protection.

Each attack works on the messages and totals of actual runs, and returns a :class:`Finding`. The
attackers know everything but the victim's data and keys: plan, method, timetable, all totals, and
what the victim's neighbour receives. ``python -m tests.privacy`` prints the table of the docs.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata
from tests.masked import masked_factories
from tests.peers.houses import cards, learning

import grassvine as gv
from grassvine.data import Ratings
from grassvine.data.ids import Ids
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream
from grassvine.peers.fit.ratings import COUNTS, MemberRatings
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.protocol.agent import Agent
from grassvine.sums.biased import BiasedFactorization, BiasedModel
from grassvine.sums.biased.descent import first_model
from grassvine.sums.scales import N_LEVELS
from grassvine.sums.statistics import RatingStatistics

N_ITEMS, LEAF = 4000, 0
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Finding:
    """What an attack recovers.

    Attributes
    ----------
    attack, measure : str
    without, protected : float
        The measure without and with protection.
    meaning : str
        How the numbers are to be read.
    """

    attack: str
    measure: str
    without: float
    protected: float
    meaning: str


@dataclass
class Heard:
    """What the neighbour of a leaf receives, and the totals that all learn."""

    parts: list[Array] = field(default_factory=list)
    totals: list[list[Array]] = field(default_factory=list)


def ratings_of(seed: int, n_users: int, n_items: int = N_ITEMS, share: float = 0.5) -> Ratings:
    """Half stars of random users, each for a share of the items."""
    rng = stream(seed, "data", "privacy")
    rated = [rng.choice(n_items, int(share * n_items), replace=False) for _ in range(n_users)]
    users = np.repeat(np.arange(n_users), [len(one) for one in rated])
    items = np.concatenate(rated)
    values = rng.integers(1, 11, size=len(items)) / 2.0
    return Ratings.from_arrays(users, items, values, n_users=n_users, n_items=n_items)


def listen(agents: Sequence[Agent], plan: gv.Plan, n_slots: int) -> Heard:
    """Run agents on a path of three, whose middle is the neighbour of the leaf."""
    heard = Heard()
    with one_blas_thread():
        for slot in range(n_slots):
            inboxes = plan.timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for _, ns in inboxes for n in ns}
            for receiver, senders in inboxes:
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
                if LEAF in senders:
                    heard.parts.append(sent[LEAF].arrays["sum"].copy())
                    entry = agents[receiver].log_entry()
                    if entry:
                        n_arrays = sum(name.isdecimal() for name in entry)
                        found = [np.asarray(entry[str(k)]) for k in range(n_arrays)]
                        heard.totals.append([one.astype(float) for one in found])
    return heard


def fit_of(tables: Sequence[Ratings], *, masked: bool, digest: bytes = b"", seed: int = 1) -> Heard:
    """Fit three tables by the default method with a given strength, and listen."""
    sums = "fixed" if masked else "plain"
    method = BiasedFactorization(regularization=10.0, max_iter=3)
    plan = gv.Plan(tables[0].n_items, 2, gv.networks.path(3), method, seed=seed, sums=sums)
    problems = [gv.BiasedCompletionProblem(table) for table in tables]
    if masked:
        agents = [make() for make in masked_factories(plan, problems, digest or b"a plan")]
    else:
        agents = [plan.agent(number, problem) for number, problem in enumerate(problems)]
    return listen(agents, plan, 2 * (12 if masked else 4))


@cache
def tables(n_users: int) -> tuple[Ratings, ...]:
    """The leaf's table, the neighbour's and another."""
    return ratings_of(1, n_users), ratings_of(2, 30), ratings_of(3, 30)


def is_data(part: Array, n_arrays: int) -> bool:
    """Return whether a masked part is of numbers, and not of votes on sizes."""
    return part.size > n_arrays * (1 + N_LEVELS)


# Item lists.


def f1(found: Mask, true: Mask) -> float:
    """Return the harmonic mean of precision and recall."""
    hits = float((found & true).sum())
    return 2.0 * hits / float(found.sum() + true.sum())


def auc(scores: Array, true: Mask) -> float:
    """Return the probability that a score of a true one is higher, or lower if that is more."""
    ranks = rankdata(scores)
    n_true, n_false = int(true.sum()), int((~true).sum())
    area = (ranks[true].sum() - n_true * (n_true + 1) / 2.0) / (n_true * n_false)
    return float(max(area, 1.0 - area))


def scores_of(words: Array) -> Iterator[Array]:
    """Yield what an attacker may try on words: values, their bytes, and the number of bits."""
    yield words.astype(float)
    yield words.view(np.int64).astype(float)
    octets = words.view(np.uint8).reshape(len(words), 8)
    yield from octets.T.astype(float)
    yield np.unpackbits(octets, axis=1).sum(axis=1).astype(float)


@cache
def item_list_from_sums() -> Finding:
    """Which items occur in the table of the leaf, by what its neighbour receives."""
    n_items = 20_000  # an AUC of guesses is then ½ ± .004
    tables = [ratings_of(house, 1, n_items) for house in range(1, 4)]
    true = np.bincount(tables[LEAF].items, minlength=n_items) > 0
    plain, masked = (fit_of(tables, masked=masked) for masked in (False, True))
    data = next(part for part in masked.parts if is_data(part, 4))
    scored = [auc(one, true) for one in scores_of(data[-(n_items + 3) : -3])]
    # With many scores some are above ½ by chance; their mean is what an attacker can expect.
    return Finding(
        "items of a leaf, from sums",
        "F1 / AUC",
        f1(plain.parts[0][:n_items] > 0, true),
        float(np.mean(scored)),
        "1 is all items, AUC ½ is guessing",
    )


@cache
def item_list_from_gossip() -> Finding:
    """Two consecutive messages of a gossiping agent give its gradient, whose zero rows tell."""
    table, geometry = ratings_of(1, 3, 400), gv.geometry.Grassmann()
    problem, rho, step = gv.CompletionProblem(table), 10.0, gv.StepSize(1e-6, 0.0)
    method = gv.Gossip(rho, 2, gv.networks.AllEdges(), "none", step)
    plan = gv.Plan(400, 2, gv.networks.path(2), method, seed=1)
    others = gv.CompletionProblem(ratings_of(2, 30, 400))
    agents = [plan.agent(0, problem), plan.agent(1, others)]
    bases = []
    with one_blas_thread():
        for slot in range(2):
            sent = [agent.outgoing(slot) for agent in agents]
            bases.append([one.arrays["basis"].copy() for one in sent])
            for number, agent in enumerate(agents):
                agent.meet(slot, [sent[1 - number]])
    (before, neighbour), (after, _) = bases
    moved = geometry.log(before, after) / 1e-6
    gradient = rho * geometry.log(before, neighbour) - moved
    true = np.bincount(table.items, minlength=400) > 0
    sizes = np.linalg.norm(gradient, axis=1)
    return Finding(
        "items of a member, from gossip",
        "F1",
        f1(sizes > 1e-3 * np.median(sizes[true]), true),
        f1(sizes > 1e-3 * np.median(sizes[true]), true),
        "nothing protects gossip; it is refused with masks",
    )


# Ratings.


@cache
def ratings_of_a_single_user() -> Finding:
    """The ratings of a leaf with one user, from its first two messages."""
    leaf = tables(1)[LEAF]
    plain = fit_of(tables(1), masked=False)
    counts, total = plain.parts[0][:N_ITEMS], plain.parts[0][N_ITEMS + 1]
    centre = plain.totals[0][2] / plain.totals[0][0].sum()
    n_values = leaf.n_values
    items = np.flatnonzero(counts)
    # The first message of the fit: cost, factor gradient, bias gradient, Gram matrix.
    residuals = plain.parts[1][1 + 2 * N_ITEMS : 1 + 3 * N_ITEMS][items]
    weights_part = _own_prediction(plain, items)
    bias = (total - (centre + weights_part - residuals).sum()) / n_values
    stolen = centre + bias + weights_part - residuals
    masked = fit_of(tables(1), masked=True)
    words = next(part for part in masked.parts if is_data(part, 4) and part.size > 3 * N_ITEMS)
    received = words[1 + 4 + 1 + 2 * N_ITEMS :][items].astype(float)  # after the votes and the cost
    # The total without the attacker's own part is the leaf's and that of the third member.
    others = -(masked.totals[1][2] - _own_gradient(masked, tables(1)[1]))[items]
    # What is received, as far as it adds to what the total says anyway.
    slope = np.polyfit(others, received, 1)
    beyond = abs(correlation(received - np.polyval(slope, others), leaf.values))
    return Finding(
        "ratings of a leaf's only user",
        "correlation with the truth",
        correlation(stolen, leaf.values),
        correlation(others, leaf.values),
        f"{np.abs(stolen - leaf.values).max():.0e} stars off; totals of 31 users tell as much, "
        f"what is received adds {beyond:.2f}",
    )


def correlation(one: Array, other: Array) -> float:
    """Return Pearson's correlation coefficient."""
    return float(np.corrcoef(one, other)[0, 1])


def _own_gradient(heard: Heard, table: Ratings) -> Array:
    """Return the gradient of the item biases of the attacker's own table at the first point."""
    counts, _, total, _ = heard.totals[0]
    centre = float(total) / float(counts.sum())
    biases = np.zeros(table.n_items)
    model = BiasedModel(start_factors(heard), biases, centre, 10.0, 3.0)
    return gv.BiasedCompletionProblem(table).evaluate(model).bias_gradient


def _own_prediction(heard: Heard, items: Indices) -> Array:
    """Return A_i·w of the only user; the attacker solves for w by the gradient's rows e·w."""
    residuals = heard.parts[1][1 + 2 * N_ITEMS : 1 + 3 * N_ITEMS][items]
    rows = heard.parts[1][1 : 1 + 2 * N_ITEMS].reshape(N_ITEMS, 2)[items]
    largest = int(np.argmax(np.abs(residuals)))
    weights = rows[largest] / residuals[largest]
    return start_factors(heard)[items] @ weights


def start_factors(heard: Heard) -> Array:
    """Return the factors at the first point, which follow from the plan and the first total."""
    counts, _, total, squares = heard.totals[0]
    n_ratings = counts.sum()
    deviation = np.sqrt(float(squares) / n_ratings - (float(total) / n_ratings) ** 2)
    start = gv.Plan(N_ITEMS, 2, gv.networks.path(3), seed=1).start(0)
    return np.sqrt(N_ITEMS * deviation / np.sqrt(2.0)) * start


# Totals.


def member_plan(letters: str, seed: int, **options: object) -> GroupPlan:
    """Return the plan of some clinics."""
    what = learning("ratings", "map", regularization=3.0, lowest=0.5, highest=5.0)
    return GroupPlan.draft(cards(letters, ""), what, seed=seed, **options)  # type: ignore[arg-type]


def member_data(plan: GroupPlan, table: Ratings) -> MemberRatings:
    """Return a table as the data of a member."""
    items = Ids(pl.Series(plan.learning.catalogue))
    users = Ids(pl.Series([f"u{number}" for number in range(table.n_users)]))
    held = table.take_values(np.zeros(table.n_values, dtype=bool))
    return MemberRatings(plan.learning, len(plan.members), items, users, table, held)


def totals_of(plan: GroupPlan, data: Sequence[MemberRatings], n_sums: int = 3) -> list[list[Array]]:
    """Return the first totals of a run, as every member learns them."""
    run = plan.run_plan
    agents = [run.agent(number, one) for number, one in enumerate(data)]
    found: list[list[Array]] = []
    slot = 0
    with one_blas_thread():
        while len(found) < n_sums:
            inboxes = run.timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for _, ns in inboxes for n in ns}
            for receiver, senders in inboxes:
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
                entry = agents[receiver].log_entry()
                if entry and receiver == run.network.tree.root:
                    n_arrays = sum(name.isdecimal() for name in entry)
                    found.append([np.asarray(entry[str(k)], float) for k in range(n_arrays)])
            slot += 1
    return found


def with_singletons(seed: int) -> tuple[list[Ratings], int, float]:
    """Return three tables over 30 items of which one, the last, has a single rating; and that."""
    parts = [ratings_of(seed + house, 12, 29, 0.5) for house in range(3)]
    wide = [replace(part, n_items=30) for part in parts]
    first = wide[0]
    users = np.append(first.users_of_values(), 0)
    items = np.append(first.items, 29)
    values = np.append(first.values, 4.5)
    wide[0] = Ratings.from_arrays(users, items, values, n_users=12, n_items=30)
    return wide, 29, 4.5


@cache
def singleton_items() -> Finding:
    """The residual of the only rating of an item, and its user's weights, from the totals."""

    def recovered(min_support: int) -> float:
        parts, item, value = with_singletons(5)
        plan = member_plan("abc", 3, secrecy="masked", min_support=min_support)
        data = [member_data(plan, part) for part in parts]
        totals = totals_of(plan, data)
        counts = totals[0][0]
        assert counts[item] == 1.0
        _, factor_gradient, bias_gradient, _ = totals[2]
        residual = float(bias_gradient[item])
        if not residual:
            return 0.0
        # The user's weights follow, and with them what the model predicts but for the user's bias.
        weights = factor_gradient[item] / residual
        problem = data[0].problem({COUNTS: totals[0][0], "total.numbers": totals[0][1]})
        model = _first_model(plan, totals[1])
        assert isinstance(problem, gv.BiasedCompletionProblem)
        true_weights, true_bias = problem.solve(model)
        prediction = model.centre + true_bias[0] + model.factors[item] @ true_weights[0]
        true_residual = prediction - value
        exact = np.allclose(weights, true_weights[0], rtol=1e-6)
        return float(exact and abs(residual - true_residual) < 1e-9)

    return Finding(
        "residual and weights of an item's only rater",
        "recovered",
        recovered(1),
        recovered(5),
        "1 is exactly; with min_support = 5 the totals have zeros there",
    )


def _first_model(plan: GroupPlan, statistics: list[Array]) -> BiasedModel:
    counts, n_users, total, squares = statistics
    n_ratings = float(counts.sum())
    centre = float(total) / n_ratings
    deviation = float(np.sqrt(float(squares) / n_ratings - centre**2))
    summary = RatingStatistics(counts, float(n_users), centre, deviation)
    return first_model(plan.run_plan.start(0), summary, 3.0, 3.0)


@cache
def differencing_by_membership() -> Finding:
    """The part of a member that took part in one of two runs, by subtracting totals."""
    parts = [ratings_of(7 + house, 20, 30, 0.3) for house in range(4)]
    large, small = (member_plan(letters, 4, secrecy="masked") for letters in ("abcd", "abc"))
    with_all = totals_of(large, [member_data(large, part) for part in parts])
    without = totals_of(small, [member_data(small, part) for part in parts[:3]])
    other = member_plan("abc", 5, secrecy="masked")
    elsewhere = totals_of(other, [member_data(other, part) for part in parts[:3]])
    counts = np.bincount(parts[3].items, minlength=30)
    assert np.array_equal(with_all[0][0] - without[0][0], counts)  # whatever the seed
    # The gradient of the item biases at the first point. The centre depends on the members.
    apart = np.corrcoef(with_all[2][1].ravel() - without[2][1].ravel(), _own(large, parts[3]))
    new_start = np.corrcoef(with_all[2][1].ravel() - elsewhere[2][1].ravel(), _own(large, parts[3]))
    return Finding(
        "gradient of a member in one of two runs",
        "correlation with the truth",
        abs(float(apart[0, 1])),
        abs(float(new_start[0, 1])),
        "by another seed; counts and means are found all the same, of which join warns",
    )


def _own(plan: GroupPlan, part: Ratings) -> Array:
    """Return the factor gradient of a table at the first point."""
    counts = np.bincount(part.items, minlength=30).astype(float)
    squares = float(part.values @ part.values)
    statistics = [counts, np.array(part.n_users), part.values.sum(), np.array(squares)]
    model = _first_model(plan, [np.asarray(one) for one in statistics])
    return gv.BiasedCompletionProblem(part).evaluate(model).factor_gradient.ravel()


@cache
def linkage_of_two_runs() -> Finding:
    """Which of twenty houses in a second run is the one of the first, by what a leaf sends."""
    houses = [ratings_of(100 + house, 2, 200) for house in range(20)]
    rest = [ratings_of(2, 30, 200), ratings_of(3, 30, 200)]

    def first_part(house: int, masked: bool, run: str) -> Array:
        digest = hashlib.sha256(run.encode()).digest()
        found = fit_of([houses[house], *rest], masked=masked, digest=digest)
        if not masked:
            return found.parts[0]
        return next(part for part in found.parts if is_data(part, 4)).astype(float)

    def linked(masked: bool) -> float:
        earlier = [first_part(house, masked, f"first {house}") for house in range(20)]
        hits = 0
        for house in range(20):
            part = first_part(house, masked, f"second {house}")
            distances = [float(np.linalg.norm(part - one)) for one in earlier]
            hits += int(np.argmin(distances)) == house
        return hits / 20.0

    return Finding(
        "the same data in two runs, among 20 houses",
        "share linked",
        linked(masked=False),
        linked(masked=True),
        "1/20 is guessing",
    )


ATTACKS: tuple[Callable[[], Finding], ...] = (
    item_list_from_sums,
    item_list_from_gossip,
    ratings_of_a_single_user,
    singleton_items,
    differencing_by_membership,
    linkage_of_two_runs,
)
