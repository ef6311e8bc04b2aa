"""Models saved as folders of validated files."""
