"""The command line: parse, call, print."""

from grassvine.cli.app import main

__all__ = ["main"]
