"""Masks where a monitor follows a text: tokens told apart by where the lexer is after them."""
