"""Local problems of the agents, independent of geometry and network."""

from grassvine.problems.base import Evaluation, LocalProblem, Problem, TwiceDifferentiable
from grassvine.problems.completion import CompletionProblem
from grassvine.problems.custom import CustomProblem
from grassvine.problems.multitask import MultitaskProblem
from grassvine.problems.parts import LoadedProblem, ProblemSource, problems_of
from grassvine.problems.pca import PCAProblem

__all__ = [
    "CompletionProblem",
    "CustomProblem",
    "Evaluation",
    "LoadedProblem",
    "LocalProblem",
    "MultitaskProblem",
    "PCAProblem",
    "Problem",
    "ProblemSource",
    "TwiceDifferentiable",
    "problems_of",
]
