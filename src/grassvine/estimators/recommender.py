"""Base class of ratings estimators: predictions, recommendations, fold-in and errors."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

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
from grassvine.data.tables.titles import Titles, with_titles
from grassvine.datasets import read_ratings
from grassvine.estimators.fitted import set_run_attributes
from grassvine.estimators.persistence import PersistentEstimator
from grassvine.foundations.errors import DataError
from grassvine.models import Predictions, RatingsModel
from grassvine.models.ranking.model import Explanation
from grassvine.models.ratings.measures import RatingMeasures, measure_ratings
from grassvine.models.ratings.scores import Score
from grassvine.models.unknown import OnUnknown
from grassvine.runs import Run

if TYPE_CHECKING:
    import polars as pl

NEW_USER = "new"  # the id of a user whose ratings are passed to fold_in without one


class RatingsEstimator(PersistentEstimator, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of estimators that are fitted to ratings.

    A subclass provides ``fit``, and the options for columns and for the treatment of rows.
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
        """Add new users, or further ratings of known users, and items that nobody had rated.

        New items get factors and biases from these ratings, with users and all other items fixed
        (not in the paper's formulation, whose subspace cannot be extended).

        Parameters
        ----------
        X, y
            Ratings, as in ``fit``.

        Returns
        -------
        self
        """
        check_is_fitted(self, "model_")
        table = self._table(X, y, self._owner_column(X))
        users = self._identified_users(table)
        model = self.model_.with_items(users, table.items, table.ratings)
        self.model_ = model.with_users(users, table.items, table.ratings).model
        return self

    def predict(
        self,
        users: Any,
        items: Any = None,
        *,
        return_std: bool = False,
        return_interval: float | None = None,
        owners: Any = None,
    ) -> Any:
        """Predict ratings.

        Parameters
        ----------
        users : list, array or series of ids; or, without ``items``, data frame or array
            One user per prediction. Without ``items``: one row per prediction with the columns user
            and item, as scikit-learn passes it, and optionally the column named by ``agents``.
        items : list, array or series of ids, optional
            One item per prediction.
        return_std : bool, default=False
            Whether to return the standard deviation of each prediction too, with the noise of a
            rating included (method ``"bayes"`` only).
        return_interval : float, optional
            The probability of a rating inside an interval, such as 0.9, to return the lower and
            upper end of the interval of each prediction too (method ``"bayes"`` only).
        owners : list, array or series of ids, optional
            The owner of each user; needed for user ids that several owners have.

        Returns
        -------
        data frame or array of shape (n_predictions,), or tuple of arrays
            With ``items``, a frame of the same library as the training data, with the columns user,
            item, rating and known, and std, lower and upper if asked for; without ``items``, an
            array of ratings, or a tuple of it and arrays of what was asked for, in this order. The
            parameter ``on_unknown`` determines what is predicted for unknown users and items.
        """
        check_is_fitted(self, "model_")
        if items is None:
            column = self._owner_column(users)
            users, items, named = as_pairs(users, self._columns(), column)
            owners = named if owners is None else owners
            found = self._predicted(users, items, owners, return_std, return_interval)
            return (found.ratings, *found.spread.values()) if found.spread else found.ratings
        import polars as pl

        found = self._predicted(users, items, owners, return_std, return_interval)
        columns = {"user": users, "item": items, "rating": found.ratings, "known": found.known}
        return self._frame(pl.DataFrame({**columns, **found.spread}))

    def _predicted(
        self, users: Any, items: Any, owners: Any, std: bool, interval: float | None
    ) -> Predictions:
        return self.model_.predict(
            users,
            items,
            self.on_unknown,
            return_std=std,
            return_interval=interval,
            owners=owners,
        )

    def recommend(
        self,
        users: Any = None,
        k: int = 10,
        *,
        score: Score | None = None,
        exclude_seen: bool = True,
        exclude: Any = None,
        candidates: Any = None,
        min_users: int = 1,
        owners: Any = None,
        titles: Titles | None = None,
    ) -> Any:
        """Return the k items with the highest scores for each user.

        Parameters
        ----------
        users : list, array or series of ids, optional
            By default, all users of the model.
        k : int, default=10
            Maximum number of items per user.
        score : {"chosen", "rating", "cautious"}, optional
            ``"chosen"``: what the user is most likely to choose, from what users have rated; the
            default if the model has learned that. ``"rating"``: the predicted rating.
            ``"cautious"``: the lower end of the 90 % interval of the rating.
        exclude_seen : bool, default=True
            Whether to exclude items that the user has rated.
        exclude, candidates : list, array or series of item ids, optional
            Items to leave out, and the only ones to choose from.
        min_users : int, default=1
            Leave out items that fewer users have rated.
        owners : list, array or series of ids, optional
            The owner of each user; needed for user ids that several owners have.
        titles : data frame, path or dict, optional
            Ids of items and their titles, for a column ``title``.

        Returns
        -------
        data frame
            The columns are user, item, score, rank (from 1) and known, and owner after user if
            several owners have users of the same id. Unless the score is the predicted rating, it
            follows as rating, and the ends of its 90 % interval as lower and upper if the model
            is Bayesian.
        """
        check_is_fitted(self, "model_")
        found = self.model_.recommend(
            users,
            k,
            score=score,
            exclude_seen=exclude_seen,
            exclude=exclude,
            candidates=candidates,
            min_users=min_users,
            on_unknown=self.on_unknown,
            owners=owners,
        )
        return self._frame(with_titles(found, titles))

    def explain(self, user: Any, item: Any, *, owner: Any = None) -> Explanation:
        """Return what each rated item of a user adds to the score ``"chosen"`` of an item.

        ``score`` is ``popularity`` plus the sum of the column ``share`` of ``shares``.
        """
        check_is_fitted(self, "model_")
        return self.model_.explain(user, item, owner=owner)

    def similar_items(self, item: Any, k: int = 10, *, titles: Titles | None = None) -> Any:
        """Return the k items whose factors have the highest cosine similarity to those of an item.

        Parameters
        ----------
        item : id
        k : int, default=10
            Number of items.
        titles : data frame, path or dict, optional
            Ids of items and their titles, for a column ``title``.

        Returns
        -------
        data frame
            The columns are item, similarity and rank (from 1).
        """
        check_is_fitted(self, "model_")
        return self._frame(with_titles(self.model_.similar_items(item, k), titles))

    def fold_in(self, ratings: Any) -> RatingsModel:
        """Return a model of new users only, solved from their ratings without refitting.

        Parameters
        ----------
        ratings : as ``X`` in ``fit``, or dict
            ``{user: {item: rating}}``, or ``{item: rating}`` of one user, whose id is ``"new"``.

        Returns
        -------
        RatingsModel
        """
        check_is_fitted(self, "model_")
        if isinstance(ratings, Mapping) and not any(
            isinstance(one, Mapping) for one in ratings.values()
        ):
            ratings = {NEW_USER: ratings}
        table = self._table(ratings, None, self._owner_column(ratings))
        return self.model_.fold_in(self._identified_users(table), table.items, table.ratings).model

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R² of the predictions; ``X`` and ``y`` are as in ``fit``."""
        check_is_fitted(self, "model_")
        table = self._table(X, y, self._owner_column(X))
        numbers, users = table.ratings.users_of_values(), table.users_with_owners
        owners = None if users.owners is None else users.owners.gather(numbers)
        items = table.items.at(table.ratings.items)
        found = self.model_.predict(users.at(numbers), items, self.on_unknown, owners=owners)
        truth = table.ratings.values
        return float(r2_score(truth, found.ratings, sample_weight=sample_weight))

    def errors(self, X: Any, y: Any = None) -> dict[str, float]:
        """Return the errors of the predictions for known users and items.

        Parameters
        ----------
        X, y
            Ratings, as in ``fit``.

        Returns
        -------
        dict of str to float
            ``rmse``, ``mae``, and ``known``, the fraction of pairs whose user and item are known.
        """
        found = self.measure(X, y)
        return {"rmse": found.rmse, "mae": found.mae, "known": found.known}

    def measure(self, X: Any, y: Any = None) -> RatingMeasures:
        """Return the predictions for known users and items, with their errors.

        Parameters
        ----------
        X, y
            Ratings, as in ``fit``.
        """
        check_is_fitted(self, "model_")
        return measure_ratings(self.model_, self._table(X, y, self._owner_column(X)))

    def __sklearn_tags__(self) -> Any:
        """Declare that ids may be strings and that ``y`` is optional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _owner_column(self, X: Any) -> str | None:
        """Return the column of owners, if the estimator names one and the frame has it."""
        column = getattr(self, "agents", None)
        return column if isinstance(column, str) and has_column(X, column) else None

    def _identified_users(self, table: RatingTable) -> Ids:
        """Return the users, with their owners if the model identifies users by id and owner.

        Otherwise ids alone identify users, and an owner would turn a known user into a new one.
        """
        private = self.model_.private
        by_owner = private is not None and private.users.owners is not None
        return table.users_with_owners if by_owner else table.users

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
        """Set the fitted attributes from a saved model."""
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
                "this method needs ratings in memory, but those of a RatingDataset stay in files; "
                "pass one part, dataset.part(name).read()."
            )
        columns, rules = self._columns(), self._rules()
        if not isinstance(X, str | os.PathLike):
            return as_rating_table(X, y, columns, rules, agent)
        if y is not None:
            raise DataError(f"the ratings are read from {os.fspath(X)}; omit y.")
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
