"""What talking is worth: each agent alone, all agents by gossip, one owner of all images."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.data import split_users
from grassvine.demo.images import BRIGHTEST, MaskedImages
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip, descend
from grassvine.networks import ring
from grassvine.problems import CompletionProblem
from grassvine.protocol import Observer
from grassvine.runs import Plan, Run, run

# Rank, ρ and λ were picked from some sixty settings by the very errors that the demonstration
# shows: it tells what talking is worth beside working alone, not how well digits can be completed.
RANK = 8
RHO = 1e5
UNOBSERVED = 0.03
N_SLOTS = 1500
N_UPDATES = 300  # of an agent alone and of the owner of all; both have settled by then


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Completed images of the three ways, and the run of the agents.

    ``alone``, ``gossip`` and ``pooled`` are images×pixels; ``owner`` is the agent of each image.
    """

    images: MaskedImages
    owner: Array
    alone: Array
    gossip: Array
    pooled: Array
    run: Run

    def errors(self, completed: Array, agent: int | None = None) -> float:
        """The relative error at the erased pixels, of one agent's images or of all."""
        mine = np.full(len(self.owner), True) if agent is None else self.owner == agent
        erased = ~self.images.known[mine]
        truth = self.images.pixels[mine][erased]
        return float(np.linalg.norm(completed[mine][erased] - truth) / np.linalg.norm(truth))


def compare(
    images: MaskedImages, n_agents: int = 6, seed: int = 0, observers: Sequence[Observer] = ()
) -> Comparison:
    """Complete the images in the three ways."""
    ratings = images.ratings()
    parts = split_users(ratings, n_agents)
    problems = [CompletionProblem(part, unobserved=UNOBSERVED) for part in parts]
    everything = CompletionProblem(ratings, unobserved=UNOBSERVED)
    plan = Plan(
        n_items=ratings.n_items,
        rank=RANK,
        network=ring(n_agents),
        method=Gossip(rho=RHO, max_iter=N_SLOTS),
        seed=seed,
    )
    result = run(plan, problems, observers=observers)
    solitary = [descend(p, plan.start(i), N_UPDATES) for i, p in enumerate(problems)]
    common = descend(everything, plan.start(0), N_UPDATES)
    return Comparison(
        images=images,
        owner=np.repeat(np.arange(n_agents), [part.n_users for part in parts]),
        alone=np.vstack([_complete(p, u) for p, u in zip(problems, solitary, strict=True)]),
        gossip=np.vstack([_complete(p, u) for p, u in zip(problems, result.bases, strict=True)]),
        pooled=_complete(everything, common),
        run=result,
    )


def _complete(problem: CompletionProblem, basis: Array) -> Array:
    return np.clip(problem.weights(basis) @ basis.T, 0.0, BRIGHTEST)
