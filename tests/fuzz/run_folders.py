"""Mutated run folders."""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

import numpy as np
from tests.fuzz.mutations import mutated_json, mutated_tensors
from tests.fuzz.outcome import Outcome, tried
from tests.fuzz.plans import mutated_toml

from grassvine.foundations.arrays import as_basis
from grassvine.jobs.base import Job
from grassvine.jobs.completion import CompletionJob
from grassvine.jobs.multitask import MultitaskJob
from grassvine.jobs.pca import PCAJob
from grassvine.jobs.run_folder import (
    BASES,
    HISTORY,
    PLAN,
    RECORD,
    TABLES,
    save_run,
)
from grassvine.jobs.saved_run import SavedRun, load_run, rerun

COUNT = 10_000
FILES = (RECORD, PLAN, HISTORY, BASES, TABLES)
REPEATED = 20  # every so many accepted folders, one is repeated with the right data
MOST_AGENTS, MOST_ITERATIONS = 50, 1000  # of what is repeated; more take time by intention


def fuzz(count: int, seed: int = 0) -> Outcome:
    """Load mutants of the folders of three commands, and repeat some of them."""
    with tempfile.TemporaryDirectory() as folder:
        return tried(_mutants(count, Random(f"run folders {seed}"), Path(folder)))


def _mutants(
    count: int, rng: Random, folder: Path
) -> Iterator[tuple[str, Callable[[], str | None]]]:
    jobs = _jobs(folder)
    saved = []
    for number, job in enumerate(jobs):
        path = save_run(folder / f"run {number}", job, job.learn(job.read()))
        saved.append(
            {name: (path / name).read_bytes() for name in (RECORD, PLAN, HISTORY, BASES, TABLES)}
        )
    accepted = [0]
    target = folder / "mutant"
    for number in range(count):
        kind = rng.randrange(len(jobs))
        files = dict(saved[kind])
        name = rng.choice((RECORD, *FILES))
        if name == RECORD:
            files[name] = mutated_json(rng, files[name])
        elif name == PLAN:
            files[name] = mutated_toml(rng, files[name].decode()).encode()
        else:
            files[name] = mutated_tensors(rng, files[name])
        if rng.random() < 0.01:
            del files[name]
        data = jobs[kind].data

        def action(files: dict[str, bytes] = files, data: str = data) -> str | None:
            _write(target, files)
            run = load_run(target)
            accepted[0] += 1
            if accepted[0] % REPEATED == 0:
                _repeat(run, data)
            return _invalid(run)

        yield f"run folder {number} ({name})", action


def _jobs(folder: Path) -> list[Job]:
    rng = Random("data")
    ratings, samples = folder / "ratings.csv", folder / "samples.csv"
    rows = [
        f"{u},{i},{rng.randint(1, 5)}" for u in range(12) for i in range(8) if rng.random() < 0.6
    ]
    ratings.write_text("\n".join(["user,item,rating", *rows]) + "\n")
    rows = [f"s{n % 4}," + ",".join(f"{rng.gauss(0, 1):.3f}" for _ in range(4)) for n in range(32)]
    samples.write_text("\n".join(["school,a,b,c,y", *rows]) + "\n")
    return [
        CompletionJob(str(ratings), rank=2, agents=3),
        CompletionJob(str(ratings), rank=2, agents=3, method="gossip", max_iter=20),
        MultitaskJob(str(samples), "y", "school", rank=1, agents=2),
        PCAJob(str(samples), agents=2),
    ]


def _write(target: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for name, data in files.items():
        (target / name).write_bytes(data)


def _invalid(run: SavedRun) -> str | None:
    """Return what is invalid in a run that was accepted."""
    for name, value in asdict(run.job).items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} is {value}"
        if not (value is None or isinstance(value, str | int | float)):
            return f"{name} is {value!r}"
        if isinstance(value, str) and not value.isprintable() and name != "separator":
            return f"{name} is {value!r}"
    n_agents = run.plan.network.n_agents
    if len(run.bases) != n_agents or len({basis.shape for basis in run.bases}) != 1:
        return f"{len(run.bases)} bases of {n_agents} agents"
    for basis in run.bases:
        as_basis(basis, n_items=run.plan.n_items, error=AssertionError)  # type: ignore[arg-type]
    history = run.history
    if len({len(column) for column in history.columns.values()}) != 1:
        return "columns of different lengths"
    if not np.isin(history["agent"], range(n_agents)).all() or (history["slot"] < 0).any():
        return "a history of other agents"
    json.dumps(
        [run.report, run.versions, run.data_hash, run.result_hash], ensure_ascii=False
    ).encode()
    return None


def _repeat(run: SavedRun, data: str) -> None:
    job = run.job
    small = isinstance(job.agents, str) or job.agents <= MOST_AGENTS
    if small and job.max_iter <= MOST_ITERATIONS:
        rerun(run, data)
