"""A short run of the fuzzers; ``python -m tests.fuzz`` is the long one."""

import pytest
from tests.fuzz.targets import TARGETS

SHARE = 0.01


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_refused_with_a_sentence_or_are_valid(name: str) -> None:
    fuzz, count = TARGETS[name]
    outcome = fuzz(int(SHARE * count), 1)
    assert outcome.problems == []
    assert outcome.counts["refused"] > 0 and outcome.counts["accepted"] > 0
