"""Storage of models of what users choose."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from grassvine.data.ids import Ids
from grassvine.models.persistence.forms.base import (
    Part,
    Shape,
    seen_ratings,
    user_ids,
    user_ids_from,
)
from grassvine.models.persistence.sealed import check_keys
from grassvine.models.persistence.tensors import Tensor
from grassvine.models.ranking.model import RankingModel
from grassvine.models.ranking.parts import RankedItems, RankedUsers
from grassvine.models.ranking.scorers import FactorScorer, RegressionScorer
from grassvine.sums.implicit.ease import ItemRegressions
from grassvine.sums.implicit.model import ImplicitModel, Strengths

if TYPE_CHECKING:
    pass


EVENTS = {
    "seen_counts": Tensor("I64", ("users",)),
    "seen_items": Tensor("I32", ("events",)),
    "seen_values": Tensor("F64", ("events",)),
}


class RankingForm:
    """Storage of ranking models by factors; events are stored user by user."""

    kind = "ranking"
    shared = Shape(
        {
            "factors": Tensor("F64", ("items", "rank")),
            "popularity": Tensor("F64", ("items",)),
            "counts": Tensor("I64", ("items",)),
        },
        "items",
        ascending=True,
    )
    private: Shape | None = Shape(EVENTS, "users", ascending=True)

    def split(self, model: RankingModel) -> tuple[Part, Part | None]:
        """Split a ranking model into its parts."""
        scorer = model.shared.scorer
        assert isinstance(scorer, FactorScorer)
        fitted = scorer.model
        arrays = {
            "factors": fitted.factors,
            "popularity": fitted.popularity,
            "counts": model.shared.counts,
        }
        numbers = {name: float(value) for name, value in asdict(fitted.strengths).items()}
        return Part(numbers, arrays, model.shared.items.series), _events(model)

    def combine(self, shared: Part, private: Part | None) -> RankingModel:
        """Combine the parts of a ranking model."""
        wanted = set(Strengths.__dataclass_fields__)
        numbers = check_keys("the entry 'numbers'", shared.numbers, wanted)
        arrays = shared.arrays
        fitted = ImplicitModel(arrays["factors"], arrays["popularity"], Strengths(**numbers))
        items = RankedItems(Ids(shared.ids), arrays["counts"], FactorScorer(fitted))
        return _ranking_model(items, private)


class RegressionForm:
    """Storage of ranking models by regressions between items."""

    kind = "item regressions"
    shared = Shape(
        {
            "coefficients": Tensor("F64", ("items", "items")),
            "counts": Tensor("I64", ("items",)),
        },
        "items",
        ascending=True,
    )
    private: Shape | None = Shape(EVENTS, "users", ascending=True)

    def split(self, model: RankingModel) -> tuple[Part, Part | None]:
        """Split a ranking model into its parts."""
        scorer = model.shared.scorer
        assert isinstance(scorer, RegressionScorer)
        arrays = {"coefficients": scorer.model.coefficients, "counts": model.shared.counts}
        return Part({}, arrays, model.shared.items.series), _events(model)

    def combine(self, shared: Part, private: Part | None) -> RankingModel:
        """Combine the parts of a ranking model."""
        check_keys("the entry 'numbers'", shared.numbers, set())
        scorer = RegressionScorer(ItemRegressions(shared.arrays["coefficients"]))
        items = RankedItems(Ids(shared.ids), shared.arrays["counts"], scorer)
        return _ranking_model(items, private)


def _events(model: RankingModel) -> Part | None:
    """Return the private part of a ranking model."""
    private = model.private
    if private is None:
        return None
    seen = {
        "seen_counts": private.counts,
        "seen_items": private.seen.items,
        "seen_values": private.seen.values,
    }
    return Part({}, seen, user_ids(private.users))


def _ranking_model(items: RankedItems, private: Part | None) -> RankingModel:
    if private is None:
        return RankingModel(items)
    seen = seen_ratings(private, len(items.items))
    return RankingModel(items, RankedUsers(user_ids_from(private.ids), seen))
