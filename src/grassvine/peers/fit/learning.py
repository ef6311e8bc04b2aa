"""What the members learn, and how: model, catalogue, method and its options."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import one_of, real_number, whole_number

KINDS = ("ratings", "events", "tasks", "pca")
OF_ITEMS = ("ratings", "events")  # kinds with a catalogue of items, not features
CLOCKS = ("common", "own")
BAYES = "bayes"  # of ratings and tasks
MAP, EXACT_SUBSPACE = "map", "exact-subspace"  # of ratings
EXACT = "exact"  # of tasks and components
GOSSIP = ("gossip", "stochastic", "precon-stochastic", "parallel", "precon-parallel")
WITH_OWN_CLOCK = ("gossip", "stochastic", "precon-stochastic")  # one meeting at a time
MAX_ITEMS = 1_000_000
MAX_ID = 200  # characters of an item or column
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
Auto: TypeAlias = float | Literal["auto"]
Catalogue: TypeAlias = tuple[str, ...] | tuple[int, ...]

# The options of each method, with their defaults.
_GOSSIP_RATINGS = {"regularization": 0.02, "rho": "auto", "max_iter": 400}
DEFAULTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ratings": {
        BAYES: {},
        MAP: {"regularization": "auto"},
        EXACT_SUBSPACE: {"regularization": "auto"},
        **dict.fromkeys(GOSSIP, _GOSSIP_RATINGS),
    },
    "events": {EXACT: {}},
    "tasks": {
        BAYES: {},
        EXACT: {"alpha": 1.0},
        **{name: {"alpha": 1.0, "rho": "auto", "max_iter": 200} for name in GOSSIP},
    },
    "pca": {EXACT: {}, **{name: {"rho": "auto", "max_iter": 500} for name in GOSSIP}},
}


def usual_method(kind: str) -> str:
    """Return the method of a plan that names none."""
    return BAYES if kind in ("ratings", "tasks") else EXACT


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """A method by its name, and its options; None where the method has no such option.

    Parameters
    ----------
    name : str
        ``"exact"``; for ratings and tasks ``"bayes"``; for ratings ``"map"`` or
        ``"exact-subspace"``; or a variant of gossip.
    regularization : float or "auto", optional
        For ratings: μ of method ``"map"``, λ of the paper's formulation.
    alpha : float, optional
        For tasks: regularisation strength of their weights.
    rho : float or "auto", optional
        For gossip: the consensus weight, as the estimator of the kind takes it.
    max_iter : int, optional
        For gossip: about how many updates each member makes.
    clock : {"common", "own"}, optional
        For gossip with one meeting at a time: ``"own"`` for members that meet whoever has time,
        instead of by a common timetable. None is ``"common"``.
    """

    name: str = EXACT
    regularization: Auto | None = None
    alpha: float | None = None
    rho: Auto | None = None
    max_iter: int | None = None
    clock: str | None = None

    def __post_init__(self) -> None:
        """Turn integers into floats, so that 1 and 1.0 are one plan; drop the default clock."""
        if self.clock is not None and one_of("clock", self.clock, CLOCKS) == "common":
            object.__setattr__(self, "clock", None)
        for name in ("regularization", "alpha", "rho"):
            value = getattr(self, name)
            if value is not None and value != "auto":
                object.__setattr__(self, name, real_number(name, value, least=0.0) + 0.0)

    @property
    def gossips(self) -> bool:
        """Whether members exchange bases instead of sums."""
        return self.name in GOSSIP

    @property
    def own_clock(self) -> bool:
        """Whether members meet whoever has time, without a timetable."""
        return self.clock == "own"

    @property
    def options(self) -> dict[str, Any]:
        """The options that the method has."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "name"}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of(cls, kind: str, name: str | None, options: Mapping[str, Any]) -> "MethodChoice":
        """Return a method of a kind of model, with its defaults for options that are not given.

        Without a name, it is that of the estimators: ``"bayes"`` for tasks, else ``"exact"``.
        """
        defaults = DEFAULTS[one_of("kind", kind, KINDS)]
        name = next(iter(defaults)) if name is None else name
        known = defaults[one_of("method", name, defaults)]
        listed = [*known, *(["clock"] if name in WITH_OWN_CLOCK else [])]
        for key in options:
            if key not in listed:
                raise PlanError(
                    f"method {name!r} for {kind} has no option {key}; "
                    + (f"its options are {', '.join(listed)}." if listed else "it has none.")
                )
        return cls(name, **{**known, **options})

    def check(self, kind: str) -> None:
        """Raise :class:`PlanError` if this is not a method of the kind, or an option is wrong."""
        defaults = DEFAULTS[kind]
        known = defaults[one_of("method.name", self.name, defaults)]
        if self.clock is not None and self.name not in WITH_OWN_CLOCK:
            raise PlanError(
                f"method {self.name!r} has no clock; the methods that have one are "
                f"{', '.join(WITH_OWN_CLOCK)}."
            )
        if set(self.options) - {"clock"} != set(known):
            raise PlanError(
                f"method {self.name!r} for {kind} has the options {', '.join(known) or 'none'}, "
                f"not {', '.join(self.options) or 'none'}; correct the plan."
            )
        if self.regularization == "auto" and self.gossips:
            raise PlanError("gossip cannot choose the regularization; use a number below 1.")
        if self.name == MAP and self.regularization == 0.0:
            raise PlanError("regularization is 0; choose a positive number, or auto.")
        if self.name != MAP and isinstance(self.regularization, float):
            real_number("regularization", self.regularization, least=0.0, below=1.0)
        if self.max_iter is not None:
            whole_number("max_iter", self.max_iter, least=1, most=100_000)


