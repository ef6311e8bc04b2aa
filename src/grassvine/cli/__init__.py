"""Command-line interface."""

from grassvine.cli.app import main

__all__ = ["main"]
