"""People use the real window from their first click to their last."""