@dataclass(frozen=True, slots=True)
class Learning:
    """What the members learn, and how.

    Parameters
    ----------
    kind : {"ratings", "events", "tasks", "pca"}
    catalogue : tuple of str or int
        For ratings and events the ids of the items, in ascending order; else the columns that are
        features.
    rank : int
        Number of factors, dimension of the subspace or number of components.
    method : MethodChoice
    lowest, highest : float, optional
        For ratings: the scale. Ratings outside are refused. Without a scale every member tells
        all others its lowest and its highest rating.
    target, task : str, optional
        For tasks: the columns to predict, and with the ids of tasks.
    holdout : float
        The share of its ratings or samples that every member holds out to measure the error.
    min_support : int
        Items with fewer ratings of all members, and features that fewer samples determine, take no
        part in the fit, since totals would show those few; with fewer users, tasks or samples
        there is no fit at all.
    """

    kind: str
    catalogue: Catalogue
    rank: int
    method: MethodChoice = field(default_factory=MethodChoice)
    lowest: float | None = None
    highest: float | None = None
    target: str | None = None
    task: str | None = None
    holdout: float = 0.0
    min_support: int = 1

    def __post_init__(self) -> None:
        """Check that everything fits the kind."""
        one_of("kind", self.kind, KINDS)
        _check_catalogue(self.catalogue, self.kind)
        n_items = len(self.catalogue)
        what = "items" if self.kind in OF_ITEMS else "features"
        whole_number("rank", self.rank, least=1, most=n_items, why=f"there are {n_items} {what}")
        self.method.check(self.kind)
        share = real_number("holdout", self.holdout, least=0.0, below=1.0) + 0.0
        object.__setattr__(self, "holdout", share)
        if self.kind == "pca" and self.holdout:
            raise PlanError("nothing can be held out for components; set holdout to 0.")
        whole_number("min_support", self.min_support, least=1)
        self._check_scale()
        for name in ("target", "task"):
            column = getattr(self, name)
            if self.kind == "tasks":
                _check_id(column, name)
                if column in self.catalogue:
                    raise PlanError(f"the {name} {column!r} is also a feature; list it once.")
            elif column is not None:
                raise PlanError(f"{name} is only for tasks; leave it out.")
        if self.kind == "tasks" and self.target == self.task:
            raise PlanError(f"target and task are both {self.task!r}; name two columns.")

    @property
    def n_items(self) -> int:
        """The number of items or features."""
        return len(self.catalogue)

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and highest rating there can be, if the plan has them."""
        if self.lowest is None or self.highest is None:
            return None
        return self.lowest, self.highest

    def _check_scale(self) -> None:
        given = [bound for bound in (self.lowest, self.highest) if bound is not None]
        if given and self.kind != "ratings":
            raise PlanError("a scale is only for ratings; leave lowest and highest out.")
        if len(given) == 1:
            raise PlanError("a scale has a lowest and a highest rating; give both, or neither.")
        for name in ("lowest", "highest"):
            if (bound := getattr(self, name)) is not None:
                object.__setattr__(self, name, real_number(name, bound) + 0.0)
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise PlanError(
                f"the lowest rating, {self.lowest:g}, is not below the highest, {self.highest:g}; "
                "correct them."
            )


def _check_catalogue(catalogue: Catalogue, kind: str) -> None:
    what = "items" if kind in OF_ITEMS else "features"
    if not isinstance(catalogue, tuple) or not 1 <= len(catalogue) <= MAX_ITEMS:
        raise PlanError(f"{what} must be a list of 1 to {MAX_ITEMS} ids; correct the plan.")
    kinds = {type(one) for one in catalogue}
    if kinds == {int} and kind in OF_ITEMS:
        if not all(-(2**63) <= one < 2**63 for one in catalogue if isinstance(one, int)):
            raise PlanError("an item id does not fit 64 bits; use text for ids.")
    elif kinds == {str}:
        for one in catalogue:
            _check_id(one, what)
    else:
        wanted = "all text, or all whole numbers" if kind in OF_ITEMS else "text"
        raise PlanError(f"{what} must be {wanted}; correct the plan.")
    if len(set(catalogue)) < len(catalogue):
        raise PlanError(f"{what} has an entry twice; list each once.")
    if kind in OF_ITEMS and list(catalogue) != in_order(catalogue):
        raise PlanError(
            "items are not in ascending order; draft the plan by 'grassvine peer plan'."
        )


def in_order(catalogue: Catalogue) -> list[Any]:
    """Return ids in the order in which tables number them: text by its UTF-8 bytes."""
    return sorted(catalogue, key=lambda one: one.encode() if isinstance(one, str) else one)


def _check_id(given: object, what: str) -> None:
    if not isinstance(given, str) or not 1 <= len(given) <= MAX_ID:
        raise PlanError(f"{what} must be text of 1 to {MAX_ID} characters; correct the plan.")
    if _CONTROL.search(given):
        raise PlanError(f"{what}: {given!a} contains control characters; rename it.")
