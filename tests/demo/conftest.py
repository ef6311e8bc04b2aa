import pytest

from grassvine.demo import Comparison, compare, masked_digits, one_kind_each


@pytest.fixture(scope="package")
def comparison() -> Comparison:
    return compare(one_kind_each(masked_digits(), 6))
