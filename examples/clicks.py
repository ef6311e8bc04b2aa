"""
Clicks in three shops
=====================

Three bookshops know who clicked on which book and how often; nobody gave stars. None wants to
share its table. They learn together which books people choose, and recommend better than alone.
"""

# %%
# A table with one row per click, or with a column of counts (``count``, ``clicks``, ``plays``, …).
# Pairs without a click have no row: a count of 0 is refused. For this example all clicks are in one
# data frame: 900 people, 150 books of five kinds, some of which everybody clicks on.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from grassvine import ImplicitRecommender

rng = np.random.default_rng(0)
kinds = ("crime", "garden", "history", "poetry", "travel")
books = pd.DataFrame({"item": np.arange(1, 151)})
books["title"] = [f"{kinds[number % 5]} {number // 5 + 1}" for number in range(150)]
popular = 1 / np.arange(1, 31).repeat(5)  # of each kind, number 1 most
taste = rng.dirichlet(np.full(5, 0.25), 900)[:, np.arange(150) % 5]
chance = (0.05 + taste) * popular
chance *= rng.uniform(4, 14, (900, 1)) / chance.sum(axis=1, keepdims=True)
person, book = np.nonzero(rng.random(chance.shape) < chance)
clicks = pd.DataFrame(
    {
        "user": [f"person {number + 1}" for number in person],
        "item": book + 1,
        "clicks": rng.geometric(0.6, len(person)),
        "shop": np.array(["north", "south", "west"])[person % 3],
    }
)
print(clicks.head(3).to_string(index=False))

# %%
# Hold out a fifth of the clicks, and fit the others. Each shop is an agent; there is nothing to
# tune: rank and regularisation follow the size and the density of the table. A fit takes at most 20
# sums over the shops, which describe books, never people.
test = clicks.sample(frac=0.2, random_state=0)
train = clicks.drop(test.index)
model = ImplicitRecommender(agents="shop").fit(train)
print(f"{model.n_agents_} shops, {model.n_users_} people, {model.n_items_} books")
print(f"rank {model.rank_}, {model.n_iter_} sums")

# %%
# nDCG@10 is 1 if all books that a person clicked on in the test are ranked first. ``measure`` also
# has recall, precision, average precision and coverage, one number per person.
together = model.measure(test, k=10).mean("ndcg")
print(f"all shops together: {together:.3f} (nDCG@10)")
scores = {}
for shop, own in train.groupby("shop"):
    alone = ImplicitRecommender().fit(own)
    found = alone.measure(test[test["shop"] == shop], k=10).mean("ndcg")
    print(f"{shop:>5} alone:        {found:.3f}")
    scores[f"{shop}, alone"] = found
counts = train.groupby("item")["user"].nunique().sort_values(ascending=False)
seen = train.groupby("user")["item"].agg(set)
wanted = test.groupby("user")["item"].agg(set)
discount = 1 / np.log2(np.arange(2, 12))
gains = []
for user, chosen in wanted.items():
    ranked = [item for item in counts.index if item not in seen.get(user, ())][:10]
    hits = [item in chosen for item in ranked]
    gains.append(discount @ hits / discount[: min(len(chosen), 10)].sum())
print(f"the most clicked:   {np.mean(gains):.3f}")

# %%
# The same numbers as a picture.
scores = {"the most clicked": np.mean(gains), **scores, "all shops together": together}
_, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
colours = ["tab:gray", *["tab:orange"] * 3, "tab:blue"]
bars = ax.barh(list(scores), list(scores.values()), color=colours)
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.set(xlabel="nDCG@10 of held-out clicks", xlim=(0, 0.45))
plt.show()

# %%
# **What to see.** Recommending what everybody clicks on is a start. Each shop alone does better,
# and all shops together do best.

# %%
# Recommend books to a person, with titles; books that the person clicked on are left out. A score
# has no unit: it is meant to be 1 for books that a person chooses and 0 for others. ``exclude=``
# names books to leave out, ``candidates=`` the only ones to choose from.
print(model.recommend(["person 1"], k=3, titles=books).to_string(index=False))

# %%
# Why the first one? The score is what is popular plus a share of each of the person's own books.
first = model.recommend(["person 1"], k=1)["item"][0]
why = model.explain("person 1", first)
titles = books.set_index("item")["title"]
print(f"{titles[first]}: score {why.score:.3f}, of which popular {why.popularity:.3f}")
for item, share in why.shares.head(3).rows():
    print(f"  because of {titles[item]}: {share:.3f}")
total = why.popularity + why.shares["share"].sum()
print("the shares add up to the score:", abs(total - why.score) < 1e-10)

# %%
# Somebody new clicks on five books about crime: nothing is fitted again.
new = model.fold_in({1: 2, 6: 1, 16: 3, 21: 1, 31: 1}).recommend(k=3).to_pandas()
print(new.merge(books, on="item")[["user", "title", "score"]].to_string(index=False))

# %%
# A new book gets factors from its first clicks: here from those who like poetry. Between agents
# that is one sum of a small matrix.
readers = train[train["item"] % 5 == 4]["user"].unique()[:25]
model.partial_fit(pd.DataFrame({"user": readers, "item": 151}))
near = model.similar_items(151, k=3, titles=books)
print("next to the new book:", ", ".join(near["title"]))

# %%
# Where books are few, regressions between books (EASE, Steck 2019) need one sum only. They are
# often as good, and explained in the same way, but cannot take up new items.
ease = ImplicitRecommender(method="ease", agents="shop").fit(train)
print(f"ease, {ease.n_iter_} sum: {ease.measure(test, k=10).mean('ndcg'):.3f}")
