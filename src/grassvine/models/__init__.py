"""Fitted models: predictions, new users, persistence."""

from grassvine.models.persistence.card import Card
from grassvine.models.persistence.files import Description, inspect, load, save
from grassvine.models.rating_parts import BiasedSolver, ItemPart, SubspaceSolver, UserPart
from grassvine.models.ratings import FoldIn, Predictions, RatingsModel
from grassvine.models.subspace import SubspaceModel
from grassvine.models.task_parts import FeaturePart, TaskPart
from grassvine.models.task_prior import PriorPart
from grassvine.models.tasks import TaskPredictions, TasksModel

__all__ = [
    "BiasedSolver",
    "Card",
    "Description",
    "FeaturePart",
    "FoldIn",
    "ItemPart",
    "Predictions",
    "PriorPart",
    "RatingsModel",
    "SubspaceModel",
    "SubspaceSolver",
    "TaskPart",
    "TaskPredictions",
    "TasksModel",
    "UserPart",
    "inspect",
    "load",
    "save",
]
