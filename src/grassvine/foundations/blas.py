"""Limit BLAS to one thread, because the last bits of a product depend on the number of threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local

from threadpoolctl import ThreadpoolController, threadpool_limits

_thread = local()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context manager in which BLAS uses one thread.

    Finding the libraries takes milliseconds, so a context inside another one of the same thread
    does nothing.
    """
    if getattr(_thread, "is_limited", False):
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        _thread.is_limited = True
        try:
            yield
        finally:
            _thread.is_limited = False


@contextmanager
def one_blas_thread_of_scipy() -> Iterator[None]:
    """Return the same for SciPy too, whose BLAS may be loaded after another context has begun."""
    with _with_scipy().limit(limits=1, user_api="blas"):
        yield


@cache
def _with_scipy() -> ThreadpoolController:
    """Return the libraries of the process once SciPy's BLAS is one of them."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
