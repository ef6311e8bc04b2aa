"""Limit BLAS to one thread, because the last bits of a product depend on the number of threads."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context manager in which BLAS uses one thread."""
    return threadpool_limits(limits=1, user_api="blas")
