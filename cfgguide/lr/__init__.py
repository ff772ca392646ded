"""LR automata of productions: LALR(1), and tables that keep their conflicts. Knows no Lark."""
