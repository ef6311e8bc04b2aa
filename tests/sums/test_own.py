import gc

import numpy as np
import pytest

import grassvine as gv
from grassvine.sums.own import Data, Own, own_problem

PROBLEM = gv.PCAProblem(np.eye(3))


def test_a_derived_value_is_kept_until_the_program_forgets_it() -> None:
    calls: list[int] = []

    def derive(data: Data) -> np.ndarray:
        calls.append(1)
        return np.ones(2)

    data, own = Data(PROBLEM), Own(derive)
    assert data.get(own) is None
    assert data[own] is data[own] and calls == [1]
    assert Data(PROBLEM)[own] is not data[own]
    del own
    gc.collect()
    assert not data._known


def test_a_by_product_is_known_once_a_part_has_set_it() -> None:
    data, by_product = Data(PROBLEM), Own[float]()
    with pytest.raises(AssertionError, match="by-product"):
        data[by_product]
    data[by_product] = 2.0
    assert data[by_product] == data.get(by_product) == 2.0


def test_a_problem_of_another_kind_is_not_taken_for_the_agents() -> None:
    own = own_problem(PROBLEM)
    assert Data(PROBLEM)[own] is PROBLEM
    with pytest.raises(AssertionError):
        Data(gv.CustomProblem(3, lambda basis: (0.0, basis)))[own]
