"""Storage of models of related regressions."""

from typing import TYPE_CHECKING

from grassvine.data.ids import Ids
from grassvine.foundations.errors import ModelError
from grassvine.models.persistence.forms.base import (
    Part,
    Shape,
    feature_names,
    feature_names_from,
)
from grassvine.models.persistence.sealed import check_keys
from grassvine.models.persistence.tensors import Tensor
from grassvine.models.tasks.model import TasksModel
from grassvine.models.tasks.parts import FeaturePart, TaskPart
from grassvine.models.tasks.prior import PriorPart
from grassvine.sums.hierarchical.prior import CoefficientPrior

if TYPE_CHECKING:
    pass


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
        part = Part(numbers, arrays, feature_names(shared.features))
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
        part = FeaturePart(features=feature_names_from(shared.ids), **numbers, **shared.arrays)
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
        part = Part(numbers, arrays, feature_names(shared.features))
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
        part = PriorPart(feature_names_from(shared.ids), means, scales, prior, numbers["rank"])
        if private is None:
            return TasksModel(part)
        return TasksModel(part, TaskPart(tasks=Ids(private.ids), **private.arrays))
