"""What all estimators of ratings do alike once they have learned the items."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from grassvine.data.ids import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.data.tables.conversion import (
    Columns,
    as_pairs,
    as_rating_table,
    has_column,
    to_backend,
)
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_rules import RatingRules
from grassvine.data.tables.rating_table import Duplicates
from grassvine.datasets import read_ratings
from grassvine.estimators.fitted import set_run_attributes
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.models import RatingsModel
from grassvine.models.unknown import OnUnknown
from grassvine.runs import Run

if TYPE_CHECKING:
    import polars as pl

NEW_USER = "new"  # the id of a user whose ratings are passed to fold_in without one


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Ratings and predictions of pairs whose user and item are known, and the errors.

    Attributes
    ----------
    truth, predicted : array
    rmse, mae : float
        Root mean square and mean absolute error.
    known : float
        The share of the pairs asked for.
    """

    truth: Array
    predicted: Array
    rmse: float
    mae: float
    known: float


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
        table = self._table(X, y, self._owner_column(X))
        self.model_ = self.model_.with_users(
            self._told_apart(table), table.items, table.ratings
        ).model
        return self

    def predict(self, users: Any, items: Any = None, *, owners: Any = None) -> Any:
        """Predict ratings.

        Parameters
        ----------
        users : list of ids, or pairs
            The users; or, without ``items``, a user and an item a row, as scikit-learn has it. The
            owners are in the column ``agents`` if the frame has it.
        items : list of ids, optional
            The item of each user.
        owners : list of ids, optional
            The owner of each user; needed for user ids that several owners have.

        Returns
        -------
        data frame with columns user, item, rating and known, in the library of the training data;
        without ``items`` an array of ratings. What happens to pairs that are not known, the
        option ``on_unknown`` says.
        """
        check_is_fitted(self, "model_")
        if items is None:
            column = self._owner_column(users)
            users, items, named = as_pairs(users, self._columns(), column)
            owners = named if owners is None else owners
            return self.model_.predict(users, items, self.on_unknown, owners=owners).ratings
        import polars as pl

        found = self.model_.predict(users, items, self.on_unknown, owners=owners)
        columns = {"user": users, "item": items, "rating": found.ratings, "known": found.known}
        return self._frame(pl.DataFrame(columns))

    def recommend(
        self, users: Any = None, k: int = 10, *, exclude_seen: bool = True, owners: Any = None
    ) -> Any:
        """Return the k best items of each user, or of all users by default.

        The frame has the columns user, item, score, rank and known, and owner after user if several
        owners have users of the same id; then ``owners`` is the owner of each user.
        """
        check_is_fitted(self, "model_")
        found = self.model_.recommend(
            users, k, exclude_seen=exclude_seen, on_unknown=self.on_unknown, owners=owners
        )
        return self._frame(found)

    def similar_items(self, item: Any, k: int = 10) -> Any:
        """Return the k items whose factors point most nearly the same way."""
        check_is_fitted(self, "model_")
        return self._frame(self.model_.similar_items(item, k))

    def fold_in(self, ratings: Any) -> RatingsModel:
        """Return a model of new users alone, solved from their ratings without learning anew.

        Parameters
        ----------
        ratings : as in ``fit``, or dict
            ``{user: {item: rating}}``, or ``{item: rating}`` of one user, whose id is ``"new"``.
        """
        check_is_fitted(self, "model_")
        if isinstance(ratings, Mapping) and not any(
            isinstance(one, Mapping) for one in ratings.values()
        ):
            ratings = {NEW_USER: ratings}
        table = self._table(ratings, None, self._owner_column(ratings))
        return self.model_.fold_in(self._told_apart(table), table.items, table.ratings).model

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R² of the predictions, as scikit-learn's regressors do."""
        users, items, truth, owners = self._triples(X, y)
        found = self.model_.predict(users, items, self.on_unknown, owners=owners)
        return float(r2_score(truth, found.ratings, sample_weight=sample_weight))

    def errors(self, X: Any, y: Any = None) -> dict[str, float]:
        """Return root mean square and mean absolute error over the pairs that are known."""
        found = self.measure(X, y)
        return {"rmse": found.rmse, "mae": found.mae, "known": found.known}

    def measure(self, X: Any, y: Any = None) -> Measured:
        """Return the predictions of the pairs that are known, and their errors."""
        users, items, truth, owners = self._triples(X, y)
        if self.model_.private is None:
            raise DataError(
                "the model has no users to measure on, for it was learned or loaded without them; "
                "take some in by partial_fit, best with ratings that are not those to measure on."
            )
        found = self.model_.predict(users, items, "nan", owners=owners)
        if not found.known.any():
            raise DataError("none of these users and items is known; there is nothing to measure.")
        truth, predicted = truth[found.known], found.ratings[found.known]
        wrong = predicted - truth
        return Measured(
            truth,
            predicted,
            rmse=float(np.sqrt(np.mean(wrong**2))),
            mae=float(np.mean(np.abs(wrong))),
            known=float(np.mean(found.known)),
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that ids may be text, and that ratings may stand in the table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _triples(self, X: Any, y: Any) -> "tuple[pl.Series, pl.Series, Array, pl.Series | None]":
        """Return users, items, ratings and perhaps owners, in the order of the table."""
        check_is_fitted(self, "model_")
        table = self._table(X, y, self._owner_column(X))
        numbers: NDArray[Any] = table.ratings.users_of_values()
        users, items = table.users_with_owners, table.items.at(table.ratings.items)
        owners = None if users.owners is None else users.owners.gather(numbers)
        return users.at(numbers), items, table.ratings.values, owners

    def _owner_column(self, X: Any) -> str | None:
        """Return the column that names owners, if the estimator has one and the frame too."""
        column = getattr(self, "agents", None)
        return column if isinstance(column, str) and has_column(X, column) else None

    def _told_apart(self, table: RatingTable) -> Ids:
        """Return the users, with their owners if the model or the table tells users apart by them.

        Elsewhere ids alone identify users, and an owner would make a new user of a known id.
        """
        private = self.model_.private
        told = private is not None and private.users.owners is not None
        return table.users_with_owners if told else table.users

    def _set_fitted(
        self,
        model: RatingsModel,
        table: RatingTable | RatingDataset,
        backend: str,
        run: Run | None = None,
    ) -> None:
        if run is not None:
            set_run_attributes(self, run)
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
        columns, rules = self._columns(), self._rules()
        if not isinstance(X, str | os.PathLike):
            return as_rating_table(X, y, columns, rules, agent)
        if y is not None:
            raise DataError(f"the ratings are read from {os.fspath(X)}; leave y out.")
        return read_ratings(
            X,
            user=self.user,
            item=self.item,
            rating=self.rating,
            agent=agent,
            duplicates=rules.duplicates,
            missing=rules.missing,
            scale=rules.scale,
            shared_users=rules.shared_users,
        )

    def _rules(self) -> RatingRules:
        return RatingRules(self.duplicates, self.missing, self.scale)
