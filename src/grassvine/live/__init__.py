"""The live page of a run: a server that follows its events, and the page in a browser."""
