"""The field's own tables of ratings: published splits, published figures, and ours beside them."""
