"""What a model writes around its values: thinking, text, and calls of tools."""
