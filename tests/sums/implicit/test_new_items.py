"""Rows of new items: a sum over agents, and what solving F for one item gives."""

import numpy as np
from tests.sums.implicit.choices import N_ITEMS, events

import grassvine as gv
from grassvine.sums import ImplicitFactorization, ImplicitModel, ImplicitProblem
from grassvine.sums.implicit.new_items import new_item_rows, new_item_sums

NEW = 3


def parts(table: gv.Ratings) -> tuple[gv.Ratings, gv.Ratings]:
    """The events with all items but the last three, and with those."""
    late = table.items >= N_ITEMS - NEW
    fresh = table.take_values(late)
    numbered = gv.Ratings(NEW, fresh.starts, fresh.items - (N_ITEMS - NEW), fresh.values)
    return table.take_values(~late), numbered


def model_of(known: gv.Ratings) -> ImplicitModel:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(1), ImplicitFactorization(), seed=1)
    return ImplicitModel.from_arrays(gv.run(plan, [ImplicitProblem(known)]).states[0])


def test_the_sums_of_agents_are_those_of_all() -> None:
    table = events(n_users=400, per_user=14.0, counted=True)
    model = model_of(parts(table)[0])
    whole = new_item_sums(model, *parts(table))
    own = [new_item_sums(model, *parts(part)) for part in gv.datasets.split_users(table, 5)]
    for total, *several in zip(whole, *own, strict=True):
        np.testing.assert_allclose(sum(several), total, rtol=1e-12, atol=1e-12)


def test_a_row_minimises_the_cost_of_its_item() -> None:
    table = events(n_users=400, per_user=14.0, counted=True)
    known, fresh = parts(table)
    model = model_of(known)
    rows = new_item_rows(model, new_item_sums(model, known, fresh))
    solutions, strengths = ImplicitProblem(known).solve(model), model.strengths
    active = solutions[np.diff(table.starts) > 0]
    confidences, users = strengths.confidences(fresh), fresh.users_of_values()

    def cost(item: int, row: np.ndarray) -> float:
        mine = fresh.items == item
        errors = 1.0 - solutions[users[mine]] @ row
        ridge = strengths.ridge * (mine.sum() + strengths.unobserved_weight * len(active))
        everybody = strengths.unobserved_weight * np.sum((active @ row) ** 2)
        return float(confidences[mine] @ errors**2 + everybody + ridge * row @ row)

    for item in range(NEW):
        here = cost(item, rows[item])
        for number in range(len(rows[item])):
            for step in (1e-3, -1e-3):
                change = np.zeros(len(rows[item]))
                change[number] = step
                assert cost(item, rows[item] + change) > here
