"""Plans as TOML: tables correspond to frozen dataclasses, and classes are referred to by name."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

import tomli_w

from grassvine.averaging.deepca import DeEPCA
from grassvine.averaging.dlmafit import DLMaFit
from grassvine.averaging.rextra import REXTRA
from grassvine.averaging.tracking import Tracked
from grassvine.foundations.documents import parse_toml
from grassvine.foundations.errors import PlanError, unknown
from grassvine.geometry import Euclidean, Grassmann
from grassvine.gossip.method import Gossip, GrowingRho, StepSize
from grassvine.networks import (
    AllEdges,
    Epochs,
    Matchings,
    Network,
    OneEdge,
    PoissonClocks,
    Recorded,
)
from grassvine.sums.bayes.method import BayesianFactorization
from grassvine.sums.biased.method import BiasedFactorization
from grassvine.sums.exact import Exact
from grassvine.sums.implicit.ease import EASE
from grassvine.sums.implicit.method import ImplicitFactorization
from grassvine.sums.validated import Validated

if TYPE_CHECKING:
    from grassvine.runs.plan import Plan

FORMAT = 1
METHODS: dict[str, type] = {
    "gossip": Gossip,
    "exact": Exact,
    "validated": Validated,
    "biased-factorization": BiasedFactorization,
    "implicit-factorization": ImplicitFactorization,
    "ease": EASE,
    "bayesian-factorization": BayesianFactorization,
    "tracked": Tracked,
    "rextra": REXTRA,
    "deepca": DeEPCA,
    "d-lmafit": DLMaFit,
}
GEOMETRIES: dict[str, type] = {"grassmann": Grassmann, "euclidean": Euclidean}
SCHEDULES: dict[str, type] = {
    "one-edge": OneEdge,
    "matchings": Matchings,
    "all-edges": AllEdges,
    "poisson-clocks": PoissonClocks,
    "epochs": Epochs,
    "recorded": Recorded,
}

Record = TypeVar("Record")


def write(plan: "Plan") -> str:
    """Return a plan as TOML."""
    document = {
        "format": FORMAT,
        "n_items": plan.n_items,
        "rank": plan.rank,
        "seed": plan.seed,
        "geometry": _name(plan.geometry, GEOMETRIES, "geometry"),
        "network": {
            "n_agents": plan.network.n_agents,
            "edges": [list(edge) for edge in plan.network.edges],
        },
        "method": {"kind": _name(plan.method, METHODS, "method"), **_options(plan.method)},
    }
    return tomli_w.dumps(document)


def read(text: str) -> dict[str, Any]:
    """Return the constructor arguments of a plan from TOML."""
    try:
        document = parse_toml(text)
    except ValueError as cause:
        raise PlanError(f"the plan is not valid TOML ({cause}); correct it there.") from None
    keys = {"format", "n_items", "rank", "seed", "geometry", "network", "method"}
    _check_keys(document, "", keys, required=keys)
    if (found := document.pop("format")) != FORMAT or type(found) is not int:
        raise PlanError(f"the plan is not of format {FORMAT}; use the version that wrote it.")
    network = _table(document, "network")
    network["edges"] = tuple(tuple(edge) for edge in _list(network, "edges"))
    return {
        **document,
        "geometry": _kind(document["geometry"], GEOMETRIES, "geometry")(),
        "network": _build(Network, network, "network"),
        "method": _method(_table(document, "method")),
    }


def _options(method: object) -> dict[str, Any]:
    options = _items(method)
    if isinstance(method, Gossip):
        # TOML has no null: a step without `a` is automatic.
        step = {name: value for name, value in _items(method.step).items() if value is not None}
        options |= {"schedule": _schedule_options(method.schedule), "step": step}
        if isinstance(method.rho, GrowingRho):
            options["rho"] = _items(method.rho)
    return options


def _method(table: dict[str, Any]) -> Any:
    kind = _kind(table.pop("kind", None), METHODS, "method.kind")
    if kind is Gossip:
        if "schedule" in table:
            table["schedule"] = _schedule(table["schedule"], "method.schedule")
        if isinstance(table.get("rho"), dict):
            table["rho"] = _build(GrowingRho, table["rho"], "method.rho")
        table["step"] = _build(StepSize, {"a": None, **_table(table, "step")}, "method.step")
    return _build(kind, table, "method")


def _schedule_options(schedule: object) -> str | dict[str, Any]:
    """Return the name of a schedule, or a table if it has options."""
    name = _name(schedule, SCHEDULES, "schedule")
    options = {key: value for key, value in _items(schedule).items() if value is not None}
    if "schedule" in options:
        options["schedule"] = _schedule_options(options["schedule"])
    return {"kind": name, **options} if options else name


def _schedule(value: object, where: str) -> Any:
    table = dict(value) if isinstance(value, dict) else {"kind": value}
    kind = _kind(table.pop("kind", None), SCHEDULES, where)
    if "schedule" in table:
        table["schedule"] = _schedule(table["schedule"], f"{where}.schedule")
    return _build(kind, table, where)


def _items(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _build(kind: type[Record], table: Mapping[str, Any], where: str) -> Record:
    known = fields(kind)  # type: ignore[arg-type]
    needed = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
    _check_keys(table, f"{where}.", {field.name for field in known}, required=needed)
    return kind(**table)


def _check_keys(table: Mapping[str, Any], where: str, known: set[str], required: set[str]) -> None:
    for key in table:
        if key not in known:
            raise PlanError(f"{where}{key}: {unknown('key', key, known)}")
    if missing := sorted(required - set(table)):
        raise PlanError(f"{where}{missing[0]} is missing; add it to the plan.")


def _table(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = document.get(key)
    if not isinstance(table, dict):
        raise PlanError(f"{key} is missing or not a table; add [{key}] with its keys.")
    return dict(table)


def _list(table: Mapping[str, Any], key: str) -> list[list[Any]]:
    value = table.get(key)
    if not isinstance(value, list) or not all(isinstance(pair, list) for pair in value):
        raise PlanError(f"network.{key} must be a list of pairs; write it as [[0, 1], [1, 2]].")
    return value


def _name(record: object, names: Mapping[str, type], what: str) -> str:
    for name, kind in names.items():
        if type(record) is kind:
            return name
    raise PlanError(
        f"a {what} of type {type(record).__name__} cannot be written as TOML; "
        f"choose from {', '.join(names)}."
    )


def _kind(name: object, names: Mapping[str, type], where: str) -> type:
    if not isinstance(name, str) or name not in names:
        raise PlanError(unknown(where, name, names))
    return names[name]
