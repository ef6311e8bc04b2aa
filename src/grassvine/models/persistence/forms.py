"""Storage of each kind of model: numbers, arrays and ids of its shared and private part."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.ratings import Ratings
from grassvine.foundations.errors import ModelError
from grassvine.models.persistence.sealed import check_keys
from grassvine.models.persistence.tensors import Layout, Tensor
from grassvine.models.ranking_model import RankingModel
from grassvine.models.ranking_parts import RankedItems, RankedUsers
from grassvine.models.rating_parts import (
    BayesianSolver,
    BiasedSolver,
    ItemPart,
    SubspaceSolver,
    UserPart,
    UserSolver,
)
from grassvine.models.ratings import RatingsModel
from grassvine.models.scorers import FactorScorer, RegressionScorer
from grassvine.models.subspace import SubspaceModel
from grassvine.models.task_parts import FeaturePart, TaskPart
from grassvine.models.task_prior import PriorPart
from grassvine.models.tasks import TasksModel
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.hierarchical.prior import CoefficientPrior
from grassvine.sums.implicit.ease import ItemRegressions
from grassvine.sums.implicit.model import ImplicitModel, Strengths
from grassvine.sums.incomplete.model import FactorModel

if TYPE_CHECKING:
    import polars as pl

Model: TypeAlias = RatingsModel | RankingModel | TasksModel | SubspaceModel


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The stored content of one part of a model."""

    numbers: Mapping[str, Any]
    arrays: Mapping[str, Any]
    ids: "pl.Series"


@dataclass(frozen=True, slots=True)
class Shape:
    """The layout of a part: its arrays, the axis labelled by its ids, whether ids are sorted."""

    layout: Layout
    axis: str
    ascending: bool


class Form(Protocol):
    """Conversion of one kind of model to its parts and back."""

    kind: str
    shared: Shape
    private: Shape | None

    def split(self, model: Any) -> tuple[Part, Part | None]:
        """Return the shared and the private part."""
        ...

    def combine(self, shared: Part, private: Part | None) -> Model:
        """Return the model; raise if the parts are not valid."""
        ...


