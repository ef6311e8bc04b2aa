"""Estimators as folders: the model, and on its card how it was made; no code in them."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from grassvine.foundations.errors import ModelError
from grassvine.models import Card
from grassvine.models.persistence import files
from grassvine.models.persistence.files import PathLike

ESTIMATOR = "estimator"
NAMED = "named_features"


class PersistentEstimator:
    """An estimator that keeps what it learned in ``model_``."""

    model_: Any
    _model_type: ClassVar[type]

    def save(self, path: PathLike, *, private: bool = True, overwrite: bool = False) -> Path:
        """Write what was learned as a folder, whole or not at all.

        Parameters
        ----------
        private : bool
            Whether what belongs to single users or tasks is written too.
        overwrite : bool
            Whether a saved model at this place, and only that, may be replaced.
        """
        check_is_fitted(self, "model_")
        card = Card(parameters=self._told(), data_hash=getattr(self, "data_hash_", None))
        return files.save(self.model_, path, card, private=private, overwrite=overwrite)

    @classmethod
    def load(cls, path: PathLike, *, private: bool = True) -> Self:
        """Return an estimator ready to predict from a folder that :meth:`save` wrote.

        What a fit tells of its run is not in the folder.
        """
        told = files.inspect(path).card.parameters
        maker = told.get(ESTIMATOR, cls.__name__)
        model = files.load(path, private=private)
        if maker != cls.__name__ or not isinstance(model, cls._model_type):
            raise ModelError(
                f"{path} holds a {type(model).__name__} of {maker}, not one of {cls.__name__}; "
                "load it with the class that saved it."
            )
        names = cls._get_param_names()  # type: ignore[attr-defined]
        estimator = cls(**{name: told[name] for name in names if name in told})
        estimator._take(model, named=bool(told.get(NAMED)))
        return estimator

    def _told(self) -> dict[str, Any]:
        """Return the class and those parameters that are plain values."""
        plain = {
            name: value
            for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
            if value is None or isinstance(value, str | int | float | np.generic)
        }
        return {ESTIMATOR: type(self).__name__, NAMED: hasattr(self, "feature_names_in_"), **plain}

    def _take(self, model: Any, *, named: bool) -> None:
        """Learn from a model what a fit would have learned, as far as it tells."""
        raise NotImplementedError
