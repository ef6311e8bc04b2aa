"""Principal components of samples with missing values, by sums."""

from grassvine.sums.incomplete.method import IncompletePCA
from grassvine.sums.incomplete.model import FactorModel
from grassvine.sums.incomplete.problem import IncompleteSamples

__all__ = ["FactorModel", "IncompletePCA", "IncompleteSamples"]
