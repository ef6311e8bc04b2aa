"""Many related regressions whose weights share a subspace, learned by agents that keep theirs."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from grassvine.data import Tasks, split_tasks
from grassvine.data.split import hold_out_samples
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import feature_names, set_run_attributes, warn_not_converged
from grassvine.estimators.options import (
    GOSSIP,
    RandomState,
    as_engine,
    as_network,
    as_seed,
    gossip_by_name,
    kept_apart,
)
from grassvine.estimators.tasks import TasksRegressor, as_seen, ids_or_one, standards
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import FeaturePart, TasksModel
from grassvine.models.tasks import centred, grouped
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.problems import MultitaskProblem
from grassvine.protocol import Method, Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import Exact

EXACT = "exact"
HELD_OUT = 0.2  # the share of each task's samples on which a rank is judged


class MultitaskRegressor(CallbackSupport, TasksRegressor):
    r"""Regressions y ≈ b_t + zᵀUw_t of many tasks t, the subspace U being common to all.

    Parameters
    ----------
    rank : int or "auto"
        The dimension of U. ``"auto"`` tries 1, 2, 4, … until the error on held-out samples rises.
    method : str
        ``"exact"``: all agents end with what one owner of all samples would find. Or a variant of
        gossip: ``"gossip"``, ``"precon-stochastic"``, ``"stochastic"``, ``"precon-parallel"``,
        ``"parallel"``, ``"tracked"``, ``"rextra"``.
    agents : int or "tasks"
        Among how many agents the tasks are divided, in the order of their ids; ``"tasks"`` is one
        agent a task.
    network : str or Network
        Who is linked to whom: a shape by its name, or a network of so many agents.
    alpha : float
        Regularisation strength λ of the term ½λ‖w_t‖² of each task, as in scikit-learn's ``Ridge``.
        On standardised features it weighs as much as λ samples, whatever the unit of the targets.
    fit_intercept : bool
        Whether each task has an intercept b_t of its own.
    standardise : bool
        Whether features are divided by their standard deviation over all samples; without
        intercepts by their root mean square, and then they are not shifted.
    engine : str or Engine
        Where agents run: ``"local"``, ``"threads"`` or ``"ray"``.
    rho : float
        For gossip: the weight of agreement against the tasks, as a multiple of the mean agent's sum
        of squared targets.
    max_iter : int
        For gossip: about how many updates each agent makes.
    on_unknown : {"raise", "nan", "fallback"}
        What to predict for tasks that are not known; ``"fallback"`` is the mean of the known ones.
    random_state : int, RandomState or None
        Random seed; None draws another one at each fit.

    Attributes
    ----------
    model_ : TasksModel
        What was learned: the shared part and the weights of each task.
    tasks_ : array
        The ids of the known tasks.
    subspace_ : features×rank array
        U, orthonormal, of standardised features; ``subspaces_`` has that of each agent.
    rank_ : int
        Its dimension.
    agreement_ : float
        The largest angle between two linked agents, in degrees.
    history_, network_, stop_reason_, n_iter_, messages_, bytes_
        What the run tells; runs that chose the rank are not part of it.
    incidents_ : tuple of str
        What was lost in that run and done again, a sentence each.
    """

    def __init__(
        self,
        rank: int | Literal["auto"] = 3,
        *,
        method: str = EXACT,
        agents: int | str = 1,
        network: str | Network = "ring",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        standardise: bool = True,
        engine: str | Engine = "local",
        rho: float = 10.0,
        max_iter: int = 200,
        on_unknown: OnUnknown = "raise",
        random_state: RandomState = 0,
    ):
        self.rank = rank
        self.method = method
        self.agents = agents
        self.network = network
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardise = standardise
        self.engine = engine
        self.rho = rho
        self.max_iter = max_iter
        self.on_unknown = on_unknown
        self.random_state = random_state

    @fit_with_callbacks
    def fit(self, X: Any, y: ArrayLike, tasks: Any = None) -> Self:
        """Learn the common subspace and the weights of each task.

        Parameters
        ----------
        X : samples×features
        y : array, one a sample
        tasks : list, array or series of ids, optional
            The task of each sample; without it all are of one.
        """
        samples, targets = self._checked(X, y, reset=True)
        ids = ids_or_one(tasks, len(samples))
        means, scales = standards(samples, standardise=self.standardise, shift=self.fit_intercept)
        seen = as_seen(grouped(samples, targets, ids)[1], means, scales)
        seed = as_seed(self.random_state)
        self.rank_ = self._rank(seen, seed)
        engine, observers = as_engine(self.engine), self._slot_observers()
        result = self._run(seen, self.rank_, seed, engine, observers)
        if self.method == EXACT:
            warn_not_converged(result)
        self._slots_done()
        set_run_attributes(self, result)
        shared = FeaturePart(
            feature_names(self),
            self.subspace_,
            means,
            scales,
            real_number("alpha", self.alpha, least=0.0),
            bool(self.fit_intercept),
        )
        self._know(TasksModel(shared).fold_in(samples, targets, ids))
        return self

    def _rank(self, seen: Tasks, seed: int) -> int:
        if self.rank == "auto":
            return self._chosen_rank(seen, seed)
        if isinstance(self.rank, str):  # type: ignore[unreachable]
            raise PlanError(f"rank is {self.rank!r}; give a whole number, or 'auto'.")
        why = f"there are {seen.n_items} features"
        return whole_number("rank", self.rank, least=1, most=seen.n_items, why=why)

    def _chosen_rank(self, seen: Tasks, seed: int) -> int:
        """Return the last of the ranks 1, 2, 4, … before the held-out error rises.

        More dimensions than tasks are of no use.
        """
        train, held = hold_out_samples(seen, HELD_OUT, seed=seed)
        if not held.n_values:
            raise DataError(
                f"rank='auto' holds out {HELD_OUT:.0%} of each task's samples, and every task has "
                "too few (1 sample or 2); choose a rank."
            )
        most = min(seen.n_items, seen.n_tasks)
        best, least = 1, np.inf
        for rank in [*(1 << k for k in range(most.bit_length()) if 1 << k < most), most]:
            engine = kept_apart(as_engine(self.engine), f"choosing-rank-{rank}")
            basis = self._run(train, rank, seed, engine).mean
            if (error := self._error(basis, train, held)) >= least:
                break
            best, least = rank, error
        return best

    def _error(self, basis: Array, train: Tasks, held: Tasks) -> float:
        """Return the squared error on held-out samples, a sum over all tasks."""
        zero, one = np.zeros(len(basis)), np.ones(len(basis))
        names = feature_names(self)
        shared = FeaturePart(names, basis, zero, one, self.alpha, bool(self.fit_intercept))
        weights, intercepts = shared.solve(train)
        return sum(
            float(np.sum((x @ (basis @ w) + b - y) ** 2))
            for x, y, w, b in zip(held.features, held.targets, weights, intercepts, strict=True)
        )

    def _run(
        self,
        seen: Tasks,
        rank: int,
        seed: int,
        engine: Engine,
        observers: tuple[Observer, ...] = (),
    ) -> Run:
        """Let the agents learn a subspace of so many dimensions."""
        fitted = centred(seen) if self.fit_intercept else seen
        parts = split_tasks(fitted, self._n_agents(fitted.n_tasks))
        network = as_network(self.network, len(parts))
        method = self._method(len(parts), sum(float(y @ y) for y in fitted.targets))
        plan = Plan(fitted.n_items, rank, network, method, seed=seed)
        problems = [MultitaskProblem(part, self.alpha) for part in parts]
        return run(plan, problems, engine=engine, observers=observers)

    def _n_agents(self, n_tasks: int) -> int:
        if isinstance(self.agents, str):
            if self.agents != "tasks":
                raise PlanError(
                    f"agents is {self.agents!r}; give a whole number, or 'tasks' for one a task."
                )
            return n_tasks
        why = f"there are {n_tasks} tasks and each agent needs one"
        return whole_number("agents", self.agents, least=1, most=n_tasks, why=why)

    def _method(self, n_agents: int, energy: float) -> Method:
        name = one_of("method", self.method, (EXACT, *GOSSIP))
        if name == EXACT:
            return Exact(tol=1e-10)
        rho = real_number("rho", self.rho, least=0.0) * energy / n_agents
        return gossip_by_name(name, rho, self.max_iter, n_agents)
