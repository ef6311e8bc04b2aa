"""One member's run: its table, masks and journal, from the plan to the model."""
