"""
Weather with gaps
=================

Eight weather stations measure the temperature every hour. Instruments fail for hours at a time. The
stations belong to three services, which fill the gaps together and keep their records.
"""

# %%
# A row is a day of a station: 24 temperatures. Days differ in level, in how warm the afternoon
# gets, and in a front that may pass. A gap is several hours in a row, so that the hours next to it
# say little.
import matplotlib.pyplot as plt
import numpy as np

from grassvine import DecentralizedPCA

rng = np.random.default_rng(0)
hours = np.arange(24)
n_days = 240
station = np.arange(n_days) % 8
service = np.array(["coast", "coast", "coast", "valley", "valley", "valley", "hills", "hills"])[
    station
]
level = 12 + 8 * np.sin(np.arange(n_days) / 38) + rng.normal(0, 3, n_days)
sun = rng.gamma(3, 1.6, n_days)
front = rng.normal(0, 3, n_days)
shapes = np.stack(
    [np.ones(24), np.sin((hours - 9) * np.pi / 12), 1 / (1 + np.exp(-(hours - 13) / 1.5))]
)
days = np.column_stack([level, sun, front]) @ shapes + rng.normal(0, 0.3, (n_days, 24))
start = rng.integers(2, 17, n_days)
gap = (hours >= start[:, None]) & (hours < start[:, None] + 6) & (rng.random(n_days) < 0.6)[:, None]
measured = np.where(gap, np.nan, days)
print(f"{n_days} days of 24 hours, {gap.mean():.0%} missing in gaps of six hours")

# %%
# One agent per service. Gaps are NaN; ``impute`` fills in what the model expects from the hours of
# the day that were measured.
model = DecentralizedPCA(3).fit(measured, owners=service)
filled = model.impute(measured)
straight = measured.copy()
for day in straight:
    there = ~np.isnan(day)
    day[~there] = np.interp(hours[~there], hours[there], day[there])
errors = {
    "mean of the hour": np.where(gap, np.nanmean(measured, axis=0), days),
    "straight line": straight,
    "together": filled,
}
errors = {name: np.sqrt(np.mean((found - days)[gap] ** 2)) for name, found in errors.items()}
for name, error in errors.items():
    print(f"error of {name}: {error:.2f} degrees")

# %%
# Three days with gaps, one of each service.
_, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, name in zip(axes, ("coast", "valley", "hills"), strict=True):
    day = np.flatnonzero((service == name) & gap.any(axis=1) & (start > 10) & (start < 14))[2]
    first, last = start[day] - 1, start[day] + 6
    within = slice(first, last + 1)
    ax.axvspan(first, last, color="tab:gray", alpha=0.2, label="gap")
    ax.plot(hours, days[day], ".", color="black", label="true")
    ax.plot(hours[within], straight[day, within], "--", color="tab:orange", label="straight line")
    ax.plot(hours[within], filled[day, within], color="tab:blue", label="together")
    ax.set(title=name, xlabel="hour")
axes[0].set(ylabel="temperature")
axes[0].legend(fontsize="small")
plt.show()

# %%
# **What to see.** The gaps hide the warmest hours or a front. A straight line across a gap misses
# them; the model knows from the days of all services what shape a day can have, and finds the one
# that agrees with the hours before and after. What remains is close to the noise of 0.3 degrees.
