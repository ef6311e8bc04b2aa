import numpy as np

import grassvine as gv
from grassvine.peers.fit.totals import limited
from grassvine.sums.program import Iterate, Program, ProgramOutcome, all_reduce, run_pooled

PROBLEM = gv.PCAProblem(np.eye(3))  # of which the programs make no use


def counting(n_sums: int, closed: list[int]) -> Program:
    """Add 1 in each sum; note how many sums there were if it is closed early."""
    done = 0
    try:
        for done in range(n_sums):
            yield from all_reduce(Iterate(np.full((1, 1), float(done))), lambda _: (1.0,))
    except GeneratorExit:
        closed.append(done)
        raise
    return ProgramOutcome(Iterate(np.full((1, 1), float(n_sums))), "it ended by itself")


def test_a_program_that_ends_in_time_is_not_changed() -> None:
    for most in (3, 4, 100):
        closed: list[int] = []
        outcome = run_pooled(limited(counting(3, closed), most), PROBLEM)
        assert (outcome.reason, outcome.iterate.basis[0, 0]) == ("it ended by itself", 3.0)
        assert closed == []


def test_a_longer_one_ends_at_the_iterate_after_its_last_sum() -> None:
    closed: list[int] = []
    outcome = run_pooled(limited(counting(9, closed), 4), PROBLEM)
    assert (outcome.reason, outcome.iterate.basis[0, 0]) == ("reached the limit of 4 sums", 4.0)
    assert closed == [4]
