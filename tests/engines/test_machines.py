"""The machines of the tests really compute otherwise."""

import pytest
from tests.engines.machines import DIFFERENT, other_numpy, results, why_no_other_numpy

pytestmark = pytest.mark.slow  # some seconds, to start processes


def test_each_of_the_different_machines_has_other_bits() -> None:
    plain, blas, compiled = [machine.arithmetic() for machine in DIFFERENT]
    assert plain == results()
    assert len({found["product"] for found in (plain, blas)}) == 2
    assert len({found["compiled kernel"] for found in (plain, blas, compiled)}) > 1
    # These depend on neither, so the data of the comparison have the same bits everywhere.
    assert len({found["sum"] for found in (plain, blas, compiled)}) == 1


@pytest.mark.skipif(why_no_other_numpy() is not None, reason=str(why_no_other_numpy()))
def test_the_other_numpy_is_another_one_and_computes_otherwise() -> None:
    plain, other = results(), other_numpy().arithmetic()
    assert plain["numpy"] != other["numpy"]
    assert {**plain, "numpy": ""} != {**other, "numpy": ""}
