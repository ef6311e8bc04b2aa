"""CPU seconds of the exact method on rings of many agents: ``python -m benchmarks.many_agents``.

1000 items, 20,000 ratings, rank 10 and a fixed regularisation, so that every network takes the same
sums. Numbers of agents may be given: ``python -m benchmarks.many_agents 50 500``.
"""

import hashlib
import sys

from benchmarks.timing import timed

import grassvine as gv

N_AGENTS = (50, 100, 200, 500, 1000)
N_ITEMS, N_USERS, N_RATINGS = 1000, 2000, 20_000
RANK, REGULARIZATION = 10, 17.0  # the noise scale, at which "auto" starts


def measure(n_agents: int) -> tuple[float, float, int, str]:
    """Return CPU and wall seconds, the number of sums, and a digest of the results."""
    data = gv.datasets.low_rank_ratings(
        N_ITEMS, N_USERS, 5, oversampling=N_RATINGS / (5 * (N_ITEMS + N_USERS - 5)), seed=1
    )
    problems = [
        gv.BiasedCompletionProblem(part) for part in gv.datasets.split_users(data.ratings, n_agents)
    ]
    method = gv.sums.BiasedFactorization(regularization=REGULARIZATION)

    def fit() -> gv.Run:
        network = gv.networks.ring(n_agents)
        return gv.run(gv.Plan(N_ITEMS, RANK, network, method, seed=0), problems)

    run, took = timed(fit)
    digest = hashlib.sha256(run.history.to_bytes())
    for state in run.states:
        for name in sorted(state):
            digest.update(state[name].tobytes())
    return took.cpu, took.wall, int(run.states[0]["updates"][0]), digest.hexdigest()[:12]


def main(numbers: list[str]) -> None:
    """Print a line for each number of agents, after a fit that compiles the kernels."""
    measure(2)
    print("agents  CPU s  wall s  ms of CPU/agent  sums  digest of results")
    for n_agents in map(int, numbers or N_AGENTS):
        cpu, wall, sums, digest = measure(n_agents)
        per_agent = 1e3 * cpu / n_agents
        print(f"{n_agents:6} {cpu:6.1f} {wall:7.1f} {per_agent:16.1f} {sums:5}  {digest}")


if __name__ == "__main__":
    main(sys.argv[1:])
