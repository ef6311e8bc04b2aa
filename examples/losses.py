"""
A run that survives losses
==========================

Processes die. An agent that is created again, from the same plan and data, can be restored to where
it was: from its log entries, one per meeting, and a snapshot. Here an engine of our own kills
agents.
"""

# %%
# An engine creates agents and lets them meet by a timetable; it does not know their method. This
# one throws agents away in the middle of the run, and restores each of them from what it had
# stored.
import matplotlib.pyplot as plt
import numpy as np

import grassvine as gv


class LosesAgents:
    """Runs agents in this process and loses one before each of the given slots."""

    def __init__(self, losses):
        self.losses = losses  # slot: agent

    def run(self, factories, timetable, observe):
        agents = [make() for make in factories]
        logs = [[] for _ in agents]
        incidents = []
        for slot in range(timetable.n_slots):
            if (lost := self.losses.get(slot)) is not None:
                snapshot = agents[lost].snapshot()  # what was on disk when the process died
                agents[lost] = factories[lost]()  # a new process: the same plan, the same data
                agents[lost].restore(logs[lost], snapshot)
                incidents.append(f"agent {lost} was lost before slot {slot} and restored.")
            sent = [agent.outgoing(slot) for agent in agents]
            reasons = []
            for receiver, senders in timetable.inboxes(slot):
                report = agents[receiver].meet(slot, [sent[sender] for sender in senders])
                logs[receiver].append(agents[receiver].log_entry())
                reasons.append(observe(report))
            if stop := next((reason for reason in reasons if reason), None):
                break
        for agent in agents:
            observe(agent.conclude(slot + 1))
        states = tuple(agent.state() for agent in agents)
        return gv.engines.EngineResult(
            states, slot + 1, stop or "the timetable ended", tuple(incidents)
        )


# %%
# ``check_engine`` says whether an engine keeps the contract: every method, bit for bit as on
# ``LocalEngine``. Here two methods have to do.
data = gv.datasets.low_rank_ratings(n_items=50, n_users=900, rank=2, oversampling=6.0)
problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 6)]
ring = gv.networks.ring(6)
losses = {40: 0, 90: 3, 91: 3, 150: 5}
for name, method in {"exact": gv.Exact(), "gossip": gv.Gossip(max_iter=400)}.items():
    plan = gv.Plan(50, 2, ring, method)
    undisturbed = gv.run(plan, problems)
    disturbed = gv.run(plan, problems, engine=LosesAgents(losses))
    same = all(
        np.array_equal(one, other)
        for one, other in zip(undisturbed.bases, disturbed.bases, strict=True)
    )
    print(f"{name}: {len(disturbed.incidents)} losses, the same bits: {same}")
print(*disturbed.incidents, sep="\n")


# %%
# Without its log and snapshot, an agent starts again from nothing, in the middle of the run.
class ForgetsAgents(LosesAgents):
    """Loses agents and does not restore them."""

    def run(self, factories, timetable, observe):
        class Forgetful:
            def __init__(self, make):
                self.make, self.agent = make, make()

            def __getattr__(self, name):
                return getattr(self.agent, name)

            def restore(self, log, snapshot):
                self.agent = self.make()

        return super().run(
            [lambda make=make: Forgetful(make) for make in factories], timetable, observe
        )


forgotten = gv.run(plan, problems, engine=ForgetsAgents({150: 5}))
_, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, result, style in (
    ("undisturbed", undisturbed, {"color": "tab:gray", "linewidth": 4, "alpha": 0.5}),
    ("lost and restored", disturbed, {"color": "tab:blue"}),
    ("lost, not restored", forgotten, {"color": "tab:red", "linestyle": "--"}),
):
    own = result.history.of_agent(5)
    ax.semilogy(own["slot"], own["mse"], label=name, **style)
ax.axvline(150, color="black", linestyle=":", label="agent 5 is lost")
ax.set(xlabel="slot", ylabel="mean squared error of agent 5")
ax.legend()
plt.show()

# %%
# **What to see.** Gossip, agent 5. The restored agent goes on as if nothing had happened: its curve
# covers the undisturbed one. Without log and snapshot its error jumps to where it began, and falls
# again only as its neighbours pull it back.
#
# On a cluster, :class:`grassvine.RayEngine` stores checkpoints in a folder that all nodes see;
# between organisations, ``grassvine peer`` keeps a journal of each member. Both restore agents in
# this way.
