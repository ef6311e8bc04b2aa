"""Plans of runs between members as TOML."""

from typing import TYPE_CHECKING, Any

import tomli_w

from grassvine.foundations.errors import PlanError
from grassvine.peers.documents import Types, check_keys, parsed
from grassvine.peers.fit.learning import OF_ITEMS, Learning, MethodChoice
from grassvine.peers.identity.cards import Card

if TYPE_CHECKING:
    from grassvine.peers.plan.group_plan import GroupPlan

FORMAT = 1
_NUMBER = (float, int)
_TOP: Types = {
    "format": (int,),
    "seed": (int,),
    "sums": (str,),
    "secrecy": (str,),
    "encoding": (str,),
    "timetable": (str,),
    "links": (list,),
    "model": (dict,),
    "method": (dict,),
    "limits": (dict,),
    "members": (list,),
}
_MODEL: Types = {"kind": (str,), "rank": (int,), "holdout": _NUMBER, "min_support": (int,)}
_ONE_OF_MODEL: Types = {
    "items": (list,),
    "features": (list,),
    "lowest": _NUMBER,
    "highest": _NUMBER,
    "target": (str,),
    "task": (str,),
}
_METHOD: Types = {"name": (str,)}
_METHOD_OPTIONS: Types = {
    "regularization": (*_NUMBER, str),
    "alpha": _NUMBER,
    "rho": (*_NUMBER, str),
    "max_iter": (int,),
    "clock": (str,),
}
_LIMITS: Types = {"message_bytes": (int,), "patience": _NUMBER}


def as_document(plan: "GroupPlan") -> dict[str, Any]:
    """Return a plan as nested tables of plain values."""
    learning = plan.learning
    optional = {name: getattr(learning, name) for name in ("lowest", "highest", "target", "task")}
    return {
        "format": FORMAT,
        "seed": plan.seed,
        "sums": plan.sums,
        "secrecy": plan.secrecy,
        "encoding": plan.encoding,
        "timetable": plan.timetable,
        "links": [list(link) for link in plan.links],
        "model": {
            "kind": learning.kind,
            "rank": learning.rank,
            "holdout": learning.holdout,
            "min_support": learning.min_support,
            **{name: value for name, value in optional.items() if value is not None},
            _catalogue_key(learning.kind): list(learning.catalogue),
        },
        "method": {
            "name": learning.method.name,
            **learning.method.options,
        },
        "limits": {
            "message_bytes": plan.limits.message_bytes,
            "patience": plan.limits.patience,
        },
        "members": [member.as_table() for member in plan.members],
    }


def write(plan: "GroupPlan") -> str:
    """Return a plan as TOML."""
    return tomli_w.dumps(as_document(plan), multiline_strings=True)


def read(text: str) -> dict[str, Any]:
    """Return the constructor arguments of a plan from TOML that others wrote."""
    from grassvine.peers.plan.group_plan import Limits

    found = check_keys(parsed(text, "the plan"), "", _TOP, {})
    if found.pop("format") != FORMAT:
        raise PlanError(
            f"format is not {FORMAT}; all members need the grassvine that wrote the plan."
        )
    model = check_keys(found.pop("model"), "model.", _MODEL, _ONE_OF_MODEL)
    method = check_keys(found.pop("method"), "method.", _METHOD, _METHOD_OPTIONS)
    limits = check_keys(found.pop("limits"), "limits.", _LIMITS, {})
    return {
        **found,
        "links": tuple(_link(link) for link in found["links"]),
        "learning": _learning(model, MethodChoice(**method)),
        "limits": Limits(**limits),
        "members": tuple(
            Card.from_table(table, f"members.{number}.")
            for number, table in enumerate(found["members"])
        ),
    }


def _learning(model: dict[str, Any], method: MethodChoice) -> Learning:
    key = _catalogue_key(model["kind"])
    other = "items" if key == "features" else "features"
    if key not in model:
        raise PlanError(f"model.{key} is missing; add the catalogue.")
    if other in model:
        raise PlanError(f"model.{other} is not for {model['kind']}; leave it out.")
    return Learning(catalogue=tuple(_ids(model.pop(key), key)), method=method, **model)


def _ids(given: list[Any], key: str) -> list[Any]:
    if not all(type(one) in (int, str) for one in given):
        raise PlanError(f"model.{key} must be a list of text or of whole numbers; correct it.")
    return given


def _link(given: object) -> tuple[str, str]:
    if not (isinstance(given, list) and len(given) == 2 and all(type(n) is str for n in given)):
        raise PlanError("links must be pairs of who dials and who listens, by name; correct them.")
    return given[0], given[1]


def _catalogue_key(kind: object) -> str:
    return "items" if kind in OF_ITEMS else "features"
