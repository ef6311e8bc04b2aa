import threading

import pytest

from grassvine.foundations.parallel import map_in_order

PATIENCE = 30.0  # seconds until a thread that waits in vain fails the test


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n_pieces", [0, 1, 2, 7])
def test_the_results_do_not_depend_on_the_threads(n_pieces: int, threads: int) -> None:
    assert map_in_order(hex, range(n_pieces), threads) == [hex(k) for k in range(n_pieces)]


def test_the_order_is_kept_where_a_later_piece_ends_first() -> None:
    ended = threading.Event()

    def work(piece: int) -> tuple[int, bool]:
        if piece == 1:
            ended.set()
        return piece, ended.wait(PATIENCE)

    assert map_in_order(work, [0, 1], 2) == [(0, True), (1, True)]


def test_no_more_threads_work_than_allowed() -> None:
    both_work = threading.Barrier(2, timeout=PATIENCE)

    def work(piece: int) -> int:
        both_work.wait()
        return threading.get_ident()

    assert len(set(map_in_order(work, range(20), 2))) == 2


@pytest.mark.parametrize(("n_pieces", "threads"), [(3, 1), (1, 3)])
def test_one_thread_or_one_piece_is_work_for_the_caller(n_pieces: int, threads: int) -> None:
    workers = map_in_order(lambda _: threading.get_ident(), range(n_pieces), threads)
    assert set(workers) == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 2])
def test_the_failure_of_a_piece_reaches_the_caller(threads: int) -> None:
    with pytest.raises(ValueError, match="'x'"):
        map_in_order(int, ["0", "x", "2"], threads)
