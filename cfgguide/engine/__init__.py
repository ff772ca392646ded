"""From the text so far to the tokens that may follow."""
