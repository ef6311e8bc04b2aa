"""Agents brought back: made anew and told what they learned, they go on with the same bits."""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

import grassvine as gv
from grassvine.averaging import REXTRA, DeEPCA, DLMaFit, Tracked
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import MessageError
from grassvine.foundations.seeds import stream
from grassvine.problems import Evaluation, Problem
from grassvine.protocol import Agent, Method, encode
from grassvine.protocol.agent import State
from grassvine.sums import (
    BayesianCompletionProblem,
    BayesianFactorization,
    BiasedFactorization,
    Validated,
)
from grassvine.sums.bayes.features import CoRatings

RANK = 3
# Five agents and rounds of two or four slots: one agent after the other, all meet every phase.
NETWORKS = {
    "path": gv.networks.path(5),
    "random": gv.networks.erdos_renyi(5, 0.6, seed=1),
    "star": gv.networks.star(5),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
RATINGS = gv.datasets.low_rank_ratings(20, 60, RANK, oversampling=3.0, noise=0.1, seed=11).ratings
TASKS = gv.datasets.subspace_tasks(12, 20, RANK, samples=(4, 20), noise=0.1, seed=11).tasks
SAMPLES = stream(0, "data", "samples of agents").standard_normal((60, 20)) * np.linspace(3, 1, 20)
# Of so many items that components take a Krylov space.
WIDE = stream(0, "data", "wide samples").standard_normal((60, 400)) * np.geomspace(3, 0.03, 400)


@dataclass(frozen=True)
class Unmeasured:
    """A user's own problem, whose squared error means nothing."""

    inner: gv.PCAProblem

    @property
    def n_items(self) -> int:
        return self.inner.n_items

    @property
    def n_values(self) -> int:
        return 0

    def evaluate(self, basis: Array) -> Evaluation:
        return replace(self.inner.evaluate(basis), squared_error=math.nan)

    def weights(self, basis: Array) -> Array:
        return self.inner.weights(basis)

    def hessian_product(self, basis: Array, direction: Array) -> Array:
        return self.inner.hessian_product(basis, direction)


def completion(n_agents: int, **options: float) -> list[Problem]:
    parts = gv.datasets.split_users(RATINGS, n_agents)
    return [gv.CompletionProblem(part, **options) for part in parts]  # type: ignore[arg-type]


def biased(n_agents: int) -> list[Problem]:
    return [gv.BiasedCompletionProblem(part) for part in gv.datasets.split_users(RATINGS, n_agents)]


def bayesian(n_agents: int) -> list[Problem]:
    return [BayesianCompletionProblem(part) for part in gv.datasets.split_users(RATINGS, n_agents)]


def multitask(n_agents: int) -> list[Problem]:
    return [
        gv.MultitaskProblem(part, alpha=0.1) for part in gv.datasets.split_tasks(TASKS, n_agents)
    ]


def components(n_agents: int) -> list[Problem]:
    return [gv.PCAProblem(part) for part in gv.datasets.split_samples(SAMPLES, n_agents)]


def wide_components(n_agents: int) -> list[Problem]:
    return [gv.PCAProblem(part) for part in gv.datasets.split_samples(WIDE, n_agents)]


def unmeasured(n_agents: int) -> list[Problem]:
    return [
        Unmeasured(gv.PCAProblem(part)) for part in gv.datasets.split_samples(SAMPLES, n_agents)
    ]


Problems = Callable[[int], list[Problem]]
penalised = partial(completion, unobserved=0.01)
# Coarse, so that they end soon.
SUMS: dict[str, tuple[Method, Problems]] = {
    "rank by rank": (gv.Exact(tol=1e-3), completion),
    "rank by rank, λ > 0": (gv.Exact(tol=1e-3), penalised),
    "from a start": (gv.Exact(tol=1e-3, by_rank=False), penalised),
    "tasks": (gv.Exact(tol=1e-3), multitask),
    "components": (gv.Exact(), wide_components),
    "own problem": (gv.Exact(tol=0.05), unmeasured),
    "biases": (BiasedFactorization(regularization=2.0, tol=1e-2), biased),
    "bayes": (BayesianFactorization(max_iter=4), bayesian),
    "bayes, ranks": (BayesianFactorization(ranks=(0, 2), max_iter=3), bayesian),
    "biases, auto": (BiasedFactorization(max_iter=5, tol=0.05), biased),
    "validated": (Validated(any_rank=True, n_iter_no_change=1, max_descent_iter=2), completion),
}
OTHERS: dict[str, tuple[Method, Problems]] = {
    "stochastic": (gv.gossip.stochastic(max_iter=40), penalised),
    "parallel, own clock": (
        replace(gv.gossip.precon_parallel(max_iter=40), clock="own"),
        multitask,
    ),
    "D-LMaFit": (DLMaFit(max_iter=40, max_omega=12.0), completion),
    "tracked": (Tracked(max_iter=3), penalised),
    "tracked to the end": (Tracked(tol=0.3, contraction=0.3), penalised),
    "REXTRA": (REXTRA(max_iter=25), penalised),
    "DeEPCA": (DeEPCA(tol=0.05, contraction=0.3), components),
}
FINISHING = {
    **SUMS,
    "tracked to the end": OTHERS["tracked to the end"],
    "DeEPCA": OTHERS["DeEPCA"],
}


class Company:
    """The agents of a plan, their log entries as files would keep them, and all that was heard."""

    def __init__(self, case: tuple[Method, Problems], network: gv.networks.Network):
        method, problems = case
        tasks = problems(network.n_agents)
        self.plan = gv.Plan(tasks[0].n_items, RANK, network, method, seed=3)
        self.factories = [partial(self.plan.agent, i, task) for i, task in enumerate(tasks)]
        self.agents: list[Agent] = [make() for make in self.factories]
        self.log_entries: list[list[bytes]] = [[] for _ in tasks]
        self.finished: set[int] = set()
        self.heard: list[Any] = []
        self.slot = 0

    def live(self) -> None:
        """Go through a slot in two phases."""
        mail = [agent.outgoing(self.slot) for agent in self.agents]
        self.heard += [encode(message) for message in mail]
        for receiver, senders in self.plan.timetable.inboxes(self.slot):
            agent = self.agents[receiver]
            report = agent.meet(self.slot, [mail[sender] for sender in senders])
            self.heard.append(repr(report))  # of floats it is exact, and NaN is like NaN
            self.log_entries[receiver].append(saved(agent.log_entry()))
            if report.finished:
                self.finished.add(receiver)
        self.slot += 1

    def go_on(self, past_the_end: int = 0) -> Iterator[int]:
        """Yield the slots that are over, to the end or some slots more."""
        left = past_the_end + 1
        while self.slot < self.plan.timetable.n_slots and left:
            self.live()
            yield self.slot
            left -= len(self.finished) == len(self.agents)

    def twin(self, number: int) -> Agent:
        """Bring an agent back."""
        agent = self.factories[number]()
        agent.restore(
            map(load, self.log_entries[number]), load(saved(self.agents[number].snapshot()))
        )
        return agent

    def stand(self, number: int) -> tuple[Any, ...]:
        """All that one may ask of an agent."""
        agent = self.agents[number]
        return (
            {name: array.tobytes() for name, array in agent.state().items()},
            {name: array.tobytes() for name, array in agent.snapshot().items()},
            repr(agent.conclude(10_000)),
        )

    def end(self) -> list[Any]:
        return [*self.heard, *map(self.stand, range(len(self.agents)))]


def saved(told: State) -> bytes:
    return bytes(save({name: np.array(array, order="C") for name, array in told.items()}))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield


def require_brought_back(case: tuple[Method, Problems], network: gv.networks.Network) -> None:
    """Run undisturbed, then restoring one agent after each slot, in turn.

    A restored agent replays all its log entries, so restoring after every slot is quadratic in
    their number: in a long run it is done at every slot near the ends, and at every 23rd between.
    """
    undisturbed, disturbed = Company(case, network), Company(case, network)
    for _ in undisturbed.go_on(past_the_end=9):
        pass
    for slot in disturbed.go_on(past_the_end=9):
        # 23 has no divisor in common with 5 agents nor with rounds of 2 or 4 slots.
        if min(slot, undisturbed.slot - slot) < 25 or slot % 23 == 0:
            number = slot % network.n_agents
            disturbed.agents[number] = disturbed.twin(number)
    assert disturbed.slot > 20
    assert disturbed.end() == undisturbed.end()


LONG = ("biases, auto", "validated")  # most of the time of this file on three networks
CASES = {**SUMS, **OTHERS}


@pytest.mark.parametrize(
    ("case", "network"),
    [
        pytest.param(
            case,
            network,
            id=f"{name}-{shape}",
            marks=[pytest.mark.slow] if name in LONG and shape != "random" else [],
        )
        for name, case in CASES.items()
        for shape, network in NETWORKS.items()
    ],
)
def test_an_agent_brought_back_at_any_slot_goes_on_with_the_same_bits(
    case: tuple[Method, Problems], network: gv.networks.Network
) -> None:
    require_brought_back(case, network)


@pytest.mark.parametrize("name", ["rank by rank", "from a start", "biases", "validated"])
def test_a_lone_agent_is_brought_back_too(name: str) -> None:
    require_brought_back(SUMS[name], gv.networks.path(1))


@every_network
@pytest.mark.parametrize("case", FINISHING.values(), ids=FINISHING)
def test_an_agent_that_reported_that_it_is_finished_does_not_move(
    case: tuple[Method, Problems], network: gv.networks.Network
) -> None:
    company = Company(case, network)
    stands: dict[int, tuple[Any, ...]] = {}
    for _ in company.go_on(past_the_end=9):
        for number in company.finished - set(stands):
            stands[number] = company.stand(number)
    assert sorted(stands) == list(range(network.n_agents))
    for number, stand in stands.items():
        assert company.stand(number) == stand


PASSES = {
    gv.CompletionProblem: ("evaluate", "hessian_product", "item_blocks", "weights"),
    gv.MultitaskProblem: ("evaluate", "hessian_product", "weights"),
    gv.PCAProblem: ("evaluate", "matrix_product", "matrix"),
    gv.BiasedCompletionProblem: ("evaluate", "solve"),
    BayesianCompletionProblem: ("evaluate", "solve", "variances"),
    CoRatings: ("rows",),
}


@pytest.mark.parametrize("case", SUMS.values(), ids=SUMS)
def test_sums_are_restored_without_a_pass_over_the_data(
    case: tuple[Method, Problems], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []

    def count(kind: type, name: str) -> None:
        right = getattr(kind, name)

        def counted(self: Any, *args: Any) -> Any:
            passes.append(name)
            return right(self, *args)

        monkeypatch.setattr(kind, name, counted)

    for kind, names in PASSES.items():
        for name in names:
            count(kind, name)
    company = Company(case, gv.networks.star(3))
    taken = []
    for slot in company.go_on():
        # A restored agent replays all log entries, so late slots cost more.
        if slot > 12 and slot % 5 and len(company.finished) < 3:
            continue
        twin = company.factories[1]()
        snapshot = company.agents[1].snapshot()
        passes.clear()
        twin.restore(map(load, company.log_entries[1]), snapshot)
        taken.append(len(passes))
    assert len(taken) > 10
    # The part of the sum under way: the cost, and the error at the held-out entries.
    assert max(taken) <= 2
    assert taken[-1] == 0  # nothing is under way at the end


def test_lessons_are_taken_one_at_a_time() -> None:
    for case in (SUMS["rank by rank"], OTHERS["REXTRA"]):
        company = Company(case, gv.networks.path(3))
        for _ in company.go_on():
            pass
        held: list[weakref.ref[Any]] = []

        def told(company: Company = company, held: list[Any] = held) -> Iterator[State]:
            for log_entry in map(load, company.log_entries[0]):
                assert sum(reference() is not None for reference in held) <= 1
                held[:] = [weakref.ref(array) for array in list(log_entry.values())[:1]]
                yield log_entry

        company.factories[0]().restore(told(), company.agents[0].snapshot())


# What is refused

Lessons = list[dict[str, Any]]
Memory = dict[str, Any]


def drop_a_name(log_entries: Lessons, snapshot: Memory) -> None:
    del snapshot[min(snapshot)]


def add_a_name(log_entries: Lessons, snapshot: Memory) -> None:
    snapshot["other"] = np.zeros(1)


def reshape(log_entries: Lessons, snapshot: Memory) -> None:
    snapshot.update({name: np.append(array, 1.0) for name, array in snapshot.items()})


def forget_a_number(log_entries: Lessons, snapshot: Memory) -> None:
    name = max(snapshot, key=lambda name: snapshot[name].size)
    snapshot[name] = snapshot[name].astype(np.float64)
    snapshot[name].ravel()[-1] = np.nan


def count_otherwise(log_entries: Lessons, snapshot: Memory) -> None:
    snapshot["updates"] = -snapshot["updates"] - 1


def lose_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    del log_entries[len(log_entries) // 2]


def lose_the_last_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    del log_entries[-1]


def repeat_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    log_entries.append(log_entries[-1])


def exchange_lessons(log_entries: Lessons, snapshot: Memory) -> None:
    log_entries[-1], log_entries[-2] = log_entries[-2], log_entries[-1]


def alter_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    longest = max(log_entries[-1].values(), key=np.size)
    longest.ravel()[0] *= 1.0 + 1e-9


def spoil_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    longest = max(log_entries[-1].values(), key=np.size)
    longest.ravel()[0] = np.nan


def reshape_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    log_entries[0] = {name: array[..., None] for name, array in log_entries[0].items()}


def rename_in_a_lesson(log_entries: Lessons, snapshot: Memory) -> None:
    log_entries[0]["other"] = log_entries[0].pop(min(log_entries[0]))


IN_MEMORY = (drop_a_name, add_a_name, reshape, forget_a_number, count_otherwise)
IN_LESSONS = (
    lose_a_lesson,
    lose_the_last_lesson,
    repeat_a_lesson,
    exchange_lessons,
    alter_a_lesson,
    spoil_a_lesson,
    reshape_a_lesson,
    rename_in_a_lesson,
)
TAUGHT = ("rank by rank", "components", "biases, auto", "validated", "tracked", "REXTRA", "DeEPCA")


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        *((name, spoil) for name in ("stochastic", "D-LMaFit") for spoil in IN_MEMORY),
        *((name, spoil) for name in TAUGHT for spoil in (*IN_MEMORY, *IN_LESSONS)),
    ],
)
def test_what_cannot_have_been_is_refused(name: str, spoil: Callable[..., None]) -> None:
    company = Company({**SUMS, **OTHERS}[name], gv.networks.path(3))
    for _ in company.go_on():
        if company.slot == 18:
            break
    snapshot: Memory = dict(load(saved(company.agents[1].snapshot())))
    log_entries: Lessons = [
        dict(log_entry) for log_entry in map(load, company.log_entries[1]) if log_entry
    ]
    company.factories[1]().restore(log_entries, snapshot)  # as they are, they are right
    spoil(log_entries, snapshot)
    with pytest.raises(MessageError, match=r"agent 1.*; (pass|omit)"):
        company.factories[1]().restore(log_entries, snapshot)


def test_lessons_for_an_agent_that_has_none_are_refused() -> None:
    for name in ("stochastic", "D-LMaFit"):
        company = Company(OTHERS[name], gv.networks.path(3))
        log_entries: Sequence[State] = [{}, {"0": np.zeros(2)}]
        with pytest.raises(MessageError, match="is restored from its snapshot alone; pass"):
            company.factories[1]().restore(log_entries, company.agents[1].snapshot())


def test_a_basis_that_is_none_is_refused() -> None:
    company = Company(OTHERS["stochastic"], gv.networks.path(3))
    snapshot = {**company.agents[1].snapshot(), "basis": np.ones((20, RANK))}
    with pytest.raises(
        MessageError, match="'basis' in the snapshot of agent 1 are not orthonormal"
    ):
        company.factories[1]().restore([], snapshot)


def test_who_has_to_pass_a_sum_on_does_so_before_it_computes() -> None:
    company = Company(SUMS["rank by rank"], gv.networks.path(5))
    n_prepared = 0
    for slot, _ in enumerate(company.go_on()):
        deliveries = company.plan.timetable.deliveries(slot + 1)
        senders = {sender for sender, _ in deliveries if slot % 4 in (1, 2)}  # down, next
        ready = [agent for agent in company.agents if agent.precompute(slot + 1)]
        assert not senders & {agent.id for agent in ready}
        for agent in ready:
            before = repr(agent.state())
            action = agent.precompute(slot + 1)
            assert action is not None
            action()
            assert repr(agent.state()) == before
            assert agent.precompute(slot + 1) is None
            n_prepared += 1
    assert n_prepared > 20


@pytest.mark.parametrize("name", ["tracked", "REXTRA", "DeEPCA"])
def test_a_log_entry_of_an_agent_that_does_not_exist_is_refused(name: str) -> None:
    company = Company(OTHERS[name], gv.networks.path(3))
    next(iter(company.go_on()))
    entry = dict(load(company.log_entries[1][0]))
    entry["senders"] = np.array([0, 10**6])
    with pytest.raises(
        MessageError, match=r"cannot replay log entry 0 of agent 1 .*; pass the log"
    ):
        company.factories[1]().restore([entry], company.agents[1].snapshot())
