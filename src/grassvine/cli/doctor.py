"""``grassvine doctor``: check the installation and, optionally, a Ray cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from grassvine.cli import options
from grassvine.cli.output import AsJson, print_messages, print_object, print_rows, progress

if TYPE_CHECKING:
    from grassvine.report.cluster_doctor import ClusterDiagnosis
    from grassvine.report.doctor import Diagnosis


def doctor(
    engine: Annotated[
        str,
        typer.Option(metavar="NAME", help="Engine to check; ray checks every node of a cluster."),
    ] = "local",
    address: options.Address = None,
    checkpoints: options.Checkpoints = None,
    warm: Annotated[
        bool,
        typer.Option(
            "--warm", help="Compile all kernels into the cache, so that no command has to."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report versions, BLAS, threads, caches, data folders, disk space and missing extras."""
    from grassvine.jobs.base import RAY, EngineOptions
    from grassvine.report.doctor import diagnose

    EngineOptions(engine=engine, address=address, checkpoints=checkpoints)  # only to validate
    if warm:
        from grassvine.jobs.warm import compile_kernels

        with progress("compiling kernels") as bar:
            compile_kernels(bar.update)
    found = diagnose()
    cluster = None
    if engine == RAY:
        from grassvine.report.cluster_doctor import diagnose_cluster

        with progress("checking the cluster") as bar:
            cluster = diagnose_cluster(address, checkpoints, bar.update)
    if as_json:
        print_object({**found.as_object(), "cluster": cluster and cluster.as_object()})
        return
    print_rows(_rows(found))
    if cluster:
        print_rows(_cluster_rows(cluster))
        print_messages(cluster.advice or ["all nodes are ready"])


def _rows(found: "Diagnosis") -> dict[str, object]:
    return {
        "python": found.python,
        "system": found.system,
        **{name: one or "not installed" for name, one in found.versions.items()},
        "BLAS": "; ".join(found.blas) or "not found",
        "processors": found.processors,
        **{name: value or "not set" for name, value in found.threads.items()},
        "kernel cache": found.kernel_cache
        + ("" if found.kernel_cache_writable else " (not writable)"),
        "data folders": ", ".join(found.data_folders),
        "data sets found": ", ".join(found.data_sets) or "none",
        "free disk space": f"{found.free_gigabytes:.1f} GB",
        **{
            f"extra {extra.name}": "installed" if extra.installed else str(extra.install)
            for extra in found.extras
        },
    }


def _cluster_rows(cluster: "ClusterDiagnosis") -> dict[str, object]:
    milliseconds = cluster.exchange_milliseconds
    return {
        "cluster": cluster.address,
        "token": "required" if cluster.token else "none",
        **{
            f"node {number}": f"{node.name}, {node.address}, {node.processors:g} processors, "
            f"{node.memory_gigabytes:.1f} GB, {node.store_gigabytes:.1f} GB object store"
            + "".join(f", {name}={label}" for name, label in node.labels.items())
            for number, node in enumerate(cluster.nodes, 1)  # node names may repeat
        },
        "0.4 MB round trip": None if milliseconds is None else f"{milliseconds:.1f} ms",
    }
