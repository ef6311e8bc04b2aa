"""scikit-learn's own checks of the completers: all that fail are listed, with the reason."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from grassvine.estimators import DLMaFitCompleter, MatrixCompleter, RTRMCCompleter

ESTIMATORS = [
    MatrixCompleter(2, random_state=0),
    DLMaFitCompleter(2, max_iter=20, random_state=0),
    RTRMCCompleter(2, random_state=0),
]

FEATURES = (
    "it makes X of features; a completer's X has a user and an item a row, and refuses others"
)
EXPECTED = {
    **dict.fromkeys(
        (
            "check_fit_score_takes_y",
            "check_dont_overwrite_parameters",
            "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit",
            "check_estimators_dtypes",
            "check_dtype_object",
            "check_pipeline_consistency",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_regressors_train",
            "check_regressor_data_not_an_array",
            "check_regressors_no_decision_function",
            "check_supervised_y_2d",
            "check_regressors_int",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_dict_unchanged",
            "check_fit2d_predict1d",
        ),
        FEATURES,
    ),
    "check_complex_data": "complex features are refused, but for their shape",
    "check_estimators_empty_data_messages": "an empty X is refused, in other words",
    "check_estimators_nan_inf": "NaN as an id is refused, in other words",
    "check_estimator_sparse_tag": "a sparse X is a table of ratings, and takes no y",
    "check_estimator_sparse_array": "a sparse X is a table of ratings, and takes no y",
    "check_estimator_sparse_matrix": "a sparse X is a table of ratings, and takes no y",
    "check_estimators_partial_fit_n_features": "partial_fit takes users into a fitted model",
    "check_fit2d_1sample": "one pair is refused for its columns, in other words",
    "check_fit2d_1feature": "one column is refused, in other words",
    "check_fit_idempotent": "it predicts for rows left out of the fit, whose users are not known",
    "check_n_features_in": "pairs of ids are no features to be counted",
}


def expected(estimator: Any) -> dict[str, str]:
    """The checks that fail; one is made only of estimators that have ``max_iter``."""
    if not hasattr(estimator, "max_iter"):
        return EXPECTED
    return {**EXPECTED, "check_non_transformer_estimators_n_iter": FEATURES}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)  # type: ignore[untyped-decorator]
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)
