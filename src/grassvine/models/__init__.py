"""Fitted models: predictions, new users, persistence."""

from grassvine.models.persistence.card import Card
from grassvine.models.persistence.files import Description, inspect, load, save
from grassvine.models.predictions import Predictions
from grassvine.models.ranking_model import Explanation, RankingModel
from grassvine.models.ranking_parts import RankedItems, RankedUsers
from grassvine.models.rating_parts import (
    BayesianSolver,
    BiasedSolver,
    ItemPart,
    SubspaceSolver,
    UserPart,
)
from grassvine.models.ratings import FoldIn, RatingsModel
from grassvine.models.scorers import FactorScorer, RegressionScorer
from grassvine.models.subspace import SubspaceModel
from grassvine.models.task_parts import FeaturePart, TaskPart
from grassvine.models.task_prior import PriorPart
from grassvine.models.tasks import TaskPredictions, TasksModel

__all__ = [
    "BayesianSolver",
    "BiasedSolver",
    "Card",
    "Description",
    "Explanation",
    "FactorScorer",
    "FeaturePart",
    "FoldIn",
    "ItemPart",
    "Predictions",
    "PriorPart",
    "RankedItems",
    "RankedUsers",
    "RankingModel",
    "RatingsModel",
    "RegressionScorer",
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
