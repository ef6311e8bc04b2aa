"""Errors, input validation, random streams, file output and BLAS threads."""
