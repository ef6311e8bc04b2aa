"""Run the command in this process, and tiny tables to give it."""

import json
import random
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grassvine.cli import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def object(self) -> Any:
        """The one object on standard output."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1
        return json.loads(self.out)


class Command:
    """Calls ``grassvine`` as the shell would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("NO_COLOR", "1")

    def __call__(self, *arguments: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["grassvine", *map(str, arguments)])
        before = signal.getsignal(signal.SIGTERM)
        self._capsys.readouterr()
        try:
            with warnings.catch_warnings():
                main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            signal.signal(signal.SIGTERM, before)
        said = self._capsys.readouterr()
        return Done(code, said.out, said.err)


def rating_lines(seed: int = 0) -> list[str]:
    """40 users of two houses rate 8 of 15 items; ids of items begin with zeros."""
    rng = random.Random(f"data {seed}")
    return [
        f"{100 + user},{item:03d},{1 + (user * item + rng.randint(0, 2)) % 5},house {user % 2}"
        for user in range(40)
        for item in rng.sample(range(15), 8)
    ]


def write_ratings(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(["user,item,rating,owner", *lines]) + "\n")
    return path


def write_samples(path: Path) -> Path:
    """12 schools whose weights lie on a line."""
    rng = random.Random("data samples")
    rows = ["school,a,b,c,y"]
    for school in range(12):
        slope = rng.gauss(0, 1)
        for _ in range(8):
            a, b, c = (rng.gauss(0, 1) for _ in range(3))
            rows.append(f"s{school},{a:.4f},{b:.4f},{c:.4f},{slope * (a + b) + school:.4f}")
    path.write_text("\n".join(rows) + "\n")
    return path
