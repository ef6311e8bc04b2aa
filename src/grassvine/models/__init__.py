"""Fitted models: predictions, new users, persistence."""

from grassvine.models.persistence.card import Card
from grassvine.models.persistence.files import Description, inspect, load, save
from grassvine.models.ranking.model import Explanation, RankingModel
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.scorers import FactorScorer, RegressionScorer
from grassvine.models.ratings.model import FoldIn, RatingsModel
from grassvine.models.ratings.parts import (
    BayesianSolver,
    BiasedSolver,
    ItemPart,
    SubspaceSolver,
    UserPart,
)
from grassvine.models.ratings.predictions import Predictions
from grassvine.models.subspace import SubspaceModel
from grassvine.models.tasks.model import TaskPredictions, TasksModel
from grassvine.models.tasks.parts import FeaturePart, TaskPart
from grassvine.models.tasks.prior import PriorPart

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
