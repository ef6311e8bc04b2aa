"""Where in a cluster an agent may live."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import real_number


@dataclass(frozen=True)
class Placement:
    """What a node must offer to an agent, such as the disk with its file.

    Parameters
    ----------
    labels : mapping of str to str
        Labels of the node, as ``ray start --labels`` gives them.
    resources : mapping of str to float
        How much the agent's actor takes of which resources, as ``ray start --resources`` offers
        them; ``"CPU"``, ``"GPU"`` and ``"memory"`` in bytes too.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the options."""
        for name, amount in self.resources.items():
            real_number(f"resources[{name!r}]", amount, least=0.0)
        for name, label in self.labels.items():
            if not isinstance(label, str):
                raise PlanError(f"labels[{name!r}] is {label!r}; give a word, as nodes have them.")

    def actor_options(self) -> dict[str, Any]:
        """Return the place in Ray's words."""
        known = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
        own = {name: amount for name, amount in self.resources.items() if name not in known}
        return {
            "label_selector": dict(self.labels) or None,
            "resources": own or None,
            **{known[name]: self.resources[name] for name in self.resources if name in known},
        }

    def is_offered_by(self, node: Mapping[str, Any]) -> bool:
        """Tell whether a node, as Ray lists them, is alive and has all of it."""
        labels, resources = node.get("Labels") or {}, node.get("Resources") or {}
        return (
            bool(node["Alive"])
            and all(labels.get(name) == label for name, label in self.labels.items())
            and all(resources.get(name, 0.0) >= wanted for name, wanted in self.resources.items())
        )

    def lack(self, agent: int) -> str:
        """Say that no node offers the place of an agent."""
        wanted = ", ".join(
            [f"label {name}={label}" for name, label in self.labels.items()]
            + [f"{amount:g} of {name}" for name, amount in self.resources.items()]
        )
        return (
            f"no node of the cluster offers what agent {agent} needs: {wanted}; start one that "
            "does (ray start --labels, --resources), or change its place."
        )


ANYWHERE = Placement()
