"""
A cost of your own
==================

Five stations measure with twelve sensors. Three signals explain what the sensors show, but now and
then a measurement is nonsense. Principal components follow the nonsense; a cost that grows more
slowly with the error does not. grassvine has no such cost, so you write it: one plain function.
"""

# %%
# The measurements of each station: three signals, a little noise, one row in ten broken.
import numpy as np

import grassvine as gv
from grassvine.foundations.errors import CheckFailed

rng = np.random.default_rng(0)
n_sensors, n_signals = 12, 3
truth = np.linalg.qr(rng.normal(size=(n_sensors, n_signals)))[0]
stations = []
for _ in range(5):
    rows = rng.normal(size=(80, n_signals)) @ truth.T + rng.normal(0, 0.05, (80, n_sensors))
    broken = rng.random(80) < 0.1
    rows[broken] = rng.normal(0, 3, (broken.sum(), n_sensors))
    stations.append(rows)


# %%
# For an orthonormal basis U, t = |x|² − |Uᵀx|² is the squared error of a measurement x. Instead of
# t the cost adds up √(t + s²) − s, which grows like the error and not like its square.
#
# The function returns the cost and its gradient, as if the entries of U were free. The third, a
# small matrix, says how steeply the cost bends; with it no step size has to be chosen.
def robust_cost(rows, soft=0.3):
    def function(basis):
        along = rows @ basis
        errors = np.sum(rows**2, axis=1) - np.sum(along**2, axis=1)
        roots = np.sqrt(np.maximum(errors, 0.0) + soft**2)
        trusted = along / roots[:, None]  # a row far from the subspace counts little
        return float(np.sum(roots - soft)), -rows.T @ trusted, along.T @ trusted

    return gv.CustomProblem(rows.shape[1], function)


# %%
# Is it right? The check compares cost and gradient, and says what is wrong if they do not fit.
problems = [robust_cost(rows) for rows in stations]
gv.checks.check_problem(problems[0], n_signals)
print("the check of the robust cost passes")


def forgot_the_sign(basis):
    cost, gradient, _ = problems[0].function(basis)
    return cost, -gradient


try:
    gv.checks.check_problem(gv.CustomProblem(n_sensors, forgot_the_sign), n_signals)
except CheckFailed as failure:
    print(f"the check of a wrong one fails: {failure}")

# %%
# Principal components of all rows, and the robust cost by gossip between neighbours on a ring.
plain = gv.run(
    gv.Plan(n_sensors, n_signals, gv.networks.ring(5), gv.Exact()),
    [gv.PCAProblem(rows) for rows in stations],
)
robust = gv.run(
    gv.Plan(n_sensors, n_signals, gv.networks.ring(5), gv.Gossip(rho=1e3, max_iter=1000)), problems
)
for name, result in (("principal components", plain), ("robust cost", robust)):
    away = np.degrees(gv.geometry.Grassmann().distance(result.mean, truth))
    print(f"{name}: {away:.1f} degrees from the true signals")
print(f"neighbours end {robust.agreement_degrees:.1f} degrees apart")
