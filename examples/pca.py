"""
PCA across clinics
==================

Scikit-learn's table of breast tumours, as if six clinics held parts of it. ``DecentralizedPCA``
computes the principal components of all tumours; no measurement leaves its clinic.
"""

# %%
# Sort the tumours by size, which makes the problem hard: each clinic sees only one kind of patient,
# so its own components are far from those of all. The thirty features are standardised before.
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from grassvine import DecentralizedPCA

tumours, benign = load_breast_cancer(return_X_y=True)
order = np.argsort(tumours[:, 0], kind="stable")  # the first feature is the mean radius
tumours, benign = scale(tumours[order]), benign[order]
print(f"{len(tumours)} tumours, {tumours.shape[1]} features")

# %%
# The components, their signs and the explained variance equal those of scikit-learn's PCA, which
# needs all tumours in one place.
ours = DecentralizedPCA(3, agents=6, network="ring").fit(tumours)
theirs = PCA(3).fit(tumours)
difference = np.abs(ours.components_ - theirs.components_).max()
print(f"largest difference of an entry of the components: {difference:.0e}")
print(f"explained: {ours.explained_variance_ratio_.sum():.3f} of the variance")


# %%
# What each clinic finds on its own, and what gossip finds, where agents only communicate in pairs.
# The largest principal angle measures how far a subspace is from that of all tumours: 0 means
# equal, and 90 that some direction is orthogonal to it.
def degrees(components):
    return np.degrees(subspace_angles(components.T, theirs.components_.T).max())


clinics = np.array_split(tumours, 6)
alone = [degrees(PCA(3).fit(part).components_) for part in clinics]
gossip = DecentralizedPCA(3, agents=6, method="gossip", max_iter=200).fit(tumours)
print(f"each clinic alone: {min(alone):.0f} to {max(alone):.0f} degrees away")
print(f"gossip: {degrees(gossip.components_):.1f} degrees away, {gossip.bytes_ / 1e6:.2f} MB sent")
print(f"exact:  {degrees(ours.components_):.0e} degrees away, {ours.bytes_ / 1e6:.2f} MB sent")

# %%
# All tumours in two components: those of the first clinic alone, and those of all clinics.
first = PCA(2).fit(clinics[0])
shares = [part.mean() for part in np.array_split(benign, 6)]
print(f"benign in the first clinic: {shares[0]:.2f}, in the last: {shares[-1]:.2f}")
_, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, title, points in (
    (axes[0], "components of the first clinic", first.transform(tumours)),
    (axes[1], "components of all clinics", ours.transform(tumours)[:, :2]),
):
    for name, kind, colour in (("malignant", 0, "tab:red"), ("benign", 1, "tab:blue")):
        ax.plot(*points[benign == kind].T, ".", color=colour, alpha=0.6, label=name)
    ax.set(title=title, xlabel="first component", ylabel="second component")
axes[0].legend()
plt.show()

# %%
# **What to see.** The first clinic has only small tumours, nearly all of them benign. What varies
# most among them separates benign from malignant tumours less well than what varies most among all.

# %%
# It is a scikit-learn transformer: use it in pipelines and grid searches, and with ``set_output``.
X_train, X_test, y_train, y_test = train_test_split(tumours, benign, random_state=0)
classifier = make_pipeline(DecentralizedPCA(5, agents=6), LogisticRegression(max_iter=1000))
classifier.fit(X_train, y_train)
print(f"accuracy of diagnosis from 5 components: {classifier.score(X_test, y_test):.3f}")

# %%
# Owners are named by an array, by a column of a data frame (``agents="clinic"``), or by passing a
# list of tables; and the number of components can follow from the fraction of the variance to
# explain.
owners = np.array(["north", "east", "south"])[np.arange(len(tumours)) % 3]
owned = DecentralizedPCA(0.9).fit(tumours, owners=owners)
found, names = owned.n_components_, ", ".join(owned.owners_)
print(f"90 % of the variance: {found} components, from the tumours of {names}")

# %%
# **Next steps.** ``network="star"`` or a network of your own: the components stay the same, the
# number of slots changes. ``method="deepca"`` converges to the exact result by averaging with
# neighbours, without a tree. Where values are missing, see :doc:`digits`.
