"""
Asynchronous gossip
===================

Agents need no common clock: each has its own, and meets a random neighbour when it ticks. Fast
agents meet often and slow ones rarely. What changes, and what does not?
"""

# %%
# Six agents on a ring complete a table. One of them is slow: its clock ticks at a tenth of the rate
# of the others.
import matplotlib.pyplot as plt
import numpy as np

import grassvine as gv
from grassvine.networks import PoissonClocks

data = gv.datasets.low_rank_ratings(n_items=50, n_users=900, rank=2, oversampling=6.0)
problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
schedules = {
    "one link per slot": gv.networks.OneEdge(),
    "own clocks": PoissonClocks(),
    "own clocks, agent 5 slow": PoissonClocks(rates=(1.0, 1.0, 1.0, 1.0, 1.0, 0.1)),
}

# %%
# ``clock="own"`` counts steps by the updates of each agent instead of by slots, which only a common
# clock would know.
ring = gv.networks.ring(6)
runs = {}
for name, schedule in schedules.items():
    method = gv.Gossip(rho=1e3, max_iter=600, schedule=schedule, clock="own")
    runs[name] = result = gv.run(gv.Plan(50, 2, ring, method), problems)
    updates = np.bincount(result.history["agent"], minlength=6) - 1
    print(
        f"{name}: {updates.min()} to {updates.max()} updates per agent, "
        f"error {result.history.final()['mse'].max():.0e}, "
        f"neighbours {result.agreement_degrees:.0e} degrees apart"
    )

# %%
# The error of each agent against its own updates.
_, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, (name, result) in zip(axes, runs.items(), strict=True):
    for agent in range(6):
        own = result.history.of_agent(agent)
        colour, label = ("tab:red", "agent 5") if agent == 5 else ("tab:blue", "others")
        ax.semilogy(own["slot"], own["mse"], color=colour, alpha=0.8, label=label)
    ax.set(title=name, xlabel="slot")
axes[0].set(ylabel="mean squared error")
handles, labels = axes[0].get_legend_handles_labels()
axes[0].legend(handles[-2:], labels[-2:])
plt.show()

# %%
# **What to see.** Own clocks make the updates of the agents differ, not the result. The slow agent
# still meets neighbours whenever *their* clocks tick, so it follows them. Its data have less weight
# in the common cost, which matters only if its data differ from those of the others.

# %%
# A run with own clocks can be replayed bit for bit: the meetings that took place are a schedule.
slow = runs["own clocks, agent 5 slow"]
replay = gv.Gossip(
    rho=1e3,
    max_iter=600,
    schedule=gv.networks.Recorded.of(slow.plan.timetable),
    clock="own",
)
again = gv.run(gv.Plan(50, 2, ring, replay), problems)
print("the same bits from the record:", np.array_equal(again.mean, slow.mean))
