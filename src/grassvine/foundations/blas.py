"""One BLAS thread inside a run: with two, the same product may have other last bits."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread."""
    return threadpool_limits(limits=1, user_api="blas")
