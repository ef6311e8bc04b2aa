"""Displays as in scikit-learn: objects that hold the plotted data and the Matplotlib artists."""

from grassvine.report.displays.agreement import AgreementDisplay
from grassvine.report.displays.angles import AnglesDisplay
from grassvine.report.displays.convergence import ConvergenceDisplay
from grassvine.report.displays.network import NetworkDisplay

__all__ = ["AgreementDisplay", "AnglesDisplay", "ConvergenceDisplay", "NetworkDisplay"]
