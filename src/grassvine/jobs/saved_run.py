"""Saved runs: loaded from their folders, of which nothing is trusted, and repeated."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from grassvine.foundations.arrays import Array
from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.folders import located
from grassvine.foundations.watch import Watch
from grassvine.jobs.base import EngineOptions, JobResult
from grassvine.jobs.completion import CompletionJob
from grassvine.jobs.implicit import ImplicitJob
from grassvine.jobs.multitask import MultitaskJob
from grassvine.jobs.pca import PCAJob
from grassvine.jobs.run_folder import (
    BASES,
    FORMAT,
    HISTORY,
    PLAN,
    RECORD,
    TABLES,
    result_hash,
    versions,
)
from grassvine.jobs.saved_job import WRITTEN, is_plain_text, job_from
from grassvine.protocol import History, Observer
from grassvine.runs import Plan

KEYS = {"format", "command", "options", "report", "hashes", "versions"}
_FORMAT = re.compile("grassvine run [0-9]{1,6}")
_HASH = re.compile("[0-9a-f]{64}")

JOBS: Mapping[str, type] = {
    job.command: job for job in (CompletionJob, ImplicitJob, MultitaskJob, PCAJob)
}


@dataclass(frozen=True, slots=True, eq=False)
class SavedRun:
    """A run loaded from its folder."""

    command: str
    job: Any
    report: dict[str, Any]
    plan: Plan
    data_hash: str
    result_hash: str
    versions: dict[str, str]
    history: History
    bases: tuple[Array, ...]
    tables: Mapping[str, Mapping[str, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Rerun:
    """A repeated run: its result, and whether that is the same to the last bit."""

    result: JobResult
    same: bool
    other_versions: dict[str, tuple[str, str]]


def load_run(path: str | os.PathLike[str]) -> SavedRun:
    """Load a run written by :func:`save_run`; nothing in the folder is trusted before a check."""
    folder = located(Path(path))
    record = _record(folder / RECORD)
    command = record["command"]
    plan = _plan(folder / PLAN)
    return SavedRun(
        command=command,
        job=job_from(JOBS[command], record["options"], str(folder / RECORD)),
        report=record["report"],
        plan=plan,
        data_hash=record["hashes"]["data"],
        result_hash=record["hashes"]["result"],
        versions=record["versions"],
        history=_history(folder / HISTORY, plan),
        bases=_bases(folder / BASES, plan),
        tables=_tables(folder / TABLES),
    )


def rerun(
    run: SavedRun,
    data: str | None = None,
    engine: EngineOptions | None = None,
    observers: Sequence[Observer] = (),
    watch: Watch | None = None,
) -> Rerun:
    """Repeat a run; ``data`` may name a copy of its data.

    ``watch`` is called with the completed fraction while the data are read.

    The run starts from the beginning: checkpoints are neither read nor written. It uses the given
    engine, by default the local one, and never the engine or address that the folder names: a Ray
    driver unpickles what a cluster returns, so a foreign folder could execute code.
    """
    job = replace(run.job, **asdict(engine or EngineOptions()))
    if data is not None:
        job = replace(job, data=data)
    if job.data == "-" and data is None:
        raise DataError(
            "the run read standard input; use ", Option("data", "FILE"), " with the same data."
        )
    given = job.read(watch)
    digest = given.digest()
    if digest != run.data_hash:
        raise DataError(
            f"{job.data} differs from the data of the run: its hash is {digest[:12]}…, not "
            f"{run.data_hash[:12]}…; use ",
            Option("data", "FILE"),
            " with the same data.",
        )
    result = job.learn(given, observers)
    now = versions()
    others = {
        name: (before, now[name])
        for name, before in run.versions.items()
        if name in now and now[name] != before
    }
    return Rerun(result, result_hash(result) == run.result_hash, others)


def _record(path: Path) -> dict[str, Any]:
    try:
        record = parse_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{path.parent} contains no {RECORD}; use a folder written by 'grassvine complete "
            "--run'."
        ) from None
    except (OSError, ValueError) as cause:
        raise DataError(f"{path} cannot be read ({cause}); {WRITTEN}") from None
    written = record.get("format") if isinstance(record, dict) else None
    if isinstance(written, str) and _FORMAT.fullmatch(written) and written != FORMAT:
        raise DataError(
            f"{path} is in the format '{written}' and this version reads '{FORMAT}'; "
            "repeat the run with --run, or use the version of grassvine that wrote it."
        )
    if written != FORMAT or set(record) != KEYS:
        raise DataError(f"{path} is not in the format '{FORMAT}'; {WRITTEN}")
    hashes, used = record["hashes"], record["versions"]
    valid = {
        "command": isinstance(record["command"], str) and record["command"] in JOBS,
        "options": isinstance(record["options"], dict),
        "report": isinstance(record["report"], dict),
        "hashes": isinstance(hashes, dict)
        and set(hashes) == {"data", "result"}
        and all(isinstance(text, str) and _HASH.fullmatch(text) for text in hashes.values()),
        "versions": isinstance(used, dict) and all(map(is_plain_text, used.values())),
    }
    if wrong := [name for name, is_valid in valid.items() if not is_valid]:
        raise DataError(f"{path} was modified: {wrong[0]} is not what --run writes; {WRITTEN}")
    return record


def _plan(path: Path) -> Plan:
    try:
        return Plan.from_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise DataError(f"{path} is not a valid plan ({cause}); {WRITTEN}") from None


def _history(path: Path, plan: Plan) -> History:
    """Read a history in which every agent of the plan has one final state."""
    history = History.load(path)
    agents, final = range(plan.network.n_agents), history.final()["agent"].tolist()
    known = np.isin(history["agent"], agents) & np.isin(history["neighbour"], [-1, *agents])
    if sorted(final) != list(agents) or not known.all():
        raise DataError(f"{path} does not contain the history of {len(agents)} agents; {WRITTEN}")
    return history


def _bases(path: Path, plan: Plan) -> tuple[Array, ...]:
    """Read one basis per agent; each may have fewer columns than the plan's rank."""
    names = [f"agent {number}" for number in range(plan.network.n_agents)]
    try:
        with safe_open(path, framework="numpy") as file:
            if set(file.keys()) != set(names):
                raise ValueError(f"there is not one for each of {len(names)} agents")
            shapes = {tuple(file.get_slice(name).get_shape()) for name in names}
            fitting = [s for s in shapes if s[:-1] == (plan.n_items,) and s[-1] <= plan.rank]
            if len(shapes) > 1 or not fitting:
                raise ValueError(f"they are not all of shape {plan.n_items}×{plan.rank}")
            arrays = {name: file.get_tensor(name) for name in names}
        if any(array.dtype != np.float64 for array in arrays.values()):
            raise ValueError("they are not all of type float64")
        return tuple(
            plan.geometry.as_point(array.copy(), n_items=plan.n_items, name=f"that of {name}")
            for name, array in arrays.items()
        )
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise DataError(f"{path} contains no valid bases ({cause}); {WRITTEN}") from None


def _tables(path: Path) -> dict[str, dict[str, Array]]:
    """Read tables of named columns, each a vector of finite numbers."""
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as cause:
        raise DataError(f"{path} contains no valid tables ({cause}); {WRITTEN}") from None
    tables: dict[str, dict[str, Array]] = {}
    for key, column in arrays.items():
        if column.dtype != np.float64 or column.ndim != 1 or not np.isfinite(column).all():
            raise DataError(f"{key!r} in {path} is not a vector of finite numbers; {WRITTEN}")
        name, _, label = key.partition("/")
        tables.setdefault(name, {})[label] = column
    return tables
