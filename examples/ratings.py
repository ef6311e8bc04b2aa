"""
Ratings held by three shops, with intervals
===========================================

Three shops each have a table of ratings. None wants to share its table, and none has enough ratings
to recommend well. They fit the films' factors jointly, without pooling the tables.
"""

# %%
# A table with one row per rating. For this example, all rows are in one data frame, and the column
# ``shop`` names their owner. Ids can be strings or numbers; columns are found by name, or given by
# ``user=``, ``item=`` and ``rating=``. ``fit`` also accepts a path, a lazy polars frame, a dict
# ``{user: {item: rating}}``, a frame with one row per user and one column per item, and a list of
# tables, one per agent.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from grassvine.estimators import MatrixCompleter

rng = np.random.default_rng(0)
films = [f"{genre} {number}" for genre in ("comedy", "crime", "romance") for number in range(1, 13)]
people = [f"person {number}" for number in range(1, 271)]
quality = rng.normal(0, 0.4, len(films))
likes = rng.normal(0, 0.9, (len(people), 3))[:, np.repeat([0, 1, 2], 12)]
person, film = np.nonzero(rng.random(likes.shape) < 0.3)
stars = 3 + quality[film] + likes[person, film] + rng.normal(0, 0.4, len(film))
ratings = pd.DataFrame(
    {
        "user": np.array(people)[person],
        "item": np.array(films)[film],
        "rating": np.clip(np.round(2 * stars) / 2, 1, 5),
        "shop": np.array(["north", "south", "west"])[person % 3],
    }
)
test = ratings.sample(frac=0.2, random_state=0)
train = ratings.drop(test.index)
print(train.head(3).to_string(index=False))

# %%
# Fit the model. Each shop is an agent, and nothing has to be chosen: the number of factors follows
# the size of the table. Messages contain sums over a shop's users that describe films, never a row
# of a table, and the model is the one that a single owner of all three tables would learn, up to
# rounding. If several shops have a user 7, they are separate users.
model = MatrixCompleter(agents="shop", random_state=0).fit(train)
print(f"{model.n_agents_} shops, {model.n_users_} people, {model.n_ratings_} ratings")
print(f"all shops together: {model.errors(test)['rmse']:.2f} (RMSE in stars)")

means = test["item"].map(train.groupby("item")["rating"].mean())
print(f"mean of each film:  {np.sqrt(np.mean((test['rating'] - means) ** 2)):.2f}")
for shop, own in train.groupby("shop"):
    alone = MatrixCompleter(random_state=0).fit(own)
    found = alone.errors(test[test["shop"] == shop])["rmse"]
    print(f"{shop:>5} alone:        {found:.2f}")

# %%
# How sure is it? An interval of 90 % contains nine of ten ratings that were held out.
# ``return_std=True`` returns standard deviations instead; they include the noise of a rating.
found = model.predict(test["user"], test["item"], return_interval=0.9)
inside = test["rating"].between(found["lower"].to_numpy(), found["upper"].to_numpy())
print(found.head(3).round(2).to_string(index=False))
print(f"in their intervals: {inside.mean():.2f}")

# %%
# Intervals are shorter for people who have rated more. Here are those of all held-out ratings.
width = (found["upper"] - found["lower"]).to_numpy()
n_rated = test["user"].map(train.groupby("user").size()).to_numpy()
_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
some = np.argsort(found["rating"].to_numpy())[::12]
middle = found["rating"].to_numpy()[some]
left.vlines(np.arange(len(some)), found["lower"].to_numpy()[some], found["upper"].to_numpy()[some])
left.plot(middle, "_", color="tab:blue", label="predicted, interval")
outside = ~inside.to_numpy()[some]
held_out = test["rating"].to_numpy()[some]
left.plot(np.flatnonzero(~outside), held_out[~outside], ".", color="black", label="held out")
left.plot(np.flatnonzero(outside), held_out[outside], "x", color="tab:red", label="outside")
left.set(xlabel="ratings, by prediction", ylabel="stars", ylim=(0.8, 5.9))
left.legend(loc="upper left", ncols=3, fontsize="x-small", frameon=False)
groups = [width[n_rated == count] for count in range(4, 14)]
right.boxplot(groups, positions=range(4, 14), showfliers=False)
right.set(xlabel="ratings of the person in the training data", ylabel="width of the interval")
plt.show()

# %%
# **What to see.** Left: every twelfth held-out rating, ordered by its prediction. About one in ten,
# a red cross, is outside its interval, no matter whether the prediction is low or high. Intervals
# end at 1 and 5 stars. Right: the more ratings a person has, the shorter the intervals.

# %%
# Recommend films to a user. Films that the user has rated are excluded.
print(model.recommend(["person 1"], k=3).to_string(index=False))

# %%
# A new user rates three films. The factors of the films stay fixed, so no refit is needed:
# ``fold_in`` returns a model of the new user, and ``partial_fit`` would add her to this one.
new = pd.DataFrame(
    {"user": "Mia", "item": ["crime 1", "crime 2", "comedy 3"], "rating": [4.5, 4, 2]}
)
mia = model.fold_in(new)
print(mia.recommend(["Mia"], k=3).to_pandas().to_string(index=False))

# %%
# A model is a folder that contains no code. Films and users are in separate files: those of the
# films may be shared, those of the users should stay private.
model.save("films.model", overwrite=True)
again = MatrixCompleter.load("films.model")
same = again.recommend(["person 1"], k=3)["item"].to_list()
print("the same films from the saved model:", ", ".join(same))

# %%
# **Next steps.** With ``rank="auto"`` the shops choose the rank on held-out ratings. ``predict``
# of unknown users or films warns; ``on_unknown="raise"`` raises an error instead.
# ``similar_items("crime 1")`` lists films alike. ``verbose=1`` prints the progress of a long fit.
