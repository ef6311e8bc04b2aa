"""What the members agree on before they connect, and what it lets leave each of them."""
