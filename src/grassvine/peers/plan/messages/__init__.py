"""What the members send, for each model: contents, sizes, and what they reveal."""
