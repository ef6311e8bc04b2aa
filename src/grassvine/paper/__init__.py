"""The paper's experiments, one module per case, run by ``grassvine reproduce``."""

from grassvine.paper.case import Case, Claim, Record, Request, Results
from grassvine.paper.cases import CASES
from grassvine.paper.reproduce import Reproduction, reproduce, write_index, write_reproduction

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
