"""Mutated checkpoints."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tests.fuzz.mutations import NUMBERS, mutated_bytes, mutated_json, mutated_tensors
from tests.fuzz.outcome import Outcome, tried
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.averaging import REXTRA
from grassvine.engines import checkpoints as files
from grassvine.engines.checkpoints import START, Checkpoints
from grassvine.engines.ray.actor import CheckpointWriter
from grassvine.foundations.arrays import as_basis
from grassvine.protocol import Agent

COUNT = 4_500
N_AGENTS = 3
METHODS = (gv.Exact(by_rank=False, max_iter=20), gv.Gossip(max_iter=20), REXTRA(max_iter=20))
PLANS = tuple(gv.Plan(N_ITEMS, 2, gv.networks.path(N_AGENTS), method) for method in METHODS)


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Resume from mutants of the checkpoints of three methods."""
    with tempfile.TemporaryDirectory() as folder:
        return tried(_mutants(count, Random(f"checkpoints {seed}"), Path(folder)))


def _mutants(
    count: int, rng: Random, folder: Path
) -> Iterator[tuple[str, Callable[[], str | None]]]:
    wholes = []
    for number, plan in enumerate(PLANS):
        _write(plan, folder / str(number))
        found = sorted(path for path in (folder / str(number)).rglob("*") if path.is_file())
        wholes.append({path: path.read_bytes() for path in found})
    for number in range(count):
        kind = rng.randrange(len(PLANS))
        path = rng.choice(list(wholes[kind]))
        whole = wholes[kind][path]

        def action(kind: int = kind, path: Path = path, whole: bytes = whole) -> str | None:
            _spoil(rng, path, whole)
            try:
                return _resumed(PLANS[kind], folder / str(kind))
            finally:
                shutil.rmtree(path, ignore_errors=True)
                path.write_bytes(whole)

        yield f"checkpoint {number} ({path.name})", action


def _agents(plan: gv.Plan) -> dict[int, Agent]:
    return {n: plan.agent(n, gv.CompletionProblem(ratings(n), unobserved=0.1)) for n in range(3)}


def _write(plan: gv.Plan, folder: Path) -> None:
    """Run the agents and write checkpoints at slots 6 and 12."""
    checkpoints = Checkpoints.open(folder, plan.timetable, resume=False)
    agents, epoch, mark = _agents(plan), checkpoints.new_epoch(), START
    writer = CheckpointWriter(folder, agents)
    for slot in range(12):
        sent = {number: agent.outgoing(slot) for number, agent in agents.items()}
        for receiver, senders in plan.timetable.inboxes(slot):
            report = agents[receiver].meet(slot, [sent[sender] for sender in senders])
            writer.record(agents[receiver], report)
        if slot % 6 == 5:
            writer.write(epoch, slot + 1, mark)
            mark = checkpoints.complete(epoch, slot + 1, mark)


def _spoil(rng: Random, path: Path, whole: bytes) -> None:
    kind = rng.random()
    if kind < 0.02:
        path.unlink()
        path.mkdir()
    elif path.suffix == ".json":
        path.write_bytes(mutated_json(rng, whole))
    elif kind < 0.5:
        path.write_bytes(mutated_tensors(rng, whole))
    else:  # with digests that fit
        arrays = dict(load_file(path))
        path.unlink()
        files._write(path, _forged(rng, arrays))


def _forged(rng: Random, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(6)
    if name == files.REPORTS and kind < 4:
        text = array.tobytes()
        text = mutated_json(rng, text) if kind < 3 else mutated_bytes(rng, text)
        return {**arrays, name: np.frombuffer(text, dtype=np.uint8)}
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[rng.choice(("", "log entry ", "log entry 1", "log entry 00000000x a"))] = array
    elif kind == 2:
        arrays[name] = array.astype(rng.choice((np.float32, np.int64, np.uint8)))
    elif kind == 3:
        arrays[name] = array.reshape(-1)[:-1].copy()
    elif array.size:
        changed = array.copy()
        with np.errstate(all="ignore"):
            value = np.array(rng.choice((*NUMBERS, 1e6))).astype(array.dtype)
        changed.flat[rng.randrange(changed.size)] = value
        arrays[name] = changed
    return arrays


def _resumed(plan: gv.Plan, folder: Path) -> str | None:
    checkpoints = Checkpoints.open(folder, plan.timetable, resume=True)
    mark = checkpoints.newest()
    reports = checkpoints.reports(mark)
    agents = _agents(plan)
    if mark.segments:
        CheckpointWriter(folder, agents).restore(mark)
    if not all(0 <= r.agent < N_AGENTS and 0 <= r.slot < mark.slot for r in reports):
        return "reports of other agents or slots"
    for agent in agents.values():
        as_basis(agent.state()["basis"], n_items=N_ITEMS, error=AssertionError)  # type: ignore[arg-type]
    return None
