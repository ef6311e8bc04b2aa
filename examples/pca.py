"""
PCA of images held in six places
================================

Scikit-learn's handwritten digits are divided among six places. ``DecentralizedPCA`` computes the
principal components of all images; no image leaves its place.
"""

# %%
# Sort the images by digit, which makes the problem hard: each place has only a few digits, so its
# own components are far from those of all images.
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from grassvine.estimators import DecentralizedPCA

images, digits = load_digits(return_X_y=True)
order = np.argsort(digits, kind="stable")
images, digits = images[order], digits[order]
print(f"{len(images)} images of {images.shape[1]} pixels, {images.nbytes / 1e6:.1f} MB")

# %%
# The components equal those of scikit-learn's PCA, which needs all images in one place.
ours = DecentralizedPCA(4, agents=6, network="ring", random_state=0).fit(images)
theirs = PCA(4).fit(images)
difference = np.abs(ours.components_ - theirs.components_).max()
print(f"largest difference of an entry of the components: {difference:.0e}")
print(f"explained: {ours.explained_variance_ratio_.sum():.3f} of the variance")


# %%
# What each place finds on its own, and what gossip finds, where agents only communicate in pairs.
# The largest principal angle measures how far a subspace is from that of all images.
def degrees(components):
    return np.degrees(subspace_angles(components.T, theirs.components_.T).max())


alone = [degrees(PCA(4).fit(part).components_) for part in np.array_split(images, 6)]
gossip = DecentralizedPCA(4, agents=6, method="gossip", max_iter=200, random_state=0).fit(images)
print(f"each place alone: {min(alone):.0f} to {max(alone):.0f} degrees away")
print(f"gossip: {degrees(gossip.components_):.0f} degrees away, {gossip.bytes_ / 1e6:.1f} MB sent")
print(f"exact:  {degrees(ours.components_):.0e} degrees away, {ours.bytes_ / 1e6:.1f} MB sent")

# %%
# It is a scikit-learn transformer: use it in pipelines and grid searches, and with ``set_output``.
X_train, X_test, y_train, y_test = train_test_split(images / 16, digits, random_state=0)
classifier = make_pipeline(
    DecentralizedPCA(16, agents=6, random_state=0), LogisticRegression(max_iter=500)
)
accuracy = classifier.fit(X_train, y_train).score(X_test, y_test)
print(f"accuracy of digit classification from 16 components: {accuracy:.3f}")

# %%
# Pixels may be missing: NaN. The places then learn from the known pixels what the missing ones are
# likely to be, and find the components that the complete images are expected to have.
holes = np.random.default_rng(0).random(images.shape) < 0.3
holed = np.where(holes, np.nan, images)
found = DecentralizedPCA(4, agents=6, network="ring").fit(holed)
means = np.where(holes, np.nanmean(holed, axis=0), images)
print(f"with 30 % of the pixels missing: {degrees(found.components_):.0f} degrees away")
print(f"with means in their places:      {degrees(PCA(4).fit(means).components_):.0f} degrees away")
for name, filled in (("the expected pixels", found.impute(holed)), ("means", means)):
    error = np.sqrt(np.mean((filled - images)[holes] ** 2))
    print(f"error of {name}: {error:.2f} of 16 shades")

# %%
# Owners are named by an array, by a column of a data frame, or by passing a list of tables; and the
# number of components can follow from the fraction of the variance to explain.
owners = np.array(["north", "east", "south"])[digits % 3]
owned = DecentralizedPCA(0.9).fit(images, owners=owners)
found, names = owned.n_components_, ", ".join(owned.owners_)
print(f"90% of the variance: {found} components, from the images of {names}")
