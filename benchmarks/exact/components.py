"""Principal components of handwritten digits, sorted by label: agents hold different digits."""

from collections.abc import Iterator

import numpy as np
from benchmarks.exact.rows import Row, networks, worst_distance
from benchmarks.timing import timed

import grassvine as gv
from grassvine.averaging import DeEPCA
from grassvine.foundations.arrays import Array

METHODS: dict[str, gv.Exact | DeEPCA] = {"tree sums": gv.Exact(), "DeEPCA": DeEPCA()}


def components(
    sizes: tuple[int, ...] = (6, 20), methods: tuple[str, ...] = tuple(METHODS)
) -> Iterator[Row]:
    """The distance of the worst agent from the eigenspace, by tree sums and by DeEPCA."""
    samples = _digits()
    directions = np.linalg.eigh(samples.T @ samples)[1][:, ::-1]
    for rank in (5, 10):
        eigenspace = np.ascontiguousarray(directions[:, :rank])
        for n_agents in sizes:
            problems = [
                gv.PCAProblem(part) for part in gv.datasets.split_samples(samples, n_agents)
            ]
            for name, network in networks(n_agents).items():
                for title in methods:
                    plan = gv.Plan(samples.shape[1], rank, network, METHODS[title], seed=3)
                    result, took = timed(
                        lambda plan=plan, problems=problems: gv.run(plan, problems)  # type: ignore[misc]
                    )
                    yield {
                        "what": f"digits, rank {rank}, {name} of {n_agents}, {title}",
                        "from_eigenspace": worst_distance(result, eigenspace),
                        "updates": int(result.history.final()["update"].max()),
                        "messages": result.messages,
                        "megabytes": result.bytes / 1e6,
                        "cpu_seconds": took.cpu,
                    }


def _digits() -> Array:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = images[np.argsort(labels, kind="stable")]
    return np.ascontiguousarray(images - images.mean(axis=0))
