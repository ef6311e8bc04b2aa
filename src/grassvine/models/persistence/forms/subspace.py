"""Storage of subspaces."""

from dataclasses import replace
from typing import TYPE_CHECKING

from grassvine.models.persistence.forms.base import (
    Part,
    Shape,
    feature_names,
    feature_names_from,
)
from grassvine.models.persistence.sealed import check_keys
from grassvine.models.persistence.tensors import Tensor
from grassvine.models.subspace import SubspaceModel
from grassvine.sums.incomplete.model import FactorModel

if TYPE_CHECKING:
    pass


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
        return Part(numbers, arrays, feature_names(model.features)), None

    def combine(self, shared: Part, private: Part | None) -> SubspaceModel:
        """Return the subspace model of a shared part."""
        numbers = check_keys("the entry 'numbers'", shared.numbers, {"total_variance"})
        return SubspaceModel(features=feature_names_from(shared.ids), **numbers, **shared.arrays)


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
