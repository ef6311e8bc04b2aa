"""Agents on Ray and on hosts far apart: ``python -m benchmarks.cluster [ROW…]``.

The rows are netflix, scaling and exchange, which need Ray, and peers, which needs root.
"""

import sys

from benchmarks.cluster import exchange, netflix, peers, scaling

ROWS = {"netflix": netflix, "scaling": scaling, "exchange": exchange, "peers": peers}


def main() -> None:
    for name in sys.argv[1:] or ROWS:
        print(f"\n{name}")
        ROWS[name].show(ROWS[name].measure())


if __name__ == "__main__":
    main()
