"""Configuration to vocabulary subset: made once, found again, saved, shared."""
