"""scikit-learn's own checks: who claims its conventions stands in the list."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from grassvine.estimators import AltMinRegressor, DecentralizedPCA, MultitaskRegressor

# Some checks have samples of one or two features, and a rank above that is refused.
ESTIMATORS = [
    AltMinRegressor(max_iter=200),
    MultitaskRegressor(rank=1),
    DecentralizedPCA(),
]

# By class: the check that is expected to fail, and why.
EXPECTED: dict[type, dict[str, str]] = {}


def reasons(estimator: Any) -> dict[str, str]:
    return EXPECTED.get(type(estimator), {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=reasons)  # type: ignore[untyped-decorator]
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)
