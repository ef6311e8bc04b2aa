r"""Items that are new since the fit: their rows are solved with users and known items fixed.

A row X_i = (A_i, b_i) minimises F (:mod:`grassvine.sums.implicit.model`) at the users' solutions
x_j = (w_j, s_j) from their events with known items:

.. math::

    \Big( Σ_{j∋i} v_{ij} x_jx_jᵀ + a_0 Σ_j x_jx_jᵀ + ρ_i I \Big) X_i = Σ_{j∋i} v_{ij} x_j.

All that it needs is a sum over agents: a matrix and a vector per new item, and the second moments
of all users.
"""

from collections.abc import Sequence

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.sums.implicit.model import ImplicitModel
from grassvine.sums.implicit.problem import ImplicitProblem


def new_item_sums(model: ImplicitModel, known: Ratings, new: Ratings) -> list[Array]:
    """Return an agent's part: matrices and vectors per new item, users per new item, moments, n.

    Parameters
    ----------
    model : ImplicitModel
        The model without the new items.
    known : Ratings
        The users' events with the items of the model.
    new : Ratings
        The same users' events with the new items, numbered from 0.
    """
    solutions = ImplicitProblem(known).solve(model)
    width = solutions.shape[1]
    matrices = np.zeros((new.n_items, width, width))
    vectors = np.zeros((new.n_items, width))
    confidences, users = model.strengths.confidences(new), new.users_of_values()
    for item, user, confidence in zip(new.items, users, confidences, strict=True):
        own = solutions[user]
        matrices[item] += confidence * np.outer(own, own)
        vectors[item] += confidence * own
    counts = np.bincount(new.items, minlength=new.n_items).astype(np.float64)
    active = solutions[(np.diff(known.starts) > 0) | (np.diff(new.starts) > 0)]
    return [matrices, vectors, counts, active.T @ active, np.array([float(len(active))])]


def new_item_rows(model: ImplicitModel, totals: Sequence[Array]) -> Array:
    """Return the rows of the new items from the sums over all agents."""
    matrices, vectors, counts, moments, (n_users,) = totals
    strengths = model.strengths
    ridges = strengths.ridge * (counts + strengths.unobserved_weight * n_users)
    systems = matrices + strengths.unobserved_weight * moments
    systems = systems + ridges[:, None, None] * np.eye(len(moments))
    rows: Array = np.linalg.solve(systems, vectors[:, :, None])[:, :, 0]
    return rows
