"""Displays as in scikit-learn: objects that hold the plotted data and the Matplotlib artists."""

from grassvine.report.displays.agreement import AgreementDisplay
from grassvine.report.displays.angles import AnglesDisplay
from grassvine.report.displays.convergence import ConvergenceDisplay
from grassvine.report.displays.network import NetworkDisplay
from grassvine.report.displays.predictions import PredictionsDisplay
from grassvine.report.displays.search import SearchDisplay
from grassvine.report.displays.training_error import TrainingErrorDisplay
from grassvine.report.displays.validation import CandidatesDisplay, ValidationDisplay

__all__ = [
    "AgreementDisplay",
    "AnglesDisplay",
    "CandidatesDisplay",
    "ConvergenceDisplay",
    "NetworkDisplay",
    "PredictionsDisplay",
    "SearchDisplay",
    "TrainingErrorDisplay",
    "ValidationDisplay",
]
