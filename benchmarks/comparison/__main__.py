"""The methods side by side: ``python -m benchmarks.comparison table``, ``… plot``, ``… advice``.

What they print is in docs/exact.md, and what ``plot`` draws in docs/images/bytes.png.
"""

import sys

from benchmarks.comparison import advice, curves, ratings


def main() -> None:
    match sys.argv[1:]:
        case ["table"]:
            ratings.show()
        case ["plot"]:
            curves.show()
        case ["advice"]:
            advice.show()
        case _:
            sys.exit("say what to compare: python -m benchmarks.comparison table, plot or advice")


if __name__ == "__main__":
    main()
