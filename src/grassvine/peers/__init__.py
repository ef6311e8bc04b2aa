"""The ceremony of a run between organisations: identities, cards, the common plan, and the model.

What runs afterwards is :mod:`grassvine.engines.peers`.
"""
