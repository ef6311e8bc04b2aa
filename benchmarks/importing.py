"""How long ``import grassvine`` takes: ``python -m benchmarks.importing``."""

import subprocess
import sys
from typing import Any

from benchmarks.timing import best


def measure(repeats: int = 7) -> dict[str, Any]:
    def python(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeats).wall

    bare, numpy, grassvine = python("pass"), python("import numpy"), python("import grassvine")
    return {"python": bare, "numpy": numpy, "grassvine": grassvine}


def show(result: dict[str, Any]) -> None:
    print(
        f"python -c 'import grassvine': {result['grassvine']:.3f} s of the wall "
        f"(python alone {result['python']:.3f} s, with numpy {result['numpy']:.3f} s)"
    )


if __name__ == "__main__":
    show(measure())
