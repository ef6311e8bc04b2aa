r"""Default strengths of the model of implicit feedback, from the size and density of the table.

With the density p, a table of independent events has, about its mean, singular values of at most
about √p(√n + √m), which the ridges should suppress: at full rank, they are λ(p + a₀)√(mn) times the
nuclear norm.
"""

import math

from grassvine.sums.implicit.model import Strengths
from grassvine.sums.implicit.statistics import EventStatistics

UNOBSERVED = 6.0
REGULARIZATION = 0.35
PRIOR_EVENTS = 10.0


def default_strengths(
    statistics: EventStatistics, unobserved: float | None, regularization: float | None
) -> Strengths:
    """Return the strengths for a table; a₀/p and the multiple of the noise may be given."""
    p, n = statistics.density, statistics.n_users
    m = max(statistics.n_known_items, 1)
    a0 = p * (UNOBSERVED if unobserved is None else unobserved)
    noise = math.sqrt(p) * (1.0 / math.sqrt(m) + 1.0 / math.sqrt(n))
    multiple = REGULARIZATION if regularization is None else regularization
    ridge = multiple * noise / (p + a0)
    return Strengths(
        unobserved=a0,
        regularization=ridge,
        base_regularization=ridge * a0 * m,
        typical_count=statistics.typical_count,
        mean_events=float(statistics.counts.sum()) / n,
        prior_events=PRIOR_EVENTS,
    )
