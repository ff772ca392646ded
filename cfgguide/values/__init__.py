"""Numbers, dates and addresses as regular languages and as grammars."""
