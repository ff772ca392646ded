"""Pictures of automata, parsers, tries and masks, drawn from the real objects."""
