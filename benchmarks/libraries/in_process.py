"""Libraries that run in our environment, interleaved with ours in one process, with one thread."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.baselines import to_pymanopt
from grassvine.estimators import DecentralizedPCA
from grassvine.foundations.arrays import Array
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.seeds import stream

N_SAMPLES, N_FEATURES, N_COMPONENTS = 20_000, 1000, 10
SPECTRA = ("20 strong directions", "variances i⁻²", "no structure")
SOLVERS = ("covariance_eigh", "arpack", "full")
GOAL = 1e-6  # relative residual of Case 1


def samples(spectrum: str, n_samples: int = N_SAMPLES, n_features: int = N_FEATURES) -> Array:
    """Draw samples whose covariance has a spectrum."""
    rng = stream(0, "data", "samples of a spectrum", spectrum)
    noise = rng.standard_normal((n_samples, n_features))
    if spectrum == "no structure":
        return noise
    if spectrum == "variances i⁻²":
        turn = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        return noise / np.arange(1.0, n_features + 1.0) @ turn
    strong = rng.standard_normal((n_samples, 20)) * np.linspace(3.0, 1.0, 20)
    found: Array = strong @ rng.standard_normal((20, n_features)) + noise
    return found


def least_cpu(actions: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least processor seconds of each action, in turn with the others."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    with one_blas_thread():
        for _ in range(repeats):
            for name, action in actions.items():
                seconds[name].append(timed(action)[1].cpu)
    return {name: min(found) for name, found in seconds.items()}


def components(
    spectra: tuple[str, ...] = SPECTRA, solvers: tuple[str, ...] = SOLVERS, repeats: int = 3
) -> list[dict[str, Any]]:
    """CPU seconds of principal components: scikit-learn's exact solvers, and ours."""
    from sklearn.decomposition import PCA

    rows = []
    for spectrum in spectra:
        X = samples(spectrum)
        actions: dict[str, Callable[[], Any]] = {
            solver: lambda solver=solver, X=X: PCA(N_COMPONENTS, svd_solver=solver).fit(X)  # type: ignore[misc]
            for solver in solvers
        }
        for n_agents in (1, 10):
            actions[f"ours, {n_agents}"] = lambda n=n_agents, X=X: DecentralizedPCA(  # type: ignore[misc]
                N_COMPONENTS, agents=n
            ).fit(X)
        rows.append({"spectrum": spectrum, **least_cpu(actions, repeats)})
    return rows


def case1(repeats: int = 3) -> dict[str, float]:
    """CPU seconds to a relative residual of 1e-6 on Case 1's table, by the loosest tolerance.

    Pymanopt's conjugate gradients and trust region use our kernel and our random start.
    """
    from pymanopt.optimizers import ConjugateGradient, TrustRegions

    ratings = gv.datasets.low_rank_ratings(
        800, 8000, 5, oversampling=6.0, noise=1e-6, seed=0
    ).ratings
    problem = gv.CompletionProblem(ratings)
    plan = gv.Plan(800, 5, gv.networks.path(1), gv.Exact())
    start, size = plan.start(0), float(np.sum(ratings.values**2))

    def ours(tol: float) -> Array:
        run = gv.Plan(800, 5, gv.networks.path(1), gv.Exact(tol=tol))
        return gv.run(run, [problem]).bases[0]

    def theirs(kind: Any, tol: float) -> Array:
        options = {"verbosity": 0, "max_time": 300, "min_step_size": 1e-14}
        solver = kind(min_gradient_norm=tol, max_iterations=2000, **options)
        point: Array = solver.run(to_pymanopt(problem, 5), initial_point=start).point
        return point

    def reaches(fit: Callable[[float], Array], tol: float) -> bool:
        squares = problem.evaluate(np.linalg.qr(fit(tol))[0]).squared_error
        return bool(squares <= GOAL**2 * size)

    fits: dict[str, tuple[Callable[[float], Array], float]] = {
        "ours": (ours, 1.0),
        "Pymanopt, conjugate gradients": (lambda tol: theirs(ConjugateGradient, tol), 1e2),
        "Pymanopt, trust region": (lambda tol: theirs(TrustRegions, tol), 1e2),
    }
    actions: dict[str, Callable[[], Any]] = {}
    with one_blas_thread():
        for name, (fit, scale) in fits.items():
            tried = (scale * 10.0**-k for k in range(1, 10))
            tol = next((one for one in tried if reaches(fit, one)), None)
            if tol is not None:
                actions[name] = lambda fit=fit, tol=tol: fit(tol)  # type: ignore[misc]
    return least_cpu(actions, repeats)
