"""Local problems of the agents, independent of geometry and network."""

from grassvine.problems.base import Evaluation, LocalProblem, TwiceDifferentiable
from grassvine.problems.completion import CompletionProblem
from grassvine.problems.custom import CustomProblem
from grassvine.problems.multitask import MultitaskProblem
from grassvine.problems.pca import PCAProblem
from grassvine.problems.stored import LoadedCompletion, completion_problems

__all__ = [
    "CompletionProblem",
    "CustomProblem",
    "Evaluation",
    "LoadedCompletion",
    "LocalProblem",
    "MultitaskProblem",
    "PCAProblem",
    "TwiceDifferentiable",
    "completion_problems",
]
