"""All benchmarks: ``python -m benchmarks``. Figures are ratios measured in one run."""

from benchmarks import batch, cases, geometry, importing, kernel, overhead


def main() -> None:
    for title, benchmark in (
        ("completion kernel against dgemm", kernel),
        ("geometry against pymanopt", geometry),
        ("CPU time outside problem and geometry, Case 4", overhead),
        ("import time", importing),
        ("the paper's synthetic cases, default step", cases),
        ("RTRMC against Pymanopt", batch),
    ):
        print(f"\n{title}")
        benchmark.show(benchmark.measure())


if __name__ == "__main__":
    main()
