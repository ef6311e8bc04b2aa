"""What a command asks for, in plain values, and what came of it."""
