"""What all estimators of ratings do alike once they have learned the items."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.data.tables.conversion import Columns, as_pairs, as_rating_table, to_backend
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import Duplicates
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown

if TYPE_CHECKING:
    import polars as pl


class RatingsEstimator(PersistentEstimator, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from ratings, predicts and recommends.

    A subclass has ``fit``, and the options that name columns and say what to do with bad rows.
    """

    _model_type = RatingsModel

    user: str | None
    item: str | None
    rating: str | None
    duplicates: Duplicates
    missing: Missing
    scale: tuple[float, float] | None
    on_unknown: OnUnknown

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take in ratings of new users, or more ratings of known ones; what is shared stays."""
        check_is_fitted(self, "model_")
        table = self._table(X, y)
        self.model_ = self.model_.with_users(table.users, table.items, table.ratings).model
        return self

    def predict(self, users: Any, items: Any = None) -> Any:
        """Predict ratings.

        Parameters
        ----------
        users : list of ids, or pairs
            The users; or, without ``items``, a user and an item a row, as scikit-learn has it.
        items : list of ids, optional
            The item of each user.

        Returns
        -------
        data frame with columns user, item, rating and known, in the library of the training data;
        without ``items`` an array of ratings. What happens to pairs that are not known, the
        option ``on_unknown`` says.
        """
        check_is_fitted(self, "model_")
        if items is None:
            found = self.model_.predict(*as_pairs(users, self._columns()), self.on_unknown)
            return found.ratings
        import polars as pl

        found = self.model_.predict(users, items, self.on_unknown)
        columns = {"user": users, "item": items, "rating": found.ratings, "known": found.known}
        return self._frame(pl.DataFrame(columns))

    def recommend(self, users: Any, k: int = 10, *, exclude_seen: bool = True) -> Any:
        """Return the k best items of each user: a frame of user, item, score, rank and known."""
        check_is_fitted(self, "model_")
        found = self.model_.recommend(
            users, k, exclude_seen=exclude_seen, on_unknown=self.on_unknown
        )
        return self._frame(found)

    def similar_items(self, item: Any, k: int = 10) -> Any:
        """Return the k items whose factors point most nearly the same way."""
        check_is_fitted(self, "model_")
        return self._frame(self.model_.similar_items(item, k))

    def fold_in(self, ratings: Any) -> RatingsModel:
        """Return a model of new users alone, solved from their ratings without learning anew."""
        check_is_fitted(self, "model_")
        table = self._table(ratings)
        return self.model_.fold_in(table.users, table.items, table.ratings).model

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R² of the predictions, as scikit-learn's regressors do."""
        users, items, truth = self._triples(X, y)
        found = self.model_.predict(users, items, self.on_unknown)
        return float(r2_score(truth, found.ratings, sample_weight=sample_weight))

    def errors(self, X: Any, y: Any = None) -> dict[str, float]:
        """Return root mean square and mean absolute error over the pairs that are known."""
        users, items, truth = self._triples(X, y)
        if self.model_.private is None:
            raise DataError(
                "the model has no users to measure on, for it was learned or loaded without them; "
                "take some in by partial_fit, best with ratings that are not those to measure on."
            )
        found = self.model_.predict(users, items, "nan")
        wrong = (found.ratings - truth)[found.known]
        if not len(wrong):
            raise DataError("none of these users and items is known; there is nothing to measure.")
        return {
            "rmse": float(np.sqrt(np.mean(wrong**2))),
            "mae": float(np.mean(np.abs(wrong))),
            "known": float(np.mean(found.known)),
        }

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that ids may be text, and that ratings may stand in the table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _triples(self, X: Any, y: Any) -> "tuple[pl.Series, pl.Series, Array]":
        check_is_fitted(self, "model_")
        table = self._table(X, y)
        numbers: NDArray[Any] = table.ratings.users_of_values()
        users, items = table.users.at(numbers), table.items.at(table.ratings.items)
        return users, items, table.ratings.values

    def _set_fitted(
        self, model: RatingsModel, table: RatingTable | RatingDataset, backend: str
    ) -> None:
        self.model_ = model
        self.assumed_, self.data_hash_ = table.assumed, table.digest()
        self.n_users_, self.n_items_ = table.n_users, len(table.items)
        self.n_ratings_ = table.n_ratings
        self.rank_ = model.shared.rank
        self.backend_ = backend

    def _take(self, model: RatingsModel, *, named: bool = False) -> None:
        """Learn from a model what a fit would have learned, as far as it tells."""
        self.model_ = model
        self.rank_ = model.shared.rank
        self.backend_ = "polars"

    def _frame(self, frame: "pl.DataFrame") -> Any:
        return to_backend(frame, self.backend_)

    def _columns(self) -> Columns:
        return Columns(self.user, self.item, self.rating)

    def _table(self, X: Any, y: Any = None, agent: str | None = None) -> RatingTable:
        """Return ratings as a labelled table."""
        if isinstance(X, RatingDataset):
            raise DataError(
                "a RatingDataset stays in its files, and this method needs ratings in memory; pass "
                "one part, dataset.part(name).read()."
            )
        rules = RatingRules(self.duplicates, self.missing, self.scale)
        return as_rating_table(X, y, self._columns(), rules, agent)
