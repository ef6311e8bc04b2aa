from pathlib import Path

import numpy as np
import pytest

from grassvine.demo import Comparison, draw
from grassvine.demo.picture import headline, images_to_show
from grassvine.foundations.errors import MissingExtra


def test_the_picture_is_written_whole(comparison: Comparison, tmp_path: Path) -> None:
    path = draw(comparison, tmp_path / "digits.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["digits.png"]


def test_the_headline_reports_who_holds_what(comparison: Comparison) -> None:
    assert "6 agents hold images of one digit each" in headline(comparison)
    assert "agent 0, which holds only 0s" in headline(comparison)


def test_the_first_images_of_every_kind_are_shown() -> None:
    assert list(images_to_show(np.array([1, 1, 0, 0, 1, 1, 0, 0]))) == [2, 3, 6, 0, 1, 4]
    assert list(images_to_show(np.repeat(np.arange(10), 3))) == list(range(0, 30, 3))


def test_without_matplotlib_one_line_reports_how_to_get_it(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'grassvine\[plots\]'"):
        draw(comparison, tmp_path / "digits.png")
