"""
A custom network
================

You decide which agents communicate: offices with a direct line, or hospitals that trust each other.
This example shows what the network affects and what it does not.
"""

# %%
# Eight offices in two towns with one line between the towns, given as a list of edges; and the same
# network with more lines, from a networkx graph.
import networkx as nx
import pandas as pd

import grassvine as gv
from grassvine.networks.mixing import spectral_gap
from grassvine.report.displays import NetworkDisplay

one_town = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
other_town = [(4, 5), (4, 6), (4, 7), (5, 6), (5, 7), (6, 7)]
towns = gv.networks.from_edges([*one_town, (3, 4), *other_town])
graph = nx.Graph(towns.edges)
graph.add_edges_from([(0, 7), (1, 6)])  # two more lines between the towns
more_lines = gv.networks.from_networkx(graph)

# %%
# The title of the plot shows size, diameter and spectral gap. The gap is the minimum fraction by
# which one round of averaging reduces disagreement; near 0, the network has a bottleneck.
display = NetworkDisplay.from_network(towns)
display.figure_.set_size_inches(4.5, 2.6)
display.figure_.savefig("two-towns.png", dpi=80)
print(display.ax_.get_title())

# %%
# The same ratings, divided among eight offices, on four networks. ``Exact`` sums along a spanning
# tree and stops when it has converged. In ``Gossip``, one pair of neighbours meets per slot; ρ is
# the consensus weight.
data = gv.datasets.low_rank_ratings(n_items=40, n_users=800, rank=2, oversampling=6.0)
problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 8)]
networks = {
    "path": gv.networks.path(8),
    "two towns": towns,
    "more lines": more_lines,
    "all": gv.networks.complete(8),
}
methods = {
    "exact": gv.Exact(),
    "gossip, ρ=100": gv.Gossip(rho=100.0, max_iter=600),
    "gossip, ρ=1000": gv.Gossip(rho=1000.0, max_iter=600),
}
rows = []
for method in methods:
    for name, network in networks.items():
        result = gv.run(gv.Plan(40, 2, network, methods[method]), problems)
        rows.append(
            {
                "method": method,
                "network": name,
                "gap": f"{spectral_gap(network):.2f}",
                "slots": result.n_slots,
                "kB": round(result.bytes / 1000),
                "error": f"{result.history.final()['mse'].max():.0e}",
                "degrees apart": f"{result.agreement_degrees:.0e}",
            }
        )
print(pd.DataFrame(rows).to_string(index=False))
