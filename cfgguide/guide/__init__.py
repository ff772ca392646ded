"""The state of one sequence: masks, advancing, budgets, forced text."""