class RatingsForm:
    """Storage of ratings models; rated items are stored user by user."""

    kind = "ratings"
    shared = Shape(
        {
            "factors": Tensor("F64", ("items", "rank")),
            "item_biases": Tensor("F64", ("items",)),
            "counts": Tensor("I64", ("items",)),
        },
        "items",
        ascending=True,
    )
    of_bayesian_model: ClassVar[Layout] = {
        "factor_variances": Tensor("F64", ("rank",)),
        "item_precisions": Tensor("F64", ("items",)),
        "item_weights": Tensor("F64", ("items",)),
        "mean_factors": Tensor("F64", ("rank",)),
        "mean_user": Tensor("F64", ("effects",)),
        "new_item": Tensor("F64", ("effects",)),
        "user_coefficients": Tensor("F64", ("effects", "effects")),
        "user_covariance": Tensor("F64", ("effects", "effects")),
    }
    of_choices: ClassVar[Layout] = {
        "choice_factors": Tensor("F64", ("items", "choice rank")),
        "popularity": Tensor("F64", ("items",)),
    }
    bayesian_numbers = ("scale", "noise", "bias_variance", "interval_scale")
    private: Shape | None = Shape(
        {
            "weights": Tensor("F64", ("users", "rank")),
            "biases": Tensor("F64", ("users",)),
            "seen_counts": Tensor("I64", ("users",)),
            "seen_items": Tensor("I32", ("ratings",)),
            "seen_values": Tensor("F64", ("ratings",)),
        },
        "users",
        ascending=True,
    )
    solvers: Mapping[str, type[UserSolver]] = {
        "biased": BiasedSolver,
        "completion": SubspaceSolver,
        "bayesian": BayesianSolver,
    }

    def split(self, model: RatingsModel) -> tuple[Part, Part | None]:
        """Split a ratings model into its parts."""
        shared, private = model.shared, model.private
        kind = type(shared.solver)
        numbers = {
            "centre": shared.centre,
            "lowest": shared.lowest,
            "highest": shared.highest,
            "formulation": next(name for name, one in self.solvers.items() if one is kind),
        }
        arrays = {name: getattr(shared, name) for name in self.shared.layout}
        if isinstance(shared.solver, BayesianSolver):
            solved_with = shared.solver.bayesian_model
            # Its item biases are on another scale, that of standardised ratings.
            names = "item_biases", *self.of_bayesian_model
            arrays |= {name: getattr(solved_with, name) for name in names}
            named = {name: getattr(solved_with, name) for name in self.bayesian_numbers}
        else:
            named = asdict(shared.solver)
        numbers["solver"] = {name: float(value) for name, value in named.items()}
        numbers["choices"] = None
        if model.choices is not None:
            fitted = model.choices.model
            arrays |= {"choice_factors": fitted.factors, "popularity": fitted.popularity}
            strengths = asdict(fitted.strengths)
            numbers["choices"] = {name: float(value) for name, value in strengths.items()}
        part = Part(numbers, arrays, shared.items.series)
        if private is None:
            return part, None
        seen = {
            "weights": private.weights,
            "biases": private.biases,
            "seen_counts": private.counts,
            "seen_items": private.seen.items,
            "seen_values": private.seen.values,
        }
        return part, Part({}, seen, _user_ids(private.users))

    def combine(self, shared: Part, private: Part | None) -> RatingsModel:
        """Combine the parts of a ratings model."""
        wanted = {"centre", "lowest", "highest", "formulation", "solver", "choices"}
        numbers = check_keys("the entry 'numbers'", shared.numbers, wanted)
        formulation = numbers["formulation"]
        if not isinstance(formulation, str) or formulation not in self.solvers:
            raise ModelError(f"unknown formulation {formulation!r}; save the model again.")
        kind = self.solvers[formulation]
        bayesian = kind is BayesianSolver
        names = set(self.bayesian_numbers if bayesian else kind.__dataclass_fields__)
        given = check_keys("the entry 'solver'", numbers["solver"], names)
        items, centre = Ids(shared.ids), numbers["centre"]
        bounds = {name: numbers[name] for name in ("lowest", "highest")}
        arrays = {**shared.arrays}
        choices = None
        if numbers["choices"] is not None:
            named = set(Strengths.__dataclass_fields__)
            strengths = Strengths(**check_keys("the entry 'choices'", numbers["choices"], named))
            factors, popularity = arrays.pop("choice_factors"), arrays.pop("popularity")
            choices = FactorScorer(ImplicitModel(factors, popularity, strengths))
        if bayesian:
            counts = arrays.pop("counts")
            model = BayesianModel(centre=centre, **given, **arrays)
            part = ItemPart.bayesian(model, items, counts=counts, **bounds)
        else:
            part = ItemPart(items=items, solver=kind(**given), centre=centre, **bounds, **arrays)
        users = None if private is None else self._users(part, private)
        return RatingsModel(part, users, choices)

    def _users(self, shared: ItemPart, private: Part) -> UserPart:
        seen = _seen(private, len(shared.items))
        arrays = private.arrays
        return UserPart(_users(private.ids), arrays["weights"], arrays["biases"], seen)


EVENTS = {
    "seen_counts": Tensor("I64", ("users",)),
    "seen_items": Tensor("I32", ("events",)),
    "seen_values": Tensor("F64", ("events",)),
}


