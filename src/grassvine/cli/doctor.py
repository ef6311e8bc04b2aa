"""``grassvine doctor``: what is installed, and what is not."""

from grassvine.cli.output import AsJson, print_object, print_rows


def doctor(as_json: AsJson = False) -> None:
    """Tell versions, BLAS, caches, threads, data folders, disk, and how to install what lacks."""
    from grassvine.report.doctor import diagnose

    found = diagnose()
    if as_json:
        print_object(found.as_object())
        return
    print_rows(
        {
            "python": found.python,
            "system": found.system,
            **{name: one or "not installed" for name, one in found.versions.items()},
            "BLAS": "; ".join(found.blas) or "not found",
            "processors": found.processors,
            **{name: value or "not set" for name, value in found.threads.items()},
            "kernels are kept in": found.kernel_cache
            + ("" if found.kernel_cache_writable else " (cannot be written to)"),
            "data folders": ", ".join(found.data_folders),
            "data sets here": ", ".join(found.data_sets) or "none",
            "free on this disk": f"{found.free_gigabytes:.1f} GB",
            **{
                f"extra {extra.name}": "installed" if extra.installed else str(extra.install)
                for extra in found.extras
            },
        }
    )
