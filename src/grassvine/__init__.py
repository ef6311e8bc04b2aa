"""Learn the common subspace of data that many places hold, without bringing the data together."""
