"""Models as folders of checked files."""
