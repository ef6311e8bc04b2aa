"""Comparison of single agents, gossip, the exact method and pooled data.

Every agent completes the same test images with its own basis. "Alone" and "pooled" run the program
of the exact method on the data of one agent and of all agents; only the data differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grassvine.demo.images import BRIGHTEST, MaskedImages
from grassvine.demo.shares import Shares
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip, GrowingRho
from grassvine.networks import ring
from grassvine.problems import CompletionProblem
from grassvine.protocol import Observer
from grassvine.runs import Plan, Run, run
from grassvine.sums.exact import Exact
from grassvine.sums.program import run_pooled

METHODS = ("alone", "gossip", "exact", "pooled")
# Chosen by the pooled error for 6 and 20 agents with seeds 100 and 101, which draw other test
# images and pixels.
RANK = 6
UNOBSERVED = 0.03
# First ρ as a share of an agent's squares. Agents with one digit each differ more than those of the
# estimators' defaults: with their smaller initial ρ, agents first diverge, and a bias remains.
FIRST_SHARE = 0.12


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Test images completed by each agent with each method.

    ``completed`` maps each of ``METHODS`` to an array of shape (n_bases, n_images, n_pixels), with
    one basis per agent, or a single one for pooled data.
    """

    shares: Shares
    completed: Mapping[str, Array]
    gossip: Run
    exact: Run

    def errors(self, method: str) -> Array:
        """Return the relative error at the erased pixels of the test images, one per basis."""
        test = self.shares.test
        truth = test.pixels[~test.known]
        residual = self.completed[method][:, ~test.known] - truth
        return np.linalg.norm(residual, axis=1) / np.linalg.norm(truth)

    def error(self, method: str) -> float:
        """Return the mean error over all agents."""
        return float(self.errors(method).mean())

    def excess(self, method: str) -> float:
        """Return the excess of the mean error over the pooled error, relative to the latter."""
        return self.error(method) / self.error("pooled") - 1.0


def compare(shares: Shares, seed: int = 0, observers: Sequence[Observer] = ()) -> Comparison:
    """Complete the test images with all four methods.

    Parameters
    ----------
    shares : Shares
        Images of each agent, and test images.
    seed : int, default=0
        Random seed of the starting point and of the timetable.
    observers : sequence of callables, default=()
        Called with each step report of gossip, which takes the longest.
    """
    problems = [_problem(part) for part in shares.parts]
    plan = Plan(n_items=problems[0].n_items, rank=RANK, network=ring(len(problems)), seed=seed)
    start = plan.start(0)
    gossip_plan = replace(plan, method=gossip_method(shares))
    gossip, exact = run(gossip_plan, problems, observers=observers), run(plan, problems)

    def learn(problem: CompletionProblem) -> Array:
        return run_pooled(Exact().program(problem, start, seed), problem).iterate.basis

    bases = {
        "alone": [learn(problem) for problem in problems],
        "gossip": gossip.bases,
        "exact": exact.bases,
        "pooled": [learn(_problem(_pool(shares.parts)))],
    }
    test = _problem(shares.test)
    completed = {
        method: np.stack([_complete(test, basis) for basis in bases[method]]) for method in METHODS
    }
    return Comparison(shares, completed, gossip, exact)


def gossip_method(shares: Shares) -> Gossip:
    """Return the gossip method of the comparison."""
    squares = sum(float(np.sum(part.pixels[part.known] ** 2)) for part in shares.parts)
    n_slots = max(800 * (shares.n_agents - 1), 50 * shares.n_agents**2)
    rho = GrowingRho(FIRST_SHARE * squares / shares.n_agents, squares, n_slots)
    return Gossip(rho, n_slots, start="common")


def _problem(images: MaskedImages) -> CompletionProblem:
    return CompletionProblem(images.ratings(), unobserved=UNOBSERVED)


def _pool(parts: Sequence[MaskedImages]) -> MaskedImages:
    return MaskedImages(
        np.concatenate([part.pixels for part in parts]),
        np.concatenate([part.known for part in parts]),
        np.concatenate([part.kinds for part in parts]),
    )


def _complete(problem: CompletionProblem, basis: Array) -> Array:
    return np.clip(problem.weights(basis) @ basis.T, 0.0, BRIGHTEST)
