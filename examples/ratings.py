"""
Ratings held by three shops
===========================

Three shops each have a table of ratings. None wants to share its table, and none has enough ratings
to recommend well. They fit the films' factors jointly, without pooling the tables.
"""

# %%
# A table with one row per rating. For this example, all rows are in one data frame, and the column
# ``shop`` names their owner. Ids can be strings or numbers.
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
# Fit the model; each shop is an agent. The number of factors follows the size of the table.
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
found = model.predict(test["user"], test["item"], return_interval=0.9)
inside = test["rating"].between(found["lower"].to_numpy(), found["upper"].to_numpy())
print(found.head(3).round(2).to_string(index=False))
print(f"in their intervals: {inside.mean():.2f}")

# %%
# Recommend films to a user. Films that the user has rated are excluded.
print(model.recommend(["person 1"], k=3).to_string(index=False))

# %%
# A new user rates three films. The factors of the films stay fixed, so no refit is needed.
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
