"""Jobs: the request of a command in plain values, its execution and its result."""
