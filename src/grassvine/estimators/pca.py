"""Principal components of samples that agents keep."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from grassvine.averaging import DeEPCA
from grassvine.data import split_samples
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import (
    feature_names,
    set_feature_attributes,
    set_run_attributes,
    warn_not_converged,
)
from grassvine.estimators.options import (
    GOSSIP,
    RandomState,
    as_engine,
    as_network,
    as_seed,
    gossip_by_name,
)
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import one_of, real_number, whole_number
from grassvine.models import SubspaceModel
from grassvine.networks import Network
from grassvine.problems import PCAProblem
from grassvine.protocol import Method, Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import Exact

EXACT, DEEPCA = "exact", "deepca"
# Components are known to about the share of the first gradient at which the descent ends.
TOLERANCE = 1e-13


class DecentralizedPCA(
    CallbackSupport,
    PersistentEstimator,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Principal components, as scikit-learn's ``PCA`` finds them, of samples that agents hold.

    Agents learn the subspace together; within it the covariance of all samples, a sum of matrices
    as small as the number of components, tells the axes and what each explains.

    Parameters
    ----------
    n_components : int
        How many components.
    method : str
        ``"exact"``: all agents end with what one owner of all samples would find. ``"deepca"``: the
        same in the limit, by averages with neighbours. Or a variant of gossip: ``"gossip"``,
        ``"precon-stochastic"``, ``"stochastic"``, ``"precon-parallel"``, ``"parallel"``,
        ``"tracked"``, ``"rextra"``.
    agents : int
        Among how many agents the samples are divided, in their order.
    network : str or Network
        Who is linked to whom: a shape by its name, or a network of so many agents.
    center : bool
        Whether the mean of all samples is subtracted. Without that, variances are about 0.
    engine : str or Engine
        Where agents run: ``"local"``, ``"threads"`` or ``"ray"``.
    rho : float
        For gossip: the weight of agreement against the samples, as a multiple of the mean agent's
        sum of squares.
    max_iter : int
        For gossip and DeEPCA: about how many updates each agent makes; DeEPCA at most.
    random_state : int, RandomState or None
        Random seed; None draws another one at each fit.

    Attributes
    ----------
    components_ : components×features array
        Orthonormal; the first explains most. The largest entry of each is positive.
    explained_variance_, explained_variance_ratio_ : arrays
        What each component explains, as a variance and as a share.
    mean_ : array
        The mean of all samples; zero without centring.
    n_components_, n_samples_ : int
        How many.
    model_ : SubspaceModel
        What was learned.
    subspace_ : features×components array
        A basis of the mean of the agents' subspaces; ``subspaces_`` has that of each agent.
    agreement_ : float
        The largest angle between two linked agents, in degrees.
    history_, network_, stop_reason_, n_iter_, messages_, bytes_
        What the run tells.
    incidents_ : tuple of str
        What was lost on the way and done again, a sentence each.
    """

    _model_type: ClassVar[type] = SubspaceModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str = EXACT,
        agents: int = 1,
        network: str | Network = "ring",
        center: bool = True,
        engine: str | Engine = "local",
        rho: float = 1.0,
        max_iter: int = 500,
        random_state: RandomState = 0,
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

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the components of samples; y is not used."""
        samples: Array = validate_data(
            self, X, dtype=np.float64, order="C", ensure_min_samples=2 if self.center else 1
        )
        rank = self._rank(samples)
        if not isinstance(self.center, bool | np.bool_):
            raise PlanError(f"center is {self.center!r}; give True or False.")
        mean = samples.mean(axis=0) if self.center else np.zeros(samples.shape[1])
        rest = samples - mean
        result = self._run(rest, rank, self._slot_observers())
        if self.method in (EXACT, DEEPCA):
            warn_not_converged(result)
        self._slots_done()
        set_run_attributes(self, result)
        self.n_samples_ = len(samples)
        count = max(len(samples) - 1, 1)
        components, captured = principal_axes(self.subspace_, rest)
        total = float(np.sum(rest * rest)) / count
        names = feature_names(self)
        self._know(SubspaceModel(names, mean, components, captured / count, total))
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates of samples along the components."""
        check_is_fitted(self, "model_")
        samples = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return self.model_.transform(samples)

    def inverse_transform(self, X: Any) -> Array:
        """Return the samples within the subspace that have these coordinates."""
        check_is_fitted(self, "model_")
        return self.model_.inverse_transform(check_array(X, dtype=np.float64, input_name="X"))

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _rank(self, samples: Array) -> int:
        n_samples, n_features = samples.shape
        why = f"{n_samples} samples of {n_features} features have no more"
        most = min(n_samples, n_features)
        return whole_number("n_components", self.n_components, least=1, most=most, why=why)

    def _run(self, rest: Array, rank: int, observers: tuple[Observer, ...]) -> Run:
        """Let the agents learn the subspace of samples less their mean."""
        why = f"there are {len(rest)} samples and each agent needs one"
        n_agents = whole_number("agents", self.agents, least=1, most=len(rest), why=why)
        parts = split_samples(rest, n_agents)
        network = as_network(self.network, len(parts))
        method = self._method(len(parts), float(np.sum(rest * rest)))
        plan = Plan(rest.shape[1], rank, network, method, seed=as_seed(self.random_state))
        problems = [PCAProblem(part) for part in parts]
        return run(plan, problems, engine=as_engine(self.engine), observers=observers)

    def _method(self, n_agents: int, energy: float) -> Method:
        name = one_of("method", self.method, (EXACT, DEEPCA, *GOSSIP))
        if name == EXACT:
            return Exact(tol=TOLERANCE)
        if name == DEEPCA and n_agents > 1:  # alone it is refused as gossip is
            return DeEPCA(self.max_iter)
        rho = real_number("rho", self.rho, least=0.0) * energy / n_agents
        return gossip_by_name(name, rho, self.max_iter, n_agents)

    def _know(self, model: SubspaceModel) -> None:
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
        self._know(model)


def principal_axes(basis: Array, samples: Array) -> tuple[Array, Array]:
    """Return the axes of samples within a subspace, and the sum of squares along each.

    UᵀXᵀXU is a sum over the agents. Signs are those of scikit-learn.
    """
    reduced = samples @ basis
    captured, turn = np.linalg.eigh(reduced.T @ reduced)
    _, axes = svd_flip(None, (basis @ turn[:, ::-1]).T, u_based_decision=False)
    return np.ascontiguousarray(axes.T), np.maximum(captured[::-1], 0.0)
