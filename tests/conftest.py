from hypothesis import settings

# The machines are shared: a slow example is no failure. The examples are the same in every run.
settings.register_profile("grassvine", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("grassvine")
