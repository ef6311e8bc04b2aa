"""Division of the images: each agent holds one digit, test images of all digits are held out."""

from dataclasses import dataclass

import numpy as np

from grassvine.demo.images import MaskedImages
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.options import whole_number
from grassvine.foundations.seeds import stream

N_KINDS = 10
MOST_AGENTS = 20
TEST_SHARE = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The images of each agent, and test images that no agent holds.

    The test images cover all kinds that the agents hold.
    """

    parts: tuple[MaskedImages, ...]
    test: MaskedImages

    @property
    def n_agents(self) -> int:
        """The number of agents."""
        return len(self.parts)

    @property
    def n_images(self) -> int:
        """The number of images that all agents hold."""
        return sum(len(part.kinds) for part in self.parts)

    def kind_of(self, agent: int) -> int:
        """Return the digit that an agent holds."""
        return int(self.parts[agent].kinds[0])


def one_kind_each(images: MaskedImages, n_agents: int, seed: int = 0) -> Shares:
    """Give agent i only images of the digit i mod 10, and hold out a fifth of each kind for test.

    With fewer than ten agents the other kinds are left out; with more, agents with the same kind
    share its images.

    Parameters
    ----------
    images : MaskedImages
        Images of all kinds.
    n_agents : int
        Number of agents, from 2 to 20.
    seed : int, default=0
        Random seed of the choice of test images.
    """
    whole_number("n_agents", n_agents, least=2, most=MOST_AGENTS)
    rng = stream(seed, "data", "test images")
    parts: list[Indices] = [np.empty(0, dtype=np.int64)] * n_agents
    tests: list[Indices] = []
    for kind in range(min(n_agents, N_KINDS)):
        drawn = rng.permutation(np.flatnonzero(images.kinds == kind))
        n_test = round(TEST_SHARE * len(drawn))
        tests.append(drawn[:n_test])
        holders = range(kind, n_agents, N_KINDS)
        for place, agent in enumerate(holders):
            parts[agent] = drawn[n_test + place :: len(holders)]
    shares = Shares(tuple(images.take(part) for part in parts), images.take(np.concatenate(tests)))
    _check_erased(shares)
    return shares


def _check_erased(shares: Shares) -> None:
    """Raise DataError if no pixels, or too many pixels, are erased."""
    if shares.test.known.all():
        raise DataError("no pixel of the test images is erased; increase ", Option("missing"), ".")
    for agent, part in enumerate(shares.parts):
        n_known, n_images = int(part.known.sum()), len(part.kinds)
        if n_known < n_images:
            raise DataError(
                f"agent {agent} knows only {n_known} pixels of its {n_images} images, fewer than "
                "one per image; decrease ",
                Option("missing"),
                ".",
            )
