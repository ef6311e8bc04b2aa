"""The methods compared in the paper, with its budgets, and ours.

Stochastic variants run for 200(N−1) slots, parallel ones for 400; the two agents at the ends of the
path then make about 200 updates and all others 400.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from grassvine.averaging import DLMaFit
from grassvine.geometry import Geometry, Grassmann
from grassvine.gossip import (
    Gossip,
    StepSize,
    parallel,
    precon_parallel,
    precon_stochastic,
    stochastic,
)
from grassvine.protocol import Method
from grassvine.sums import BayesianFactorization, BiasedFactorization, Exact

UPDATES = 200  # per agent at an end of the path


@dataclass(frozen=True)
class Variant:
    """A named method whose budget depends on the number of agents."""

    name: str
    method: Callable[[int], Method]
    rho: float | None = None
    geometry: Geometry = field(default_factory=Grassmann)

    def with_step(self, step: StepSize) -> "Variant":
        """Return the same gossip with another step size, named as tuned."""

        def method(n_agents: int) -> Method:
            made = self.method(n_agents)
            assert isinstance(made, Gossip)
            return replace(made, step=step)

        return replace(self, name=f"{self.name}, tuned", method=method)


def stochastic_gossip(rho: float, updates: int = UPDATES) -> Variant:
    """Return Stochastic Gossip: one link per slot, plain gradients, linearised steps."""
    return Variant("Stochastic Gossip", lambda n: stochastic(rho, updates * (n - 1)), rho)


def precon_stochastic_gossip(rho: float, updates: int = UPDATES) -> Variant:
    """Return Precon Stochastic Gossip: one link per slot, preconditioned gradients, unit steps."""
    name = "Precon Stochastic Gossip"
    return Variant(name, lambda n: precon_stochastic(rho, updates * (n - 1)), rho)


def parallel_gossip(rho: float, updates: int = UPDATES) -> Variant:
    """Return Parallel Gossip: disjoint links in each slot, plain gradients."""
    return Variant("Parallel Gossip", lambda n: parallel(rho, 2 * updates), rho)


def precon_parallel_gossip(rho: float, updates: int = UPDATES) -> Variant:
    """Return Precon Parallel Gossip: disjoint links in each slot, preconditioned gradients."""
    return Variant("Precon Parallel Gossip", lambda n: precon_parallel(rho, 2 * updates), rho)


def d_lmafit(max_omega: float, iterations: int = 2 * UPDATES) -> Variant:
    """Return D-LMaFit with ω = 1, or with ω growing up to a bound."""
    omega = "ω = 1" if max_omega == 1.0 else f"ω ≤ {max_omega:g}"
    return Variant(f"D-LMaFit, {omega}", lambda n: DLMaFit(iterations, max_omega))


def exact() -> Variant:
    """Return the exact method, which is not in the paper: sums along a tree, nothing to tune."""
    return Variant("exact (tree sums)", lambda n: Exact())


def variational_bayes() -> Variant:
    """Return the exact method that integrates users out and learns all variances."""
    return Variant("variational Bayes (tree sums)", lambda n: BayesianFactorization())


def exact_with_biases() -> Variant:
    """Return the exact method with biases; the agents choose its regularisation."""
    return Variant("exact, with biases (tree sums)", lambda n: BiasedFactorization())


def describe_step(method: Method) -> str | None:
    """Describe the step size of a gossip method; None for other methods."""
    if not isinstance(method, Gossip):
        return None
    step = method.step
    size = "linearised" if step.a is None else f"a = {step.a:.3g}"
    return f"{size}, b = {step.b:g}"
