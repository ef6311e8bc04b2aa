"""Storage of each kind of model: numbers, arrays and ids of its shared and private part."""

from collections.abc import Mapping
from dataclasses import replace

from grassvine.foundations.errors import ModelError
from grassvine.models.persistence.forms.base import Form, Model, Part, Shape
from grassvine.models.persistence.forms.ranking import RankingForm, RegressionForm
from grassvine.models.persistence.forms.ratings import RatingsForm
from grassvine.models.persistence.forms.subspace import IncompleteSubspaceForm, SubspaceForm
from grassvine.models.persistence.forms.tasks import HierarchicalForm, TasksForm
from grassvine.models.ranking.model import RankingModel
from grassvine.models.ranking.scorers import FactorScorer
from grassvine.models.ratings.model import RatingsModel
from grassvine.models.subspace import SubspaceModel
from grassvine.models.tasks.model import TasksModel
from grassvine.models.tasks.prior import PriorPart

__all__ = ["FORMS", "Form", "Model", "Part", "Shape", "form_of", "shared_shape"]

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
    if type(model) not in kinds:
        raise ModelError(
            f"model is of type {type(model).__name__}; pass a model, such as model_ of a fitted "
            "estimator."
        )
    return FORMS[kinds[type(model)]]
