"""Command-line interface."""

from grassvine.cli.entry import main

__all__ = ["main"]
