"""Fits of ratings: from a table and its parts to a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.averaging import REXTRA, Tracked
from grassvine.data.stored import RatingDataset
from grassvine.engines import Engine, LocalEngine
from grassvine.fits.convergence import warn_disagreement, warn_not_converged
from grassvine.fits.options import as_network, with_checkpoint_subfolder
from grassvine.fits.rating_formulations import RatingsFormulation, RatingSource
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip
from grassvine.models import FactorScorer, RatingsModel
from grassvine.networks import Network
from grassvine.problems.parts import RatingsSource, problems_of
from grassvine.protocol import Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums import ImplicitFactorization, ImplicitModel
from grassvine.sums.implicit.problem import problem_of_choices
from grassvine.sums.implicit.statistics import chosen_at_random
from grassvine.sums.implicit.strengths import default_rank


@dataclass(frozen=True, slots=True, eq=False)
class RatingsFit:
    """A model fitted to ratings, and the runs that fitted it.

    Attributes
    ----------
    model : RatingsModel
        Without users if the ratings stayed in files.
    run : Run
        The run in which the agents fitted the ratings.
    choices_run : Run or None
        The run in which they learned what users choose.
    """

    model: RatingsModel
    run: Run
    choices_run: Run | None


def fit_ratings(
    table: RatingSource,
    parts: Sequence[RatingsSource],
    formulation: RatingsFormulation,
    *,
    network: str | Network = "ring",
    seed: int = 0,
    engine: Engine | None = None,
    observers: Sequence[Observer] = (),
    initial_basis: Array | None = None,
) -> RatingsFit:
    """Fit a model to ratings that are divided among agents.

    Parameters
    ----------
    table : RatingTable or RatingDataset
    parts : sequence of Ratings or functions
        The ratings of each agent, or functions that load them where the agent runs.
    formulation : RatingsFormulation
        What is fitted, and by which method.
    network : str or Network
        Name of a topology, or a network of the agents.
    seed, engine, observers, initial_basis
        As in :class:`grassvine.Plan` and :func:`grassvine.run`.
    """
    engine, method, n_items = engine or LocalEngine(), formulation.method, len(table.items)
    network = as_network(network, len(parts), method)
    plan = Plan(n_items, formulation.rank, network, method, seed=seed, initial_basis=initial_basis)
    problems = formulation.problems(parts)
    result = run(plan, problems, engine=engine, observers=observers)
    if getattr(method, "works_alone", False):  # gossip runs until its timetable ends
        warn_not_converged(result)
    elif isinstance(method, Gossip | Tracked | REXTRA):
        warn_disagreement(result, problems)
    choices, choices_run = None, None
    if formulation.with_choices:
        engine = with_checkpoint_subfolder(engine, "choices")
        choices, choices_run = _fit_choices(table, parts, network, engine, seed)
    shared = formulation.item_part(result, table)
    users = (
        None if isinstance(table, RatingDataset) else shared.users_from(table.users, table.ratings)
    )
    return RatingsFit(RatingsModel(shared, users, choices), result, choices_run)


def _fit_choices(
    table: RatingSource,
    parts: Sequence[RatingsSource],
    network: Network,
    engine: Engine,
    seed: int,
) -> tuple[FactorScorer | None, Run]:
    """Learn from who rated what, whatever the ratings are, what users choose.

    There is no scorer if the items that users rated could have been drawn at random.
    """
    n_items = len(table.items)
    rank = default_rank(table.n_ratings, table.n_users, n_items)
    plan = Plan(n_items, rank, network, ImplicitFactorization(), seed=seed)
    result = run(plan, problems_of(parts, problem_of_choices), engine=engine)
    model = ImplicitModel.from_arrays(result.states[0])  # that of any agent; all are equal
    counts = np.asarray(table.counts, dtype=np.float64)
    if not model.factors.any() and chosen_at_random(counts, float(table.n_users)):
        return None, result
    return FactorScorer(model), result
