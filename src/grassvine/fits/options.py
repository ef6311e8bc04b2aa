"""Options of a fit that are given by name: networks, engines, variants of gossip."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from grassvine.averaging import REXTRA, Tracked
from grassvine.engines import Engine, LocalEngine, RayEngine, ThreadsEngine
from grassvine.foundations.callers import stack_level
from grassvine.foundations.errors import NetworkError, Option, PlanError
from grassvine.foundations.options import one_of, whole_number
from grassvine.gossip import (
    parallel,
    precon_parallel,
    precon_stochastic,
    stochastic,
    with_growing_rho,
)
from grassvine.networks import Network, complete, erdos_renyi, exponential, grid, path, ring, star
from grassvine.protocol import Method

MANY_AGENTS = 50
DEEP = 3  # times the height of the tree of an exponential network

LINKED = 0.3  # probability of a link in a random network


def _random(n_agents: int) -> Network:
    return path(n_agents) if n_agents < 3 else erdos_renyi(n_agents, LINKED, seed=0)


NETWORKS: Mapping[str, Callable[[int], Network]] = {
    "path": path,
    "ring": ring,
    "star": star,
    "grid": grid,
    "complete": complete,
    "exponential": exponential,
    "random": _random,
}
ENGINES: Mapping[str, Callable[[], Engine]] = {
    "local": LocalEngine,
    "threads": ThreadsEngine,
    "ray": RayEngine,
}

# Consensus weight, in the unit of each estimator.
Rho: TypeAlias = float | Literal["auto"]

# Arguments: ρ, the approximate number of updates per agent, and the number of agents.
_Maker = Callable[[float, int, int], Method]
GOSSIP: Mapping[str, _Maker] = {
    "gossip": lambda rho, max_iter, n: precon_stochastic(rho, max_iter * (n - 1)),
    "precon-stochastic": lambda rho, max_iter, n: precon_stochastic(rho, max_iter * (n - 1)),
    "stochastic": lambda rho, max_iter, n: stochastic(rho, max_iter * (n - 1)),
    "precon-parallel": lambda rho, max_iter, n: precon_parallel(rho, 2 * max_iter),
    "parallel": lambda rho, max_iter, n: parallel(rho, 2 * max_iter),
    "tracked": lambda rho, max_iter, n: Tracked(max_iter),
    "rextra": lambda rho, max_iter, n: REXTRA(max_iter),
}


def number_or_auto(name: str, value: object, kind: str = "a number") -> None:
    """Refuse text other than ``"auto"``."""
    if isinstance(value, str) and value != "auto":
        raise PlanError(Option(name), f" is {value!r}; use {kind} or 'auto'.")


def as_network(network: str | Network, n_agents: int, method: Method) -> Network:
    """Return a network of the given size; warn if its spanning tree is deep."""
    if not isinstance(network, Network):
        network = NETWORKS[one_of("network", network, NETWORKS)](n_agents)
    elif network.n_agents != n_agents:
        raise NetworkError(
            f"the network has {network.n_agents} agents, but the data are divided among "
            f"{n_agents}; pass a network of that size, or a name."
        )
    if getattr(method, "works_alone", False) and n_agents >= MANY_AGENTS:
        height, low = network.tree.height, exponential(n_agents).tree.height
        if height > DEEP * low:
            from sklearn.exceptions import EfficiencyWarning  # slow to import

            warnings.warn(
                f"the spanning tree of these {n_agents} agents has height {height}, so every sum "
                f"takes {2 * height} slots; the network 'exponential' needs {2 * low}, 'star' 2.",
                EfficiencyWarning,
                stacklevel=stack_level(),
            )
    return network


def as_engine(engine: str | Engine) -> Engine:
    """Return an engine by its name, or as it is."""
    if not isinstance(engine, str):
        return engine
    return ENGINES[one_of("engine", engine, ENGINES)]()


def with_checkpoint_subfolder(engine: Engine, name: str) -> Engine:
    """Return the engine with a checkpoint subfolder, because each run needs its own."""
    if not isinstance(engine, RayEngine) or engine.checkpoint_dir is None:
        return engine
    return replace(engine, checkpoint_dir=Path(engine.checkpoint_dir) / name)


def gossip_by_name(
    name: str,
    rho: Rho,
    max_iter: int,
    n_agents: int,
    *,
    squares: float,
    share: float,
    alone: str = "exact",
) -> Method:
    """Return a variant of gossip, or a method that averages with neighbours.

    Parameters
    ----------
    rho : float or "auto"
        Constant consensus weight. With ``"auto"``, method ``"gossip"`` has a growing weight and one
        starting point for all agents, and the paper's variants have a constant weight.
    squares : float
        Sum of the squared values of all agents.
    share : float
        The constant weight with ``"auto"``, as a multiple of the mean of ``squares`` per agent.
    alone : str, default="exact"
        The method that supports a single agent, to which an error refers.
    """
    whole_number("max_iter", max_iter, least=1)
    if n_agents < 2:
        raise PlanError(
            f"method {name!r} needs two agents or more; use ",
            Option("agents", 2),
            ", or ",
            Option("method", alone),
            ", which supports a single agent.",
        )
    if rho != "auto":
        return GOSSIP[name](rho, max_iter, n_agents)
    if name == "gossip":
        return with_growing_rho(squares, n_agents, max_iter)
    return GOSSIP[name](share * squares / n_agents, max_iter, n_agents)
