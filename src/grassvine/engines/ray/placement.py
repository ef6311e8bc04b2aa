"""Requirements of agents on the nodes of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number


@dataclass(frozen=True)
class Placement:
    """Requirements of an agent on its node, such as the disk with its file.

    Parameters
    ----------
    labels : mapping of str to str, optional
        Labels that the node must have, as set by ``ray start --labels``.
    resources : mapping of str to float, optional
        Resources that the agent's actor reserves, as set by ``ray start --resources``, or
        ``"CPU"``, ``"GPU"`` and ``"memory"`` (in bytes).

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.engines import Placement
    >>> places = [Placement(labels={"shop": shop}) for shop in ("north", "south")]
    >>> engine = gv.RayEngine(placements=places, checkpoint_dir="/shared/checkpoints")
    >>> engine.placements[0].labels["shop"]
    'north'
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the options."""
        for name, amount in self.resources.items():
            real_number(f"resources[{name!r}]", amount, least=0.0)
        for name, label in self.labels.items():
            if not isinstance(label, str):
                raise PlanError(f"labels[{name!r}] is {label!r}; pass a string.")

    def actor_options(self) -> dict[str, Any]:
        """Return the requirements as options of a Ray actor."""
        known = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
        custom = {name: amount for name, amount in self.resources.items() if name not in known}
        return {
            "label_selector": dict(self.labels) or None,
            "resources": custom or None,
            **{known[name]: self.resources[name] for name in self.resources if name in known},
        }

    def is_offered_by(self, node: Mapping[str, Any]) -> bool:
        """Return whether a node from ``ray.nodes()`` is alive and meets the requirements."""
        labels, resources = node.get("Labels") or {}, node.get("Resources") or {}
        return (
            bool(node["Alive"])
            and all(labels.get(name) == label for name, label in self.labels.items())
            and all(resources.get(name, 0.0) >= wanted for name, wanted in self.resources.items())
        )

    def unavailable_message(self, agent: int) -> str:
        """Return the error message for an agent whose requirements no node meets."""
        wanted = ", ".join(
            [f"label {name}={label}" for name, label in self.labels.items()]
            + [f"{amount:g} of {name}" for name, amount in self.resources.items()]
        )
        return (
            f"no node of the cluster has what agent {agent} needs: {wanted}; start one that does "
            "(ray start --labels, --resources) or change the agent's placement."
        )


ANYWHERE = Placement()
