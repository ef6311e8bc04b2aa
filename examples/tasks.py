"""
One regression for each school
==============================

Twenty-four schools want to predict an exam result from eight facts about a pupil. A school has too
few pupils for a regression of its own, and one regression for all schools is wrong for each. What
they share is *which combinations of facts matter*; how much each matters is a school's own.
"""

# %%
# The table: a row a pupil, with the school that has it. Results follow two combinations of the
# facts, weighed by each school in its own way; the last school joins later.
import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from grassvine.estimators import MultitaskRegressor

rng = np.random.default_rng(0)
facts = ["age", "reading", "maths", "sleep", "books", "travel", "absence", "siblings"]
names = [f"school {number:02d}" for number in range(1, 25)]
combinations = np.linalg.qr(rng.normal(size=(len(facts), 2)))[0]
weighing = rng.normal(0, 4, (len(names), 2))
level = rng.normal(60, 8, len(names))
school = np.repeat(np.arange(len(names)), 40)
X = pd.DataFrame(rng.normal(size=(len(school), len(facts))), columns=facts)
effects = weighing @ combinations.T
y = level[school] + (X.to_numpy() * effects[school]).sum(axis=1) + rng.normal(0, 2, len(school))
of_school = pd.Series(np.array(names)[school])
pupil = np.tile(np.arange(40), len(names))
train = (pupil < 12) & (school < 23)  # twelve pupils a school; the others are to be predicted
test = (pupil >= 12) & (school < 23)

# %%
# Every school is an agent; neighbours on a ring talk. Each school has an intercept of its own.
model = MultitaskRegressor(rank=2, agents="tasks", network="ring", random_state=0)
model.fit(X[train], y[train], tasks=of_school[train])
print(f"{len(model.tasks_)} schools with 12 pupils each, {len(facts)} facts, rank {model.rank_}")

# %%
# Beside it: each school for itself, and one regression that does not know schools.
alone = np.zeros(len(y))
for number in range(23):
    own, asked = train & (school == number), test & (school == number)
    alone[asked] = RidgeCV(np.logspace(-2, 3, 20)).fit(X[own], y[own]).predict(X[asked])
pooled = RidgeCV(np.logspace(-2, 3, 20)).fit(X[train], y[train])
print("share of the variance that is explained (R², new pupils)")
print(f"  one regression for all   {pooled.score(X[test], y[test]):.2f}")
print(f"  each school for itself   {r2_score(y[test], alone[test]):.2f}")
print(f"  schools together         {model.score(X[test], y[test], tasks=of_school[test]):.2f}")

# %%
# A school joins with eight pupils. What all share stays; only its own few numbers are solved.
first, later = (school == 23) & (pupil < 8), (school == 23) & (pupil >= 8)
joined = model.fold_in(X[first], y[first], tasks=of_school[first])
by_itself = RidgeCV(np.logspace(-2, 3, 20)).fit(X[first], y[first])
print(f"{names[-1]} joins with 8 pupils; R² for its other {later.sum()}")
print(f"  by itself                {by_itself.score(X[later], y[later]):.2f}")
print(f"  folded in                {joined.score(X[later], y[later], tasks=of_school[later]):.2f}")

# %%
# What was sent between schools: guesses of the subspace and sums, never a pupil.
print(f"schools agree to {model.agreement_:.0e} degrees after {model.bytes_ / 1e3:.0f} kB in all")
