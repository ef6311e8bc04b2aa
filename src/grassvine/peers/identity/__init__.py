"""Who the members are: names, keys, certificates, public cards, signatures and words to compare."""
