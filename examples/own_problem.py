"""
A problem of your own
=====================

Five stations measure with twelve sensors. Three signals explain the readings, but some rows are
outliers. PCA follows the outliers; a cost that grows more slowly with the error does not. grassvine
has no such cost, so you write it as one Python function.
"""

# %%
# The measurements of each station: three signals, a little noise, and one outlier in ten rows.
import matplotlib.pyplot as plt
import numpy as np

import grassvine as gv
from grassvine.foundations.errors import CheckFailed

rng = np.random.default_rng(0)
n_sensors, n_signals = 12, 3
truth = np.linalg.qr(rng.normal(size=(n_sensors, n_signals)))[0]
stations, broken_rows = [], []
for _ in range(5):
    rows = rng.normal(size=(80, n_signals)) @ truth.T + rng.normal(0, 0.05, (80, n_sensors))
    broken = rng.random(80) < 0.1
    rows[broken] = rng.normal(0, 3, (broken.sum(), n_sensors))
    stations.append(rows)
    broken_rows.append(broken)


# %%
# For an orthonormal basis U, ``t = |x|² − |Uᵀx|²`` is the squared error of a measurement x. Instead
# of t, the cost sums √(t + s²) − s, which grows linearly with the error rather than quadratically.
#
# The function returns the cost, its Euclidean gradient (with the entries of U as free variables;
# grassvine projects it), and optionally the curvature as a small matrix, which makes a step size
# unnecessary. There is no decorator and no automatic differentiation.
def robust_cost(rows, soft=0.3):
    def function(basis):
        projected = rows @ basis
        errors = np.sum(rows**2, axis=1) - np.sum(projected**2, axis=1)
        roots = np.sqrt(np.maximum(errors, 0.0) + soft**2)
        weighted = projected / roots[:, None]  # rows far from the subspace get a small weight
        return float(np.sum(roots - soft)), -rows.T @ weighted, projected.T @ weighted

    return gv.CustomProblem(rows.shape[1], function)


# %%
# Check the problem: with a correct gradient, the Taylor remainder decreases with the square of the
# step, a slope of 2. A wrong gradient fails the check. The check also rotates the basis within its
# subspace, which must not change the cost.
problems = [robust_cost(rows) for rows in stations]
gv.checks.check_problem(problems[0], n_signals)
print("the check of the robust cost passes")


def wrong_sign(basis):
    cost, gradient, _ = problems[0].function(basis)
    return cost, -gradient


try:
    gv.checks.check_problem(gv.CustomProblem(n_sensors, wrong_sign), n_signals)
except CheckFailed as failure:
    print(f"the check of a wrong one fails: {failure}")

# %%
# PCA of all rows, and the robust cost minimised by gossip on a ring.
plain = gv.run(
    gv.Plan(n_sensors, n_signals, gv.networks.ring(5), gv.Exact()),
    [gv.PCAProblem(rows) for rows in stations],
)
robust = gv.run(
    gv.Plan(n_sensors, n_signals, gv.networks.ring(5), gv.Gossip(rho=1e3, max_iter=1000)), problems
)
for name, result in (("principal components", plain), ("robust cost", robust)):
    angle = np.degrees(gv.geometry.Grassmann().distance(result.mean, truth))
    print(f"{name}: {angle:.1f} degrees from the true signals")
print(f"neighbours end {robust.agreement_degrees:.1f} degrees apart")

# %%
# How far is each reading from the subspace that was found?
_, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
everything, is_broken = np.vstack(stations), np.concatenate(broken_rows)
bins = np.linspace(0, 12, 40)
for ax, (name, result) in zip(
    axes, (("principal components", plain), ("robust cost", robust)), strict=True
):
    distance = np.linalg.norm(everything - everything @ result.mean @ result.mean.T, axis=1)
    ax.hist(distance[~is_broken], bins, color="tab:blue", label="sound readings")
    ax.hist(distance[is_broken], bins, color="tab:red", alpha=0.8, label="outliers")
    ax.set(title=name, xlabel="distance from the subspace", yscale="log")
axes[0].set(ylabel="readings")
axes[1].legend()
plt.show()

# %%
# **What to see.** The principal components follow the outliers, so sound readings are far from
# them. With the robust cost, all sound readings are next to the subspace and the outliers stand
# apart. The angle that remains is due to noise and to the small weight of the outliers.
