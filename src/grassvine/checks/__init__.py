"""Checks for user-defined problems, geometries, agents and engines."""

from grassvine.checks.agent import check_agent
from grassvine.checks.derivatives import check_gradient, check_hessian
from grassvine.checks.engine import check_engine
from grassvine.checks.geometry import check_geometry
from grassvine.checks.problem import check_problem

__all__ = [
    "check_agent",
    "check_engine",
    "check_geometry",
    "check_gradient",
    "check_hessian",
    "check_problem",
]
