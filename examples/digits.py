"""
Digits with holes
=================

Scikit-learn's handwritten digits, of which a third of the pixels are missing. Six places hold one
or two kinds of digits each. They learn together what digits look like, and fill in the holes.
"""

# %%
# Sort the images by digit, so that each place has only a few kinds, and erase pixels at random.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from grassvine import DecentralizedPCA

images, digits = load_digits(return_X_y=True)
images, digits = images[::2], digits[::2]  # half of them are enough
order = np.argsort(digits, kind="stable")
images, digits = images[order], digits[order]
holes = np.random.default_rng(0).random(images.shape) < 0.3
holed = np.where(holes, np.nan, images)
print(f"{len(images)} images of {images.shape[1]} pixels, {holes.mean():.0%} missing")

# %%
# Missing values are NaN, and are not filled in before. The places fit a model of a few factors to
# the pixels that they have; how many factors is decided on pixels that they hold out.
together = DecentralizedPCA(4, agents=6, network="ring").fit(holed)
print(f"{together.model_.factors.n_factors} factors, {together.n_iter_} sums")

# %%
# Each place alone knows its own digits only. Here the first place, which has 0s and 1s, fills in
# the images of all.
alone = DecentralizedPCA(4).fit(holed[: len(images) // 6])
filled = {
    "means": np.where(holes, np.nanmean(holed, axis=0), images),
    "place 0 alone": alone.impute(holed),
    "all places": together.impute(holed),
}
errors = {name: np.sqrt(np.mean((found - images)[holes] ** 2)) for name, found in filled.items()}
for name, error in errors.items():
    print(f"error of {name}: {error:.2f} of 16 shades")

# %%
# One image of each digit.
chosen = [np.flatnonzero(digits == digit)[3] for digit in range(10)]
shown = {"original": images, "with holes": holed, **filled}
figure, axes = plt.subplots(len(shown), 10, figsize=(8, 4.4), layout="constrained")
shades = plt.get_cmap("gray_r").with_extremes(bad="orange")
for row, (name, pixels) in zip(axes, shown.items(), strict=True):
    for ax, image in zip(row, chosen, strict=True):
        ax.imshow(pixels[image].reshape(8, 8), cmap=shades, vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# **What to see.** Orange pixels are missing. Means leave grey spots. Place 0, which has only seen
# 0s and 1s, draws what it knows into the other digits. All places together restore them, and no
# image was sent: the messages contain sums over the images of a place.
