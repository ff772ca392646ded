"""JSON values sorted by which schemas hold for them."""
