"""What bundled languages know beyond their grammars: names in SQL, Python and C."""
