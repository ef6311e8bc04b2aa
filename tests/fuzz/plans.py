"""Mutated plan files."""

import tomllib
from collections.abc import Callable, Iterator
from random import Random

import tomli_w
from tests.fuzz.mutations import RAW, mutated_bytes, mutated_document
from tests.fuzz.outcome import Outcome, tried

import grassvine as gv
from grassvine.averaging import REXTRA, DeEPCA, DLMaFit, Tracked
from grassvine.networks import AllEdges, Epochs, Matchings, OneEdge, PoissonClocks, Recorded
from grassvine.protocol import Method
from grassvine.sums import EASE, BayesianFactorization, ImplicitFactorization, Validated
from grassvine.sums.biased import BiasedFactorization

COUNT = 8_000
NETWORK = gv.networks.ring(5)
DRAWN = 3000  # iterations up to which a timetable is drawn here; more take memory by intention
METHODS: tuple[Method, ...] = (
    gv.Exact(),
    Validated(),
    BayesianFactorization(ranks=(0, 2)),
    BiasedFactorization(ranks=(1, 2)),
    ImplicitFactorization(),
    EASE(regularization=2.0),
    Tracked(max_iter=5),
    REXTRA(max_iter=20),
    DeEPCA(max_iter=5),
    DLMaFit(max_iter=20),
    *(
        gv.Gossip(max_iter=20, schedule=schedule)
        for schedule in (
            OneEdge(),
            Matchings(),
            AllEdges(),
            PoissonClocks((1.0, 2.0, 3.0, 4.0, 5.0)),
            Epochs(OneEdge(), tuple((3, (edge,)) for edge in NETWORK.edges)),
            Recorded(5, tuple((edge,) for edge in NETWORK.edges * 4)),
        )
    ),
)


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Read mutants of plans of every method and schedule."""
    return tried(_mutants(count, Random(f"plans {seed}")))


def _mutants(count: int, rng: Random) -> Iterator[tuple[str, Callable[[], str | None]]]:
    texts = [gv.Plan(9, 2, NETWORK, method, seed=3).to_toml() for method in METHODS]
    for number in range(count):
        text = mutated_toml(rng, rng.choice(texts))
        yield f"plan {number}", lambda text=text: _read(text)  # type: ignore[misc]


def mutated_toml(rng: Random, text: str) -> str:
    """Mutate a TOML file as bytes or as a document."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, text.encode()).decode("utf-8", "replace")
    document = mutated_document(rng, tomllib.loads(text))
    try:
        changed = tomli_w.dumps(document)
    except (TypeError, AttributeError, ValueError):  # TOML has no null, and a document is a table
        return mutated_toml(rng, text)
    for mark, raw in RAW.items():
        changed = changed.replace(f'"{mark}"', raw)
    return changed


def _read(text: str) -> str | None:
    plan = gv.Plan.from_toml(text)
    # A plan in memory may still say False where TOML says 0: what was read must be written again.
    if gv.Plan.from_toml(plan.to_toml()) != plan:
        return "is not what it writes"
    integers = (plan.n_items, plan.rank, plan.seed, plan.network.n_agents)
    if any(type(number) is not int for number in integers):
        return f"{integers} are not all integers"
    if getattr(plan.method, "max_iter", 0) <= DRAWN:
        plan.fingerprint()  # draws the timetable
    return None
