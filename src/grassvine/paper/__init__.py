"""The paper's experiments, one module per case, run by ``grassvine reproduce``."""

from grassvine.paper import case1, case2, case3, case4, case5, case6, case7, fig1
from grassvine.paper.case import Case, Claim, Record, Request, Results
from grassvine.paper.reproduce import Reproduction, reproduce, write_index, write_reproduction

CASES: dict[str, Case] = {
    module.CASE.name: module.CASE
    for module in (fig1, case1, case2, case3, case4, case5, case6, case7)
}

__all__ = [
    "CASES",
    "Case",
    "Claim",
    "Record",
    "Reproduction",
    "Request",
    "Results",
    "reproduce",
    "write_index",
    "write_reproduction",
]
