import json
import subprocess
import sys

from threadpoolctl import threadpool_info, threadpool_limits

from grassvine.foundations.blas import one_blas_thread


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_its_former_number_outside() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_a_context_inside_another_leaves_the_limit_to_it() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with one_blas_thread():
            assert blas_threads() == {1}


def test_scipy_has_one_thread_too_where_it_is_loaded_inside_a_context() -> None:
    """In a process that has not loaded SciPy yet, on a machine that may have one core."""
    program = """
import json
import numpy
from threadpoolctl import threadpool_info, threadpool_limits
from grassvine.foundations.blas import one_blas_thread, one_blas_thread_of_scipy

def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

with one_blas_thread():
    import scipy.linalg
    threadpool_limits(limits=2, user_api="blas")
    with one_blas_thread_of_scipy():
        inside = threads()
    print(json.dumps([inside, threads()]))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    inside, outside = json.loads(found.stdout)
    assert set(inside) == {1}
    assert set(outside) == {2}
