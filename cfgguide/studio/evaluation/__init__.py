"""How far a model disagrees with a grammar, over sentences that are there already."""
