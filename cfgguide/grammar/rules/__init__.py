"""Rules of grammars, whatever the notation: their tree, what can be said of it, their names."""
