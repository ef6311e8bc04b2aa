"""Plots in the manner of scikit-learn: each is an object that keeps its data and what it drew."""

from grassvine.report.displays.agreement import AgreementDisplay
from grassvine.report.displays.angles import AnglesDisplay
from grassvine.report.displays.convergence import ConvergenceDisplay
from grassvine.report.displays.network import NetworkDisplay

__all__ = ["AgreementDisplay", "AnglesDisplay", "ConvergenceDisplay", "NetworkDisplay"]
