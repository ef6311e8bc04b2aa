"""The paper's experiments, one module per case: data, methods, budgets, printed figures, claims."""

from grassvine.paper.case import Case
from grassvine.paper.cases import case1, case2, case3, case4, case5, case6, case7, fig1

CASES: dict[str, Case] = {
    module.CASE.name: module.CASE
    for module in (fig1, case1, case2, case3, case4, case5, case6, case7)
}

__all__ = ["CASES"]
