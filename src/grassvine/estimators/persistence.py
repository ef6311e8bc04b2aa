"""Saving of estimators as folders: the model and the parameters on its card, without code."""

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
    """Mixin for estimators whose fitted state is ``model_``."""

    model_: Any
    _model_type: ClassVar[type]

    def save(self, path: PathLike, *, private: bool = True, overwrite: bool = False) -> Path:
        """Save the fitted model as a folder, atomically.

        Parameters
        ----------
        private : bool, default=True
            Whether to save the private part: users or tasks.
        overwrite : bool, default=False
            Whether to replace an existing saved model; nothing else is ever replaced.
        """
        check_is_fitted(self, "model_")
        card = Card(parameters=self._card_parameters(), data_hash=getattr(self, "data_hash_", None))
        return files.save(self.model_, path, card, private=private, overwrite=overwrite)

    @classmethod
    def load(cls, path: PathLike, *, private: bool = True) -> Self:
        """Return a fitted estimator from a folder written by :meth:`save`.

        Attributes that describe the run are not saved.
        """
        parameters = files.inspect(path).card.parameters
        class_name = parameters.get(ESTIMATOR, cls.__name__)
        model = files.load(path, private=private)
        if class_name != cls.__name__ or not isinstance(model, cls._model_type):
            raise ModelError(
                f"{path} contains a {type(model).__name__} of {class_name}, not of {cls.__name__}; "
                "load it with the class that saved it."
            )
        names = cls._get_param_names()  # type: ignore[attr-defined]
        estimator = cls(**{name: parameters[name] for name in names if name in parameters})
        estimator._take(model, named=bool(parameters.get(NAMED)))
        return estimator

    def _card_parameters(self) -> dict[str, Any]:
        """Return the class name and the parameters that are scalars or strings."""
        plain = {
            name: value
            for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
            if value is None or isinstance(value, str | int | float | np.generic)
        }
        return {ESTIMATOR: type(self).__name__, NAMED: hasattr(self, "feature_names_in_"), **plain}

    def _take(self, model: Any, *, named: bool) -> None:
        """Set the fitted attributes from a saved model."""
        raise NotImplementedError
