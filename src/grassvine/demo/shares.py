"""Who holds which images: each agent one kind of digit, and test images of all kinds aside."""

from dataclasses import dataclass

import numpy as np

from grassvine.demo.images import MaskedImages
from grassvine.foundations.arrays import Indices
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.foundations.seeds import stream

N_KINDS = 10
MOST_AGENTS = 20
TEST_SHARE = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The images of each agent, and test images that no agent holds.

    The test images are of all kinds that any agent holds.
    """

    parts: tuple[MaskedImages, ...]
    test: MaskedImages

    @property
    def n_agents(self) -> int:
        """The number of agents."""
        return len(self.parts)

    @property
    def n_images(self) -> int:
        """The number of images that the agents hold together."""
        return sum(len(part.kinds) for part in self.parts)

    def kind_of(self, agent: int) -> int:
        """Return the one kind of digit that an agent holds."""
        return int(self.parts[agent].kinds[0])


def one_kind_each(images: MaskedImages, n_agents: int, seed: int = 0) -> Shares:
    """Give agent i images of the digit i mod 10 only, and set a fifth of each kind aside as test.

    With fewer than ten agents the other kinds are left out; with more, agents of the same kind
    divide its images.

    Parameters
    ----------
    images : MaskedImages
        Images of all kinds.
    n_agents : int
        From 2 to 20.
    seed : int
        From it is drawn which images are test images.
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
    _refuse_extremes(shares)
    return shares


def _refuse_extremes(shares: Shares) -> None:
    """Refuse images of which nothing is erased, or so much that there is nothing to learn from."""
    if shares.test.known.all():
        raise DataError("no pixel of the test images is erased; choose a larger share to erase.")
    for agent, part in enumerate(shares.parts):
        n_known, n_images = int(part.known.sum()), len(part.kinds)
        if n_known < n_images:
            raise DataError(
                f"agent {agent} knows only {n_known} pixels of its {n_images} images, less than "
                "one per image; choose a smaller share to erase."
            )
