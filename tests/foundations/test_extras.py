import math

import pytest

from grassvine.foundations.errors import MissingExtra
from grassvine.foundations.extras import load_extra


def test_an_installed_part_is_loaded() -> None:
    assert load_extra("math", "a sum", "sums") is math


def test_a_missing_part_is_answered_with_how_to_install_it() -> None:
    with pytest.raises(MissingExtra, match=r"the picture needs .*'grassvine\[plots\]'"):
        load_extra("grassvine_has_no_such_module", "the picture", "plots")
