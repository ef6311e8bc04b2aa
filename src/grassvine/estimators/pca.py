"""Decentralised PCA: principal components of samples that stay with the agents."""

import numbers
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from grassvine.averaging import DeEPCA
from grassvine.data import split_samples
from grassvine.engines import Engine
from grassvine.estimators.axes import incomplete_model, principal_axes, with_signs
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import feature_names, set_feature_attributes, set_run_attributes
from grassvine.estimators.owners import samples_and_owners, split_by_owner, without_owners
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.estimators.random_state import RandomState, as_seed
from grassvine.fits.convergence import warn_disagreement, warn_not_converged
from grassvine.fits.options import GOSSIP, Rho, as_engine, as_network, gossip_by_name
from grassvine.foundations.arrays import Array, refuse_huge
from grassvine.foundations.callers import stack_level
from grassvine.foundations.errors import DataError, Option, PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import SubspaceModel
from grassvine.networks import Network
from grassvine.problems import PCAProblem
from grassvine.protocol import Method, Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import Exact, IncompletePCA, IncompleteSamples

EXACT, DEEPCA = "exact", "deepca"
# Components are about as accurate as the relative gradient norm at which the descent stops.
TOLERANCE = 1e-13
# The number of components with which the search for a share of the variance begins.
FIRST_GUESS = 10
# Nobody minds fewer bytes than this, however few the samples have.
WORTH_A_WARNING = 10_000_000
CONSENSUS_SHARE = 1.0  # constant ρ of the paper's variants, as a multiple of an agent's squares


