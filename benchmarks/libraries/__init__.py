"""Other libraries beside ours, each in an environment of its own: ``make bench-peers``."""
