"""Print what attacks recover, as the docs show it: ``python -m tests.privacy``."""

import sys

from tests.privacy.attacks import ATTACKS


def main() -> None:
    write(f"{'attack':46} {'measure':28} {'without':>8} {'with':>8}")
    for attack in ATTACKS:
        found = attack()
        numbers = f"{found.without:8.3f} {found.protected:8.3f}"
        write(f"{found.attack:46} {found.measure:28} {numbers}  {found.meaning}")


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
