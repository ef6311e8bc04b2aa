"""
Pupils of many schools
======================

Twenty-four schools want to predict exam results from eight features about a pupil. Each has too few
pupils for its own regression, and one regression for all schools fits none of them. What they share
is how the effects of the features are *distributed* among schools.
"""

# %%
# A table with one row per pupil, and the school of each pupil. Results depend on two combinations
# of the features, with different weights in each school; the last school joins later.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold

from grassvine.estimators import MultitaskRegressor

rng = np.random.default_rng(0)
features = ["age", "reading", "maths", "sleep", "books", "travel", "absence", "siblings"]
names = [f"school {number:02d}" for number in range(1, 25)]
combinations = np.linalg.qr(rng.normal(size=(len(features), 2)))[0]
weights = rng.normal(0, 4, (len(names), 2))
level = rng.normal(60, 8, len(names))
school = np.repeat(np.arange(len(names)), 40)
X = pd.DataFrame(rng.normal(size=(len(school), len(features))), columns=features)
effects = weights @ combinations.T
y = level[school] + (X.to_numpy() * effects[school]).sum(axis=1) + rng.normal(0, 2, len(school))
school_ids = pd.Series(np.array(names)[school])
pupil = np.tile(np.arange(40), len(names))
train = (pupil < 12) & (school < 23)  # twelve pupils per school; the others are for testing
test = (pupil >= 12) & (school < 23)

# %%
# Every school is an agent on a ring. The distribution of the effects is learned from all schools:
# there is no rank and no regularisation to choose.
model = MultitaskRegressor(agents="tasks", network="ring")
model.fit(X[train], y[train], tasks=school_ids[train])
print(f"{len(model.tasks_)} schools with 12 pupils each, {len(features)} features")

# %%
# For comparison: one regression per school, and one regression for all schools.
alone = np.zeros(len(y))
for number in range(23):
    known, new = train & (school == number), test & (school == number)
    alone[new] = RidgeCV(np.logspace(-2, 3, 20)).fit(X[known], y[known]).predict(X[new])
pooled = RidgeCV(np.logspace(-2, 3, 20)).fit(X[train], y[train])
print("R² on pupils who were not used for fitting")
print(f"  one regression for all   {pooled.score(X[test], y[test]):.2f}")
print(f"  each school alone        {r2_score(y[test], alone[test]):.2f}")
print(f"  schools together         {model.score(X[test], y[test], tasks=school_ids[test]):.2f}")

# %%
# School by school: what a school gains by taking part.
errors = []
for number in range(23):
    own = test & (school == number)
    common = model.predict(X[own], school_ids[own])
    errors.append([root_mean_squared_error(y[own], found) for found in (alone[own], common)])
separate, together = np.array(errors).T
_, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.axline((2, 2), slope=1, color="tab:gray")
ax.axhline(2, color="tab:gray", linestyle=":")
ax.plot(separate, together, "o", color="tab:blue")
ax.set(xlabel="error of the school's own regression", ylabel="error of the schools together")
plt.show()
print(f"schools that gain: {np.mean(together < separate):.2f} of all")

# %%
# **What to see.** One dot per school. Below the line, the school predicts the results of its other
# pupils better together with all schools. Schools whose own regression is worst gain most; nobody
# can do better than the dotted line, the noise.

# %%
# Every prediction has an error bar: here the interval that should contain nine results in ten.
predicted, lower, upper = model.predict(X[test], school_ids[test], return_interval=0.9)
inside = np.mean((lower <= y[test]) & (y[test] <= upper))
print(f"results inside their 90 % interval: {inside:.2f}, mean width {np.mean(upper - lower):.1f}")

# %%
# A school joins with eight pupils. The distribution stays as it is; only its own effects are
# solved.
first, later = (school == 23) & (pupil < 8), (school == 23) & (pupil >= 8)
joined = model.fold_in(X[first], y[first], tasks=school_ids[first])
by_itself = RidgeCV(np.logspace(-2, 3, 20)).fit(X[first], y[first])
print(f"{names[-1]} joins with 8 pupils; R² for its other {later.sum()}")
print(f"  by itself                {by_itself.score(X[later], y[later]):.2f}")
print(f"  folded in                {joined.score(X[later], y[later], tasks=school_ids[later]):.2f}")

# %%
# The directions in which effects vary most can be read off. In this table two matter.
basis = model.subspace_[:, :2]
known = np.linalg.qr(combinations)[0]
cosines = np.linalg.svd(known.T @ basis)[1]
print(
    f"the two directions of the table, found to {np.degrees(np.arccos(cosines.min())):.0f} degrees"
)

# %%
# The paper's method looks for a subspace of given rank, chosen here by cross-validation. The school
# of each pupil is metadata, which scikit-learn passes to fit and score if they request it.
sklearn.set_config(enable_metadata_routing=True)
regressor = MultitaskRegressor(method="exact", agents="tasks", random_state=0)
regressor.set_fit_request(tasks=True).set_score_request(tasks=True)
folds = KFold(3, shuffle=True, random_state=0)
search = GridSearchCV(regressor, {"rank": [1, 2, 4]}, cv=folds)
search.fit(X[train], y[train], tasks=school_ids[train])
for rank, score in zip([1, 2, 4], search.cv_results_["mean_test_score"], strict=True):
    print(f"rank {rank}: R² {score:.2f} in cross-validation")
sklearn.set_config(enable_metadata_routing=False)

# %%
# Schools exchange sums over their pupils, never a row of data.
print(f"schools agree to {model.agreement_:.0e} degrees after {model.bytes_ / 1e3:.0f} kB in all")
