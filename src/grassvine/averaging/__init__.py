"""Methods based on averaging with neighbours: Tracked, REXTRA, DeEPCA, D-LMaFit."""

from grassvine.averaging.agent import NeighbourAgent
from grassvine.averaging.deepca import DeEPCA
from grassvine.averaging.dlmafit import DLMaFit, DLMaFitAgent
from grassvine.averaging.rextra import REXTRA
from grassvine.averaging.tracking import Tracked

__all__ = ["REXTRA", "DLMaFit", "DLMaFitAgent", "DeEPCA", "NeighbourAgent", "Tracked"]
