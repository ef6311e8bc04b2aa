"""Mutated cards and plans of runs between members."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.outcome import Outcome, tried
from tests.fuzz.plans import mutated_toml

from grassvine.peers.fit.learning import Learning, MethodChoice
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.identity import create_identity
from grassvine.peers.plan.explain import explain
from grassvine.peers.plan.group_plan import GroupPlan

COUNT = 6_000


@cache
def texts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return cards, and plans of every kind of model."""
    with TemporaryDirectory() as folder:
        cards = [
            create_identity(f"clinic-{letter}", address, Path(folder) / letter).card
            for letter, address in (("a", "a.example:443"), ("b", "[::1]:8443"), ("c", None))
        ]
    what = [
        Learning("ratings", ("x", "y", "z"), 2, MethodChoice.of("ratings", "map", {}), 1.0, 5.0),
        Learning("ratings", (1, 2, 30), 1, MethodChoice.of("ratings", "gossip", {"max_iter": 9})),
        Learning(
            "tasks", ("f", "g"), 1, MethodChoice.of("tasks", "exact", {}), target="y", task="t"
        ),
        Learning("pca", ("f", "g", "h"), 2, MethodChoice.of("pca", "parallel", {"max_iter": 9})),
    ]
    plans = tuple(GroupPlan.draft(cards, one, seed=3, secrecy="none").to_toml() for one in what)
    return tuple(card.to_toml() for card in cards), plans


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Read mutants of cards and plans, also of the certificates in them."""
    return tried(_mutants(count, Random(f"peer documents {seed}")))


def _mutants(count: int, rng: Random) -> Iterator[tuple[str, Callable[[], str | None]]]:
    cards, plans = texts()
    for number in range(count):
        if number % 2:
            card = _mutant(rng, rng.choice(cards))
            yield f"card {number}", lambda text=card: _read_card(text)  # type: ignore[misc]
        else:
            plan = _mutant(rng, rng.choice(plans))
            yield f"plan {number}", lambda text=plan: _read_plan(text)  # type: ignore[misc]


def _mutant(rng: Random, text: str) -> str:
    """Mutate a document, or the bytes that a certificate in it encodes, or the layout alone."""
    if rng.random() < 0.1:
        return f"# {rng.random()}\n{text}"
    if rng.random() < 0.6:
        return mutated_toml(rng, text)
    from base64 import b64decode, b64encode
    from textwrap import wrap

    head, rest = text.split("-----BEGIN CERTIFICATE-----\n", 1)
    body, tail = rest.split("-----END CERTIFICATE-----", 1)
    data = mutated_bytes(rng, b64decode(body))
    body = "\n".join(wrap(b64encode(data).decode(), 64))
    return f"{head}-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----{tail}"


def _read_card(text: str) -> str | None:
    card = Card.from_toml(text)
    if Card.from_toml(card.to_toml()) != card:
        return "is not what it writes"
    return None


def _read_plan(text: str) -> str | None:
    plan = GroupPlan.from_toml(text)
    again = GroupPlan.from_toml(plan.to_toml())
    if again != plan or again.digest != plan.digest:
        return "is not what it writes"
    if plan.learning.method.max_iter is None or plan.learning.method.max_iter < 1000:
        explain(plan)
    return None
