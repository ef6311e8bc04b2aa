"""What is public: the modules below, and what their ``__all__`` names.

A name is documented once: where ``grassvine`` exports it, or else in the first module that does.
"""

import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

MODULES = {
    "grassvine": "What most programs need",
    "grassvine.estimators": "Estimators",
    "grassvine.problems": "Problems",
    "grassvine.sums": "Exact methods",
    "grassvine.gossip": "Gossip",
    "grassvine.averaging": "Averaging methods",
    "grassvine.baselines": "Baselines",
    "grassvine.networks": "Networks",
    "grassvine.datasets": "Data sets",
    "grassvine.models": "Models",
    "grassvine.metrics": "Measures",
    "grassvine.report.displays": "Displays",
    "grassvine.engines": "Engines",
    "grassvine.protocol": "Protocol",
    "grassvine.geometry": "Geometry",
    "grassvine.checks": "Checks",
}


@cache
def public_names() -> dict[str, dict[str, object]]:
    """Return the objects of each public module that are documented there, by name."""
    seen: set[int] = set()
    return {module: dict(_new_names(import_module(module), seen)) for module in MODULES}


def _new_names(module: ModuleType, seen: set[int]) -> Iterator[tuple[str, object]]:
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.ismodule(value) and id(value) not in seen:
            seen.add(id(value))
            yield name, value


def is_documented(value: object) -> bool:
    """Tell whether an object has a docstring of its own: a type alias or a constant has none."""
    return inspect.isclass(value) or inspect.isfunction(value)
