"""Storage of models of ratings."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, ClassVar

from grassvine.data.ids import Ids
from grassvine.foundations.errors import ModelError
from grassvine.models.persistence.forms.base import (
    Part,
    Shape,
    seen_ratings,
    user_ids,
    user_ids_from,
)
from grassvine.models.persistence.sealed import check_keys
from grassvine.models.persistence.tensors import Layout, Tensor
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.models.ratings.model import RatingsModel
from grassvine.models.ratings.parts import (
    BayesianSolver,
    BiasedSolver,
    ItemPart,
    SubspaceSolver,
    UserPart,
    UserSolver,
)
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.implicit.model import ImplicitModel, Strengths

if TYPE_CHECKING:
    pass


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
        return part, Part({}, seen, user_ids(private.users))

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
        seen = seen_ratings(private, len(shared.items))
        arrays = private.arrays
        return UserPart(user_ids_from(private.ids), arrays["weights"], arrays["biases"], seen)