class RankingForm:
    """Storage of ranking models by factors; events are stored user by user."""

    kind = "ranking"
    shared = Shape(
        {
            "factors": Tensor("F64", ("items", "rank")),
            "popularity": Tensor("F64", ("items",)),
            "counts": Tensor("I64", ("items",)),
        },
        "items",
        ascending=True,
    )
    private: Shape | None = Shape(EVENTS, "users", ascending=True)

    def split(self, model: RankingModel) -> tuple[Part, Part | None]:
        """Split a ranking model into its parts."""
        scorer = model.shared.scorer
        assert isinstance(scorer, FactorScorer)
        fitted = scorer.model
        arrays = {
            "factors": fitted.factors,
            "popularity": fitted.popularity,
            "counts": model.shared.counts,
        }
        numbers = {name: float(value) for name, value in asdict(fitted.strengths).items()}
        return Part(numbers, arrays, model.shared.items.series), _events(model)

    def combine(self, shared: Part, private: Part | None) -> RankingModel:
        """Combine the parts of a ranking model."""
        wanted = set(Strengths.__dataclass_fields__)
        numbers = check_keys("the entry 'numbers'", shared.numbers, wanted)
        arrays = shared.arrays
        fitted = ImplicitModel(arrays["factors"], arrays["popularity"], Strengths(**numbers))
        items = RankedItems(Ids(shared.ids), arrays["counts"], FactorScorer(fitted))
        return _ranking_model(items, private)


class RegressionForm:
    """Storage of ranking models by regressions between items."""

    kind = "item regressions"
    shared = Shape(
        {
            "coefficients": Tensor("F64", ("items", "items")),
            "counts": Tensor("I64", ("items",)),
        },
        "items",
        ascending=True,
    )
    private: Shape | None = Shape(EVENTS, "users", ascending=True)

    def split(self, model: RankingModel) -> tuple[Part, Part | None]:
        """Split a ranking model into its parts."""
        scorer = model.shared.scorer
        assert isinstance(scorer, RegressionScorer)
        arrays = {"coefficients": scorer.model.coefficients, "counts": model.shared.counts}
        return Part({}, arrays, model.shared.items.series), _events(model)

    def combine(self, shared: Part, private: Part | None) -> RankingModel:
        """Combine the parts of a ranking model."""
        check_keys("the entry 'numbers'", shared.numbers, set())
        scorer = RegressionScorer(ItemRegressions(shared.arrays["coefficients"]))
        items = RankedItems(Ids(shared.ids), shared.arrays["counts"], scorer)
        return _ranking_model(items, private)


class TasksForm:
    """Storage of tasks models."""

    kind = "tasks"
    shared = Shape(
        {
            "basis": Tensor("F64", ("items", "rank")),
            "means": Tensor("F64", ("items",)),
            "scales": Tensor("F64", ("items",)),
            "strengths": Tensor("F64", ("rank",)),
        },
        "items",
        ascending=False,
    )
    private: Shape | None = Shape(
        {
            "weights": Tensor("F64", ("tasks", "rank")),
            "intercepts": Tensor("F64", ("tasks",)),
            "counts": Tensor("I64", ("tasks",)),
        },
        "tasks",
        ascending=True,
    )

    def split(self, model: TasksModel) -> tuple[Part, Part | None]:
        """Split a tasks model into its parts."""
        shared, private = model.shared, model.private
        assert isinstance(shared, FeaturePart)
        numbers = {"alpha": shared.alpha, "intercepts": shared.intercepts}
        arrays = {name: getattr(shared, name) for name in self.shared.layout}
        part = Part(numbers, arrays, _names(shared.features))
        if private is None or self.private is None:
            return part, None
        learned = {name: getattr(private, name) for name in self.private.layout}
        return part, Part({}, learned, private.tasks.series)

    def combine(self, shared: Part, private: Part | None) -> TasksModel:
        """Combine the parts of a tasks model."""
        wanted = {"alpha", "intercepts"}
        numbers = check_keys("the entry 'numbers'", shared.numbers, wanted)
        if not isinstance(numbers["intercepts"], bool):
            raise ModelError("intercepts must be true or false; save the model again.")
        part = FeaturePart(features=_text(shared.ids), **numbers, **shared.arrays)
        if private is None:
            return TasksModel(part)
        return TasksModel(part, TaskPart(tasks=Ids(private.ids), **private.arrays))