class DecentralizedPCA(
    CallbackSupport,
    PersistentEstimator,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Principal components, as in scikit-learn's ``PCA``, of samples divided among agents.

    The agents jointly fit the subspace. The axes within it and their variances follow from the
    covariance of the coordinates of all samples, which is a sum over agents of matrices of shape
    (n_components, n_components).

    Samples may have missing values, NaN, if ``method="exact"``. Then the agents first fit a factor
    model to the known values, the number of its factors being chosen on values that are held out;
    the components are those of the covariance expected under this model. Coordinates of samples
    with missing values are expected ones too, and ``impute`` replaces missing values.

    Parameters
    ----------
    n_components : int or float, default=2
        Number of components; or, between 0 and 1, the fraction of the variance to explain, with as
        many components as needed (``method="exact"`` only).
    method : str, default="exact"
        ``"exact"``: all agents obtain the components of the pooled samples. ``"deepca"``: the same
        in the limit, by averaging with neighbours. ``"gossip"`` or one of its variants
        ``"precon-stochastic"``, ``"stochastic"``, ``"precon-parallel"``, ``"parallel"``: pairwise
        exchanges. ``"tracked"`` or ``"rextra"``: averaging with neighbours.
    agents : int or str, default=1
        Number of agents, among which the samples are divided in their order; or the column of a
        data frame that names the owner of each sample, which is not a feature. Ignored if ``fit``
        gets ``owners`` or a list of tables.
    network : str or Network, default="ring"
        Name of a topology (``"ring"``, ``"path"``, ``"star"``, ``"grid"``, ``"complete"``,
        ``"exponential"``, ``"random"``), or a network of the given number of agents.
    center : bool, default=True
        Whether to subtract the mean of all samples. Otherwise, variances are mean squares.
    engine : {"local", "threads", "ray"} or Engine, default="local"
        Engine that runs the agents.
    rho : float or "auto", default="auto"
        For gossip: constant consensus weight ρ, as a multiple of the mean sum of squares per agent.
        With ``"auto"``, method ``"gossip"`` lets ρ grow during the run and starts all agents at
        one point, so that they reach consensus; for its variants, ρ is 1.
    max_iter : int, default=500
        Approximate number of updates per agent, and for DeEPCA their maximum; ignored by the exact
        method. With N > 8 agents, method ``"gossip"`` with ``rho="auto"`` makes N/8 times as many,
        because consensus takes longer on a larger network.
    random_state : int, RandomState or None, default=0
        Random seed; None draws a new one at each fit.
    verbose : int, default=0
        If 1, print a line per ten updates; if 2 or more, per update.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, in descending order of explained variance. The entry of each with the
        largest absolute value is positive.
    explained_variance_, explained_variance_ratio_ : array of shape (n_components,)
        Variance explained by each component, and its ratio to the total variance.
    mean_ : array of shape (n_features,)
        Mean of all samples; zero without centring.
    n_components_, n_samples_ : int
        Numbers of components and samples.
    owners_ : array
        Owner of the samples of each agent; numbers from 0 if none were named.
    model_ : SubspaceModel
        The fitted model.
    subspace_ : array of shape (n_features, n_components)
        Basis of the mean of the agents' subspaces; ``subspaces_`` has that of each agent.
    agreement_ : float
        Largest distance between the subspaces of two neighbours: the root of the sum of squared
        principal angles, in degrees.
    history_, network_, stop_reason_, n_iter_, messages_, bytes_
        Properties of the run.
    incidents_ : tuple of str
        Failures during the run that were recovered from, one sentence each.
    validation_path_ : dict of arrays or None
        If values were missing, the numbers of factors tried (``rank``), the held-out ``rmse`` and
        ``chosen`` (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from grassvine import DecentralizedPCA
    >>> X = load_iris().data
    >>> pca = DecentralizedPCA(2, agents=3).fit(X)
    >>> bool(np.abs(pca.components_ - PCA(2).fit(X).components_).max() < 1e-10)
    True
    >>> pca.transform(X).shape
    (150, 2)
    """

    _model_type: ClassVar[type] = SubspaceModel

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        method: str = EXACT,
        agents: int | str = 1,
        network: str | Network = "ring",
        center: bool = True,
        engine: str | Engine = "local",
        rho: Rho = "auto",
        max_iter: int = 500,
        random_state: RandomState = 0,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.method = method
        self.agents = agents
        self.network = network
        self.center = center
        self.engine = engine
        self.rho = rho
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None, *, owners: Any = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features), or list of them
            A list has one table per agent, all with the same features. Missing values are NaN.
        y : ignored
        owners : array-like of shape (n_samples,), optional
            Owner of each sample; there is one agent per owner.
        """
        X, owners = samples_and_owners(X, self.agents, owners)
        samples: Array = validate_data(
            self,
            X,
            dtype=np.float64,
            order="C",
            ensure_min_samples=2 if self.center else 1,
            ensure_all_finite="allow-nan",
        )
        has_missing = refuse_huge(samples, "samples")
        if not isinstance(self.center, bool | np.bool_):
            raise PlanError(f"center is {self.center!r}; pass True or False.")
        if has_missing:
            return self._fit_incomplete(samples, owners)
        mean = samples.mean(axis=0) if self.center else None
        problems = [PCAProblem(part, mean) for part in self._parts(samples, owners)]
        method = self._method(problems)
        result = self._run(problems, len(samples), method, self._slot_observers())
        if self.method in (EXACT, DEEPCA):
            warn_not_converged(result)
        else:
            warn_disagreement(result, problems)
        self._slots_done()
        set_run_attributes(self, result)
        _warn_sent_more(result.bytes, samples.nbytes)
        self.n_samples_ = len(samples)
        count = max(len(samples) - 1, 1)
        components, captured = self._axes(result, problems)
        names, total = feature_names(self), _squares(problems) / count
        mean = np.zeros(samples.shape[1]) if mean is None else mean
        self._set_model(SubspaceModel(names, mean, components, captured / count, total))
        return self

    def _fit_incomplete(self, samples: Array, owners: Any) -> Self:
        """Fit the components of samples with missing values."""
        if one_of("method", self.method, (EXACT, DEEPCA, *GOSSIP)) != EXACT:
            raise DataError(
                f"{np.count_nonzero(np.isnan(samples))} values of the samples are missing, which "
                f"method {self.method!r} does not support; fill them in, or use ",
                Option("method", EXACT),
                ".",
            )
        names = feature_names(self)
        empty = np.isnan(samples).all(axis=0)
        if empty.any():
            raise DataError(
                f"the feature {names[int(np.argmax(empty))]!r} has no values at all; remove it."
            )
        problems = [IncompleteSamples(part) for part in self._parts(samples, owners)]
        method = IncompletePCA(bool(self.center), self._share())
        result = self._run(problems, len(samples), method, self._slot_observers())
        warn_not_converged(result)
        self._slots_done()
        set_run_attributes(self, result)
        self.n_samples_ = len(samples)
        self._set_model(incomplete_model(names, result.states[0], len(samples)))
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates along the components, of shape (n_samples, n_components)."""
        return self.model_.transform(self._asked(X))

    def impute(self, X: Any) -> Array:
        """Return the samples with missing values, NaN, replaced by what the known ones imply."""
        return self.model_.impute(self._asked(X))

    def _asked(self, X: Any) -> Array:
        check_is_fitted(self, "model_")
        X = without_owners(X, self.agents)
        samples: Array = validate_data(
            self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
        )
        return samples

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator: samples may have missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def inverse_transform(self, X: Any) -> Array:
        """Return the samples with the given coordinates, of shape (n_samples, n_features)."""
        check_is_fitted(self, "model_")
        return self.model_.inverse_transform(check_array(X, dtype=np.float64, input_name="X"))

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _axes(self, result: Run, problems: Sequence[PCAProblem]) -> tuple[Array, Array]:
        """Return the components and the sums of squares along each, which the exact method has."""
        state = result.states[0]
        squares = state.get("squares", np.zeros(0))
        if len(squares) == state["basis"].shape[1]:
            axes = np.asarray(state["basis"], dtype=np.float64)
            return with_signs(axes), np.maximum(squares, 0.0)
        return principal_axes(self.subspace_, problems)

    def _parts(self, samples: Array, owners: Any) -> list[Array]:
        """Return the samples of each agent."""
        if owners is not None:
            parts, ids = split_by_owner(samples, owners)
            self.owners_ = ids.series.to_numpy()
            return parts
        why = f"there are {len(samples)} samples and each agent needs one"
        n_agents = whole_number("agents", self.agents, least=1, most=len(samples), why=why)
        self.owners_ = np.arange(n_agents)
        return split_samples(samples, n_agents)

    def _share(self) -> float:
        """Return the fraction of the variance to explain; 0 if a number of components is given."""
        given: object = self.n_components
        if not isinstance(given, numbers.Real) or isinstance(given, numbers.Integral):
            return 0.0
        if not 0.0 < float(given) < 1.0:
            raise PlanError(
                Option("n_components"),
                f" is {given!r}; pass the number of components as an int, or a fraction of the "
                "variance between 0 and 1.",
            )
        if self.method != EXACT:
            raise PlanError(
                Option("n_components"),
                f" is {given!r}, a fraction of the variance, which method {self.method!r} does not "
                "support; pass a number of components, or ",
                Option("method", EXACT),
                ".",
            )
        return float(given)

    def _run(
        self,
        problems: Sequence[PCAProblem | IncompleteSamples],
        n_samples: int,
        method: Method,
        observers: tuple[Observer, ...],
    ) -> Run:
        """Run the agents to fit the subspace."""
        n_features, share = problems[0].n_items, self._share()
        most = min(n_samples, n_features)
        why = f"{n_samples} samples of {n_features} features have at most {most}"
        rank = min(FIRST_GUESS, most)
        if not share:
            rank = whole_number("n_components", self.n_components, least=1, most=most, why=why)
        network = as_network(self.network, len(problems), method)
        plan = Plan(n_features, rank, network, method, seed=as_seed(self.random_state))
        observers = (*observers, *self._user_observers(method))
        return run(plan, problems, engine=as_engine(self.engine), observers=observers)

    def _method(self, problems: Sequence[PCAProblem]) -> Method:
        share, n_agents = self._share(), len(problems)
        name = one_of("method", self.method, (EXACT, DEEPCA, *GOSSIP))
        if name == EXACT:
            return Exact(tol=TOLERANCE, explained_variance_ratio=share)
        if name == DEEPCA and n_agents > 1:  # a single agent is rejected below, as for gossip
            return DeEPCA(self.max_iter)
        squares = _squares(problems)
        rho: Rho = "auto"
        if self.rho != "auto":
            rho = real_number("rho", self.rho, least=0.0) * squares / n_agents
        return gossip_by_name(
            name, rho, self.max_iter, n_agents, squares=squares, share=CONSENSUS_SHARE
        )

    def _set_model(self, model: SubspaceModel) -> None:
        self.model_ = model
        self.mean_ = model.mean
        self.components_ = np.ascontiguousarray(model.components.T)
        self.n_components_ = model.rank
        self.explained_variance_ = model.variances
        total = model.total_variance
        self.explained_variance_ratio_ = model.variances / (total if total > 0.0 else 1.0)

    def _take(self, model: SubspaceModel, *, named: bool) -> None:
        set_feature_attributes(self, model.features, named=named)
        self.subspace_ = model.components
        self._set_model(model)


def _squares(problems: Sequence[PCAProblem]) -> float:
    """Return the sum of squares of all samples."""
    return sum(problem.trace for problem in problems)


def _warn_sent_more(sent: int, held: int) -> None:
    """Warn if the agents sent clearly more than the size of all samples."""
    if sent > max(held, WORTH_A_WARNING):
        warnings.warn(
            f"the agents sent {sent / 1e6:.0f} MB, more than the {held / 1e6:.0f} MB of all "
            "samples; use fewer components, features or agents to send less.",
            UserWarning,
            stacklevel=stack_level(),
        )
