r"""Default strengths of the model of implicit feedback, from the size and density of the table.

With the density p, a table of independent events has, about its mean, singular values of at most
about √p(√n + √m), which the ridges should suppress: at full rank, they are λ(p + a₀)√(mn) times the
nuclear norm. The mean itself has a singular value of about p√(mn). Their ratio

.. math::

    q = \frac{p\sqrt{mn}}{\sqrt p (\sqrt n + \sqrt m)}
      = \frac{1}{\sqrt{m/|Ω|} + \sqrt{n/|Ω|}}

tells how well the events of a user and of an item reveal more than noise. Where it is small, ridges
are stronger and pairs without an event weigh less. The constants were read off tables of q from 0.8
to 6.5: docs/decisions/0022-implicit-feedback.md.
"""

import math

from grassvine.sums.implicit.model import Strengths
from grassvine.sums.implicit.statistics import EventStatistics

# a₀/p and the ridge in units of the noise, from q; and the number of events of the levels.
UNOBSERVED = (1.7, 3.0, 6.0)  # times q, at least, at most
REGULARIZATION = (0.63, 0.07, 0.35)  # constant, minus times q, at least
PRIOR_EVENTS = 20.0
# The rank of a table of this many events, and how it grows.
RANK, RANK_EVENTS, RANK_EXPONENT = 64, 8e5, 0.3
RANKS = 4, 128


def default_strengths(
    statistics: EventStatistics, unobserved: float | None, regularization: float | None
) -> Strengths:
    """Return the strengths for a table; a₀/p and the ridge in units of the noise may be given."""
    p, n = statistics.density, statistics.n_users
    m = max(statistics.n_known_items, 1)
    n_events, q = float(statistics.counts.sum()), statistics.information
    if unobserved is None:
        slope, least, most = UNOBSERVED
        unobserved = min(max(slope * q, least), most)
    if regularization is None:
        constant, slope, least = REGULARIZATION
        regularization = max(constant - slope * q, least)
    a0 = max(p, 1e-12) * unobserved
    noise = math.sqrt(p) * (1.0 / math.sqrt(m) + 1.0 / math.sqrt(n))
    ridge = max(regularization * noise / (p + a0), 1e-12)
    return Strengths(
        unobserved_weight=a0,
        ridge=ridge,
        base_ridge=ridge * a0 * m,
        typical_count=statistics.typical_count,
        mean_events=max(n_events / n, 1e-12),
        prior_events=PRIOR_EVENTS,
    )


def default_rank(n_events: int, n_users: int, n_items: int) -> int:
    """Return the rank for a table: it grows slowly, and stays well below users and items."""
    wanted = RANK * (n_events / RANK_EVENTS) ** RANK_EXPONENT
    rank = min(max(4 * round(wanted / 4), RANKS[0]), RANKS[1])
    return min(rank, max(n_items // 6, 2), max(n_users // 6, 2), n_items)
