"""Every engine refuses a bad message at the slot where it was sent, and names the sender."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.engines.process_engine import ProcessEngine
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.averaging import REXTRA
from grassvine.engines import AgentFactory, Engine, EngineResult
from grassvine.foundations.errors import AgentError
from grassvine.networks import Timetable
from grassvine.protocol import Agent, Message, Method, Observer

ENGINES: dict[str, Engine] = {
    "local": gv.LocalEngine(),
    "threads": gv.ThreadsEngine(),
    "processes": ProcessEngine(),
}
SPOILT: dict[str, tuple[Callable[[Message], Message], str]] = {
    "nan": (lambda m: replace(m, arrays=_filled(m, np.nan)), "contains nan"),
    "infinity": (lambda m: replace(m, arrays=_filled(m, np.inf)), "contains inf"),
    "sender": (lambda m: replace(m, sender=-1), "claims to be from agent -1"),
    "slot": (lambda m: replace(m, slot=m.slot + 1), "claims to be from agent 2 at slot"),
    "shape": (lambda m: replace(m, arrays={}), "(contains nothing, not|has 144 bytes, not)"),
}
METHODS: dict[str, Method] = {
    "exact": gv.Exact(by_rank=False, max_iter=40),
    "gossip": gv.Gossip(max_iter=40),
    "averaging": REXTRA(max_iter=40),
}


def _filled(message: Message, value: float) -> dict[str, Any]:
    return {name: np.full_like(array, value) for name, array in message.arrays.items()}


@dataclass
class Poisoner:
    """An agent whose messages are spoilt."""

    agent: Agent
    spoil: Callable[[Message], Message]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def outgoing(self, slot: int) -> Message:
        return self.spoil(self.agent.outgoing(slot))


@dataclass(frozen=True)
class Poisoned:
    """An engine whose agent 2 spoils its messages."""

    engine: Engine
    spoil: Callable[[Message], Message]

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        made = list(factories)
        made[2] = lambda: Poisoner(factories[2](), self.spoil)
        return self.engine.run(made, timetable, observe)


@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_message_is_refused_at_once_and_its_sender_named(
    engine: str, method: str, kind: str
) -> None:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), METHODS[method])
    parts = [gv.CompletionProblem(ratings(number), unobserved=0.1) for number in range(4)]
    first = next(
        slot for slot in range(40) if any(s == 2 for s, _ in plan.timetable.deliveries(slot))
    )
    spoil, complaint = SPOILT[kind]
    with pytest.raises(AgentError, match=f"that agent 2 sent at slot .*{complaint}") as caught:
        gv.run(plan, parts, engine=Poisoned(ENGINES[engine], spoil))
    assert caught.value.slot == first
