"""Agents on Ray, measured: ``python -m benchmarks.cluster [netflix] [scaling] [exchange]``."""

import sys

from benchmarks.cluster import exchange, netflix, scaling

ROWS = {"netflix": netflix, "scaling": scaling, "exchange": exchange}


def main() -> None:
    for name in sys.argv[1:] or ROWS:
        print(f"\n{name}")
        ROWS[name].show(ROWS[name].measure())


if __name__ == "__main__":
    main()
