"""Related regressions, fitted by agents that keep their samples."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from grassvine.data import Tasks, split_tasks
from grassvine.data.split import hold_out_samples
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import feature_names, set_run_attributes
from grassvine.estimators.random_state import RandomState, as_seed
from grassvine.estimators.tasks import TasksRegressor, means_and_scales, standardised, task_ids
from grassvine.fits.convergence import warn_disagreement, warn_not_converged
from grassvine.fits.options import (
    GOSSIP,
    Rho,
    as_engine,
    as_network,
    gossip_by_name,
    number_or_auto,
    with_checkpoint_subfolder,
)
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, Option, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import FeaturePart, PriorPart, TasksModel
from grassvine.models.tasks.model import grouped
from grassvine.models.tasks.parts import centred
from grassvine.models.unknown import OnUnknown
from grassvine.networks import Network
from grassvine.problems import MultitaskProblem
from grassvine.protocol import Method, Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import CoefficientPrior, EmpiricalBayes, Exact, HierarchicalProblem
from grassvine.sums.hierarchical.fit import default_rank

BAYES, EXACT = "bayes", "exact"
FIRST_RANK = 3  # of the subspace by the paper's methods, if none is given
CONSENSUS_SHARE = 10.0  # constant ρ of the paper's variants, as a multiple of an agent's squares
HELD_OUT = 0.2  # fraction of each task's samples used to choose the rank

TasksProblem: TypeAlias = MultitaskProblem | HierarchicalProblem


class MultitaskRegressor(CallbackSupport, TasksRegressor):
    r"""Regressions y ≈ b_t + zᵀw_t of many tasks t that have much in common.

    By default (``method="bayes"``) the coefficients of all tasks, with their intercepts, come from
    one normal distribution. Its mean and covariance and the noise are learned from all tasks by
    empirical Bayes, so there is nothing to choose: tasks that are alike are treated as one, and
    tasks with nothing in common separately. Predictions have standard deviations.

    The other methods are those of the paper: the weights of all tasks lie in a subspace U of a
    given rank, y ≈ b_t + zᵀUw_t, and those of each are shrunk by ridge regression.

    Parameters
    ----------
    rank : int, "auto" or None, default=None
        With ``method="bayes"``, the number of directions in ``subspace_``, which does not affect
        predictions; all by default, or 10 of more than 200 features. Otherwise the dimension of U,
        3 by default; ``"auto"`` tries 1, 2, 4, … until the error on held-out samples rises.
    method : str, default="bayes"
        ``"bayes"`` or ``"exact"``: all agents obtain the result of a fit to the pooled samples, of
        normally distributed coefficients or of coefficients in a subspace. For the latter, also
        variants of gossip: ``"gossip"``, ``"precon-stochastic"``, ``"stochastic"``,
        ``"precon-parallel"``, ``"parallel"``; and ``"tracked"`` or ``"rextra"``: averaging with
        neighbours.
    agents : int or "tasks", default=1
        Number of agents, among which the tasks are divided in the order of their ids; ``"tasks"``
        means one agent per task.
    network : str or Network, default="ring"
        Name of a topology (``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``), or a network of the given number of agents.
    alpha : float, default=1.0
        Regularisation strength λ of the term ½λ‖w_t‖² of each task, as in scikit-learn's ``Ridge``.
        With standardised features it has the weight of λ samples, whatever the unit of the targets.
        Ignored by method ``"bayes"``.
    fit_intercept : bool, default=True
        Whether each task has an intercept b_t.
    standardize : bool, default=True
        Whether to divide features by their standard deviation over all samples; without
        intercepts, features are not centred and are divided by their root mean square.
    engine : {"local", "threads", "ray"} or Engine, default="local"
        Engine that runs the agents.
    rho : float or "auto", default="auto"
        For gossip: constant consensus weight ρ, as a multiple of the mean sum of squared targets
        per agent. With ``"auto"``, method ``"gossip"`` lets ρ grow during the run and starts all
        agents at one point, so that they reach consensus; for its variants, ρ is 10.
    max_iter : int, default=200
        Approximate number of updates per agent; ignored by the exact methods. With N > 8 agents,
        method ``"gossip"`` with ``rho="auto"`` makes N/8 times as many, because consensus takes
        longer on a larger network.
    on_unknown : {"warn", "fallback", "nan", "raise"}, default="warn"
        How to treat unknown tasks: ``"fallback"`` predicts what is expected of a new task (with the
        other methods, the mean of the predictions of all known tasks), ``"warn"`` does the same
        with one warning that counts the samples, ``"nan"`` predicts NaN, and ``"raise"`` raises an
        error.
    random_state : int, RandomState or None, default=0
        Random seed; None draws a new one at each fit.
    verbose : int, default=0
        If 1, print a line per ten updates; if 2 or more, per update.

    Attributes
    ----------
    model_ : TasksModel
        The fitted model: the shared part and the weights of each task.
    tasks_ : array
        Ids of the known tasks.
    subspace_ : array of shape (n_features, rank)
        U, an orthonormal basis in standardised features; with ``method="bayes"`` the directions in
        which the weights of tasks vary most. ``subspaces_`` has that of each agent.
    rank_ : int
        Dimension of the subspace.
    agreement_ : float
        Largest distance between the subspaces of two neighbours: the root of the sum of squared
        principal angles, in degrees.
    history_, network_, stop_reason_, n_iter_, messages_, bytes_
        Properties of the final run; runs to choose the rank are not included.
    incidents_ : tuple of str
        Failures during the final run that were recovered from, one sentence each.
    validation_path_ : dict of arrays or None
        The ranks that ``"auto"`` tried: ``rank``, the held-out ``rmse`` and ``chosen`` (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from grassvine import MultitaskRegressor
    >>> from grassvine.datasets import subspace_tasks
    >>> data = subspace_tasks(5, 12, rank=2)
    >>> X, y = np.vstack(data.tasks.features), np.concatenate(data.tasks.targets)
    >>> schools = np.repeat(np.arange(12), [len(targets) for targets in data.tasks.targets])
    >>> model = MultitaskRegressor(agents=3).fit(X, y, tasks=schools)
    >>> bool(model.score(X, y, tasks=schools) > 0.99)
    True
    """

    def __init__(
        self,
        rank: int | Literal["auto"] | None = None,
        *,
        method: str = BAYES,
        agents: int | str = 1,
        network: str | Network = "ring",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        engine: str | Engine = "local",
        rho: Rho = "auto",
        max_iter: int = 200,
        on_unknown: OnUnknown = "warn",
        random_state: RandomState = 0,
        verbose: int = 0,
    ):
        self.rank = rank
        self.method = method
        self.agents = agents
        self.network = network
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.engine = engine
        self.rho = rho
        self.max_iter = max_iter
        self.on_unknown = on_unknown
        self.random_state = random_state
        self.verbose = verbose

    @fit_with_callbacks
    def fit(self, X: Any, y: ArrayLike, tasks: Any = None) -> Self:
        """Fit what tasks have in common, and the weights of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        tasks : list, array or series of ids, optional
            The task of each sample; by default, all samples belong to one task.
        """
        samples, targets = self._checked(X, y, reset=True)
        ids = task_ids(tasks, len(samples))
        means, scales = means_and_scales(
            samples, standardize=self.standardize, shift=self.fit_intercept
        )
        scaled = standardised(grouped(samples, targets, ids)[1], means, scales)
        seed = as_seed(self.random_state)
        self.rank_, path = self._rank(scaled, seed)
        engine, observers = as_engine(self.engine), self._slot_observers()
        problems = self._problems(scaled)
        result = self._run(problems, self.rank_, seed, engine, observers)
        if self.method in (BAYES, EXACT):
            warn_not_converged(result)
        else:
            warn_disagreement(result, problems)
        self._slots_done()
        set_run_attributes(self, result)
        self.validation_path_ = path
        shared = self._shared_part(result, means, scales)
        self.subspace_ = shared.basis
        self._set_model(TasksModel(shared).fold_in(samples, targets, ids))
        return self

    def _shared_part(self, result: Run, means: Array, scales: Array) -> FeaturePart | PriorPart:
        """Return what the tasks have in common, from the state of any agent."""
        names = feature_names(self)
        if self.method == BAYES:
            prior = CoefficientPrior.from_arrays(result.states[0])
            return PriorPart(names, means, scales, prior, self.rank_)
        alpha = real_number("alpha", self.alpha, least=0.0)
        return FeaturePart(names, result.mean, means, scales, alpha, bool(self.fit_intercept))

    def _rank(self, scaled: Tasks, seed: int) -> tuple[int, Mapping[str, Array] | None]:
        """Return the rank, and the candidates if it was chosen among some."""
        n_features = scaled.n_items
        if self.rank is None:
            default = default_rank(n_features) if self.method == BAYES else FIRST_RANK
            return min(default, n_features), None
        number_or_auto("rank", self.rank, "an integer")
        if self.rank == "auto":
            return self._chosen_rank(scaled, seed)
        why = f"there are {n_features} features"
        return whole_number("rank", self.rank, least=1, most=n_features, why=why), None

    def _chosen_rank(self, scaled: Tasks, seed: int) -> tuple[int, Mapping[str, Array]]:
        """Return the last of the ranks 1, 2, 4, … before the held-out error rises, and the path.

        The rank need not exceed the number of tasks.
        """
        if self.method == BAYES:
            raise PlanError(
                Option("method", BAYES), " chooses no rank; omit ", Option("rank"), ", or give one."
            )
        train, held = hold_out_samples(scaled, HELD_OUT, seed=seed)
        if not held.n_values:
            raise DataError(
                Option("rank", "auto"),
                f" holds out {HELD_OUT:.0%} of each task's samples, but every task has "
                "too few (1 or 2 samples); choose a rank.",
            )
        most = min(scaled.n_items, scaled.n_tasks)
        problems = self._problems(train)
        best, lowest, errors = 1, np.inf, {}
        for rank in [*(1 << k for k in range(most.bit_length()) if 1 << k < most), most]:
            engine = with_checkpoint_subfolder(as_engine(self.engine), f"choosing-rank-{rank}")
            basis = self._run(problems, rank, seed, engine).mean
            errors[rank] = error = self._error(basis, train, held)
            if error >= lowest:
                break
            best, lowest = rank, error
        ranks = np.array(list(errors), dtype=float)
        rmse = np.sqrt(np.array(list(errors.values())) / held.n_values)
        return best, {"rank": ranks, "rmse": rmse, "chosen": (ranks == best).astype(float)}

    def _error(self, basis: Array, train: Tasks, held: Tasks) -> float:
        """Return the sum of squared errors on held-out samples of all tasks."""
        zero, one = np.zeros(len(basis)), np.ones(len(basis))
        names = feature_names(self)
        shared = FeaturePart(names, basis, zero, one, self.alpha, bool(self.fit_intercept))
        weights, intercepts = shared.solve(train)
        return sum(
            float(np.sum((x @ (basis @ w) + b - y) ** 2))
            for x, y, w, b in zip(held.features, held.targets, weights, intercepts, strict=True)
        )

    def _problems(self, scaled: Tasks) -> Sequence[TasksProblem]:
        """Return the problem of each agent."""
        n_agents = self._n_agents(scaled.n_tasks)
        if self.method == BAYES:
            intercepts = bool(self.fit_intercept)
            return [HierarchicalProblem(part, intercepts) for part in split_tasks(scaled, n_agents)]
        fitted = centred(scaled) if self.fit_intercept else scaled
        return [MultitaskProblem(part, self.alpha) for part in split_tasks(fitted, n_agents)]

    def _run(
        self,
        problems: Sequence[TasksProblem],
        rank: int,
        seed: int,
        engine: Engine,
        observers: tuple[Observer, ...] = (),
    ) -> Run:
        """Run the agents to fit a subspace of the given rank."""
        targets = [y for problem in problems for y in problem.tasks.targets]
        method = self._method(len(problems), sum(float(y @ y) for y in targets))
        network = as_network(self.network, len(problems), method)
        plan = Plan(problems[0].n_items, rank, network, method, seed=seed)
        observers = (*observers, *self._user_observers(method))
        return run(plan, problems, engine=engine, observers=observers)

    def _n_agents(self, n_tasks: int) -> int:
        if isinstance(self.agents, str):
            if self.agents != "tasks":
                raise PlanError(
                    Option("agents"),
                    f" is {self.agents!r}; use a number, or 'tasks' for one agent per task.",
                )
            return n_tasks
        why = f"there are {n_tasks} tasks and each agent needs one"
        return whole_number("agents", self.agents, least=1, most=n_tasks, why=why)

    def _method(self, n_agents: int, squares: float) -> Method:
        name = one_of("method", self.method, (BAYES, EXACT, *GOSSIP))
        if name == BAYES:
            return EmpiricalBayes()
        if name == EXACT:
            return Exact(tol=1e-10)
        rho: Rho = "auto"
        number_or_auto("rho", self.rho)
        if self.rho != "auto":
            rho = real_number("rho", self.rho, least=0.0) * squares / n_agents
        return gossip_by_name(
            name, rho, self.max_iter, n_agents, squares=squares, share=CONSENSUS_SHARE
        )
