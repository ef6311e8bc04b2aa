"""
Owners who gain most
====================

Five shops of very different size learn together. Who gains? Each shop compares the error of its
own model with that of the common one, on ratings that neither has seen.
"""

# %%
# A table of 60 films. The largest shop has 320 customers, the smallest 8. All customers have tastes
# of the same kind, so what one shop learns about films is of use to the others.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from grassvine import MatrixCompleter

rng = np.random.default_rng(0)
sizes = {"A": 320, "B": 120, "C": 45, "D": 20, "E": 8}
shop = np.repeat(list(sizes), list(sizes.values()))
taste = rng.normal(size=(len(shop), 3)) @ rng.normal(size=(3, 60)) * 0.5
person, film = np.nonzero(rng.random(taste.shape) < 0.3)
stars = 3.4 + rng.normal(0, 0.4, 60)[film] + taste[person, film] + rng.normal(0, 0.4, len(film))
ratings = pd.DataFrame(
    {"user": person, "item": film, "rating": np.clip(stars, 1, 5), "shop": shop[person]}
)
test = ratings.sample(frac=0.3, random_state=0)
train = ratings.drop(test.index)
print(train.groupby("shop").size().rename("ratings").to_frame().T.to_string())

# %%
# One model of all shops, and one of each shop alone. Rank 3 for all, because the point is the data.
together = MatrixCompleter(rank=3, agents="shop").fit(train)
rows = []
for name, own in train.groupby("shop"):
    unseen = test[test["shop"] == name]
    alone = MatrixCompleter(rank=3, on_unknown="fallback").fit(own)
    errors = [model.errors(unseen)["rmse"] for model in (alone, together)]
    rows.append({"shop": name, "ratings": len(own), "alone": errors[0], "together": errors[1]})
table = pd.DataFrame(rows)
table["gain"] = 1 - table["together"] / table["alone"]
print(table.round(3).to_string(index=False))
print(
    f"the smallest shop gains {table['gain'].iloc[-1]:.2f}, the largest {table['gain'].iloc[0]:.2f}"
)

# %%
# Nobody has to send a rating for that: the shops exchanged sums over their customers.
print(f"{together.bytes_ / 1e6:.2f} MB in all")
_, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.semilogx(table["ratings"], table["alone"], "o--", color="tab:orange", label="alone")
ax.semilogx(table["ratings"], table["together"], "o-", color="tab:blue", label="together")
for row in table.itertuples():
    ax.annotate(f" {row.shop}", (row.ratings, row.alone), va="bottom")
ax.axhline(0.4, color="tab:gray", linestyle=":", label="noise")
ax.set(xlabel="ratings of the shop", ylabel="RMSE of its held-out ratings", ylim=(0, None))
ax.legend()
plt.show()

# %%
# **What to see.** Alone, a shop is the worse the fewer ratings it has. Together, the error hardly
# depends on the size of the shop: the smallest gains most, and the largest loses nothing. What
# remains above the noise is what the ratings of a person do not yet tell about the person.
