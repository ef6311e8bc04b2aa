"""Preconditioners whose facts are averaged, not added up: averages may be a little indefinite."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.problems.base import LocalProblem
from grassvine.problems.completion import CompletionProblem
from grassvine.problems.multitask import MultitaskProblem

ApplyInverse: TypeAlias = Callable[[Array, Array], Array]  # a tangent and C


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """An approximate Hessian of all tasks: its facts are averaged over the agents, once.

    Completion: ξ ↦ diag(p_i + λ)ξC, where p_i is the share of users who rated item i. Multitask:
    ξ ↦ (A + λI)ξC with A the mean of X_tᵀX_t. Other tasks: ξ ↦ ξC, or the identity where there is
    no C. The last is of no known scale; L-BFGS finds it from its pairs.
    """

    statistics: Array
    preconditioner: Callable[[Array, int], ApplyInverse]

    @classmethod
    def of(cls, problem: LocalProblem) -> "Preconditioner":
        """Return the one of a problem."""
        if isinstance(problem, CompletionProblem):
            return _of_completion(problem)
        if isinstance(problem, MultitaskProblem):
            return _of_multitask(problem)
        return cls(np.zeros(0), lambda statistics, n_agents: _apply_inverse_gram)


def _of_completion(problem: CompletionProblem) -> Preconditioner:
    ratings = problem.ratings
    counts = np.bincount(ratings.items, minlength=ratings.n_items)

    def preconditioner(statistics: Array, n_agents: int) -> ApplyInverse:
        # An item that nobody rated counts as rated once.
        shares = np.maximum(statistics[:-1], 1.0 / n_agents) / statistics[-1]
        scales = shares + problem.unobserved + problem.tikhonov
        return lambda tangent, gram: _apply_inverse_gram(tangent / scales[:, None], gram)

    return Preconditioner(np.append(counts, ratings.n_users).astype(np.float64), preconditioner)


def _of_multitask(problem: MultitaskProblem) -> Preconditioner:
    n_items, n_tasks = problem.n_items, problem.tasks.n_tasks
    moments = sum((x.T @ x for x in problem.tasks.features), start=np.zeros((n_items, n_items)))

    def preconditioner(statistics: Array, n_agents: int) -> ApplyInverse:
        mean = statistics[:-1].reshape(n_items, n_items) / statistics[-1]
        values, vectors = np.linalg.eigh(0.5 * (mean + mean.T))
        # Below this the averages of different agents differ, and unseen features have nothing.
        values = np.maximum(values, 1e-7 * values[-1]) + problem.ridge

        def apply_inverse(tangent: Array, gram: Array) -> Array:
            return _apply_inverse_gram(vectors @ ((vectors.T @ tangent) / values[:, None]), gram)

        return apply_inverse

    return Preconditioner(np.append(moments.ravel(), n_tasks).astype(np.float64), preconditioner)


def _apply_inverse_gram(tangent: Array, gram: Array) -> Array:
    """Return ξC⁻¹, no eigenvalue of C counting as less than a millionth of the largest."""
    if not gram.size:
        return tangent
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    values = np.maximum(values, 1e-6 * values[-1]) if values[-1] > 0.0 else np.ones_like(values)
    return ((tangent @ vectors) / values) @ vectors.T
