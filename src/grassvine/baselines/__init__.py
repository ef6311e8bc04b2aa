"""Baseline methods for comparison."""

from grassvine.averaging.dlmafit import DLMaFit
from grassvine.baselines.altmin import AltMinResult, alt_min
from grassvine.baselines.pymanopt_bridge import from_pymanopt, to_pymanopt
from grassvine.baselines.rtrmc import rtrmc
from grassvine.baselines.spectral import spectral_start
from grassvine.baselines.trust_region import BatchResult, Iteration, LocalModel, trust_region

__all__ = [
    "AltMinResult",
    "BatchResult",
    "DLMaFit",
    "Iteration",
    "LocalModel",
    "alt_min",
    "from_pymanopt",
    "rtrmc",
    "spectral_start",
    "to_pymanopt",
    "trust_region",
]