class HierarchicalForm:
    """Storage of tasks models whose coefficients come from one normal distribution."""

    kind = "hierarchical tasks"
    shared = Shape(
        {
            "means": Tensor("F64", ("items",)),
            "scales": Tensor("F64", ("items",)),
            "mean": Tensor("F64", ("coefficients",)),
            "factor": Tensor("F64", ("coefficients", "factors")),
            "diagonal": Tensor("F64", ("coefficients",)),
            "mean_factor": Tensor("F64", ("coefficients", "mean_factors")),
        },
        "items",
        ascending=False,
    )
    private: Shape | None = Shape(
        {
            "weights": Tensor("F64", ("tasks", "items")),
            "intercepts": Tensor("F64", ("tasks",)),
            "counts": Tensor("I64", ("tasks",)),
            "rows": Tensor("F64", ("rows", "coefficients")),
            "sizes": Tensor("I64", ("tasks",)),
        },
        "tasks",
        ascending=True,
    )

    def split(self, model: TasksModel) -> tuple[Part, Part | None]:
        """Split a tasks model into its parts."""
        shared, private = model.shared, model.private
        assert isinstance(shared, PriorPart) and self.private is not None
        numbers = {"noise": shared.prior.noise, "rank": shared.rank}
        arrays = {"means": shared.means, "scales": shared.scales, **shared.prior.arrays()}
        del arrays["noise"]
        part = Part(numbers, arrays, _names(shared.features))
        if private is None:
            return part, None
        learned = {name: getattr(private, name) for name in self.private.layout}
        return part, Part({}, learned, private.tasks.series)

    def combine(self, shared: Part, private: Part | None) -> TasksModel:
        """Combine the parts of a tasks model."""
        numbers = check_keys("the entry 'numbers'", shared.numbers, {"noise", "rank"})
        arrays = dict(shared.arrays)
        means, scales = arrays.pop("means"), arrays.pop("scales")
        prior = CoefficientPrior(**arrays, noise=numbers["noise"])
        part = PriorPart(_text(shared.ids), means, scales, prior, numbers["rank"])
        if private is None:
            return TasksModel(part)
        return TasksModel(part, TaskPart(tasks=Ids(private.ids), **private.arrays))


class SubspaceForm:
    """Storage of subspace models, which have no private part."""

    kind = "subspace"
    shared = Shape(
        {
            "mean": Tensor("F64", ("items",)),
            "components": Tensor("F64", ("items", "rank")),
            "variances": Tensor("F64", ("rank",)),
        },
        "items",
        ascending=False,
    )
    private: Shape | None = None

    def split(self, model: SubspaceModel) -> tuple[Part, Part | None]:
        """Return the shared part of a subspace model."""
        arrays = {name: getattr(model, name) for name in self.shared.layout}
        numbers = {"total_variance": model.total_variance}
        return Part(numbers, arrays, _names(model.features)), None

    def combine(self, shared: Part, private: Part | None) -> SubspaceModel:
        """Return the subspace model of a shared part."""
        numbers = check_keys("the entry 'numbers'", shared.numbers, {"total_variance"})
        return SubspaceModel(features=_text(shared.ids), **numbers, **shared.arrays)


class IncompleteSubspaceForm:
    """Storage of subspace models fitted to samples with missing values."""

    kind = "subspace with missing values"
    shared = Shape(
        {
            **SubspaceForm.shared.layout,
            "factor_mean": Tensor("F64", ("items",)),
            "loadings": Tensor("F64", ("items", "factors")),
            "noise": Tensor("F64", ("items",)),
        },
        "items",
        ascending=False,
    )
    private: Shape | None = None

    def split(self, model: SubspaceModel) -> tuple[Part, Part | None]:
        """Return the shared part of a subspace model."""
        part, _ = SubspaceForm().split(model)
        assert model.factors is not None
        return Part(part.numbers, {**part.arrays, **model.factors.arrays()}, part.ids), None

    def combine(self, shared: Part, private: Part | None) -> SubspaceModel:
        """Return the subspace model of a shared part."""
        plain = {name: shared.arrays[name] for name in SubspaceForm.shared.layout}
        model = SubspaceForm().combine(Part(shared.numbers, plain, shared.ids), None)
        return replace(model, factors=FactorModel.from_arrays(shared.arrays))


