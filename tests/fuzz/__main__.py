"""Fuzz everything that others may have written: ``python -m tests.fuzz``.

Each target runs in a process of its own, whose peak of memory is printed. Names of targets and a
share of the mutants may be given: ``python -m tests.fuzz plans 0.1 7`` (7 is the seed).
"""

import resource
import subprocess
import sys
import time
import warnings

from tests.fuzz.targets import TARGETS

MAX_MEGABYTES = 500


def main(names: list[str]) -> int:
    """Run targets one after another; return 1 if any mutant went wrong."""
    arguments = [name for name in names if name not in TARGETS]
    chosen = [name for name in names if name in TARGETS]
    if len(chosen) == 1:
        return _one(chosen[0], *arguments)
    codes = [
        subprocess.run([sys.executable, "-m", "tests.fuzz", name, *arguments]).returncode
        for name in chosen or TARGETS
    ]
    return max(codes)


def _one(name: str, share: str = "1", seed: str = "0") -> int:
    warnings.simplefilter("ignore")
    fuzz, count = TARGETS[name]
    start, before = time.perf_counter(), _peak_megabytes()
    outcome = fuzz(max(1, int(count * float(share))), int(seed))
    peak = _peak_megabytes()
    counts = outcome.counts
    total = counts["refused"] + counts["accepted"] + counts["tracebacks"]
    sys.stdout.write(
        f"{name}: {total} mutants, {counts['refused']} refused, {counts['accepted']} accepted, "
        f"{counts['tracebacks']} tracebacks, {counts['invalid accepted']} invalid accepted, "
        f"{counts['bad sentences']} bad sentences, peak {peak:.0f} MB "
        f"({peak - before:.0f} MB more than before), "
        f"{time.perf_counter() - start:.0f} s\n"
    )
    sys.stdout.writelines(f"    {problem}\n" for problem in outcome.problems)
    return int(bool(outcome.problems) or peak > MAX_MEGABYTES)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
