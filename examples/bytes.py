"""
Gossip against the exact method, by bytes
=========================================

Bytes on the wire are what decentralised learning costs. The same table of ratings is completed by
gossip, by an averaging method and by the exact method, on the same ring of eight agents.
"""

# %%
# A table of rank 3 without much noise, so that the error says how far a method has come.
import matplotlib.pyplot as plt
import numpy as np

import grassvine as gv
from grassvine.averaging import Tracked

data = gv.datasets.low_rank_ratings(n_items=60, n_users=1200, rank=3, oversampling=6.0)
problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 8)]
methods = {
    "gossip, ρ=1000": gv.Gossip(rho=1e3, max_iter=1500),
    "averaging (Tracked)": Tracked(max_iter=60),
    "exact": gv.Exact(),
}
ring = gv.networks.ring(8)
runs = {name: gv.run(gv.Plan(60, 3, ring, method), problems) for name, method in methods.items()}


# %%
# A history has one row per update of an agent: its error before the update, and the bytes that it
# sent. The curve is the error of the worst agent against what all agents have sent so far.
def error_by_bytes(history):
    agents, errors, sent = history["agent"], history["mse"], np.cumsum(history["bytes"])
    last = np.full(8, np.nan)
    worst = np.empty(len(agents))
    for row, (agent, error) in enumerate(zip(agents, errors, strict=True)):
        if np.isfinite(error):
            last[agent] = error
        worst[row] = last.max()
    return sent / 1e6, worst


_, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for (name, result), colour in zip(
    runs.items(), ("tab:orange", "tab:green", "tab:blue"), strict=True
):
    sent, worst = error_by_bytes(result.history)
    ax.loglog(sent, worst, color=colour, label=name)
    enough = sent[np.flatnonzero(worst < 1e-8)[0]] if (worst < 1e-8).any() else np.inf
    print(
        f"{name}: error {worst[-1]:.0e} after {sent[-1]:.2f} MB; below 1e-8 after {enough:.2f} MB, "
        f"neighbours {result.agreement_degrees:.0e} degrees apart"
    )
ax.axhline(1e-12, color="tab:gray", linestyle=":", label="noise")
ax.set(xlabel="MB sent by all agents", ylabel="mean squared error of the worst agent")
ax.legend()
plt.show()

# %%
# **What to see.** All methods reach the noise. The exact method, which adds up sums along a
# spanning tree, needs the fewest bytes, and its agents agree to rounding. Both axes are
# logarithmic. Gossip sends a basis whenever two agents meet; its agents agree only as closely as
# the weight ρ makes them. What gossip saves is not bytes but order: a slot needs one pair of
# neighbours, and nobody waits for a tree.
