"""What bundled languages know beyond their grammars: names, tidy forms, presets."""