FORMS: Mapping[str, Form] = {
    "ratings": RatingsForm(),
    "ranking": RankingForm(),
    "item regressions": RegressionForm(),
    "tasks": TasksForm(),
    "hierarchical tasks": HierarchicalForm(),
    "subspace": SubspaceForm(),
    "subspace with missing values": IncompleteSubspaceForm(),
}


def shared_shape(form: Form, numbers: object) -> Shape:
    """Return the shape of the shared part of a model with these numbers."""
    layout = form.shared.layout
    if isinstance(form, RatingsForm) and isinstance(numbers, Mapping):
        if numbers.get("formulation") == "bayesian":
            layout = {**layout, **form.of_bayesian_model}
        if numbers.get("choices") is not None:
            layout = {**layout, **form.of_choices}
    return replace(form.shared, layout=layout)


def form_of(model: Model) -> Form:
    """Return the storage form of a model."""
    if isinstance(model, TasksModel) and isinstance(model.shared, PriorPart):
        return FORMS["hierarchical tasks"]
    if isinstance(model, RankingModel):
        factors = isinstance(model.shared.scorer, FactorScorer)
        return FORMS["ranking" if factors else "item regressions"]
    if isinstance(model, SubspaceModel) and model.factors is not None:
        return FORMS["subspace with missing values"]
    kinds = {RatingsModel: "ratings", TasksModel: "tasks", SubspaceModel: "subspace"}
    return FORMS[kinds[type(model)]]


def _events(model: RankingModel) -> Part | None:
    """Return the private part of a ranking model."""
    private = model.private
    if private is None:
        return None
    seen = {
        "seen_counts": private.counts,
        "seen_items": private.seen.items,
        "seen_values": private.seen.values,
    }
    return Part({}, seen, _user_ids(private.users))


def _ranking_model(items: RankedItems, private: Part | None) -> RankingModel:
    if private is None:
        return RankingModel(items)
    seen = _seen(private, len(items.items))
    return RankingModel(items, RankedUsers(_users(private.ids), seen))


def _seen(private: Part, n_items: int) -> Ratings:
    """Return the entries of users, which are stored user by user."""
    counts, items = private.arrays["seen_counts"], private.arrays["seen_items"]
    # Bound each count first: the sum of malicious counts could overflow.
    if (counts < 0).any() or (counts > n_items).any() or counts.sum() != len(items):
        raise ModelError("the rating counts do not add up; save the model again.")
    users = np.repeat(np.arange(len(counts)), counts)
    if len(items) and not (items.min() >= 0 and items.max() < n_items):
        raise ModelError("a rating refers to a missing item; save the model again.")
    if (np.diff(users * n_items + items) <= 0).any():
        raise ModelError("the ratings of a user are not sorted by item; save the model again.")
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Ratings(n_items, starts, items, private.arrays["seen_values"])


def _user_ids(users: Ids) -> "pl.Series":
    """Return user ids, as a struct with their owners if they have any."""
    import polars as pl

    if users.owners is None:
        return users.series
    return pl.DataFrame({"id": users.series, "owner": users.owners}).to_struct()


def _users(ids: "pl.Series") -> Ids:
    import polars as pl

    if not isinstance(ids.dtype, pl.Struct):
        return Ids(ids)
    return Ids(ids.struct.field("id").alias(""), ids.struct.field("owner").alias(""))


def _names(features: tuple[str, ...]) -> "pl.Series":
    import polars as pl

    return pl.Series(features, dtype=pl.String)


def _text(ids: "pl.Series") -> tuple[str, ...]:
    import polars as pl

    if ids.dtype != pl.String:
        raise ModelError(
            f"the feature names are of type {ids.dtype}, not text; save the model again."
        )
    return tuple(ids.to_list())
