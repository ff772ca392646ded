"""LR parsers: states, tables, stacks, and what indentation adds to them. Knows no Lark."""
