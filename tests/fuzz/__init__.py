"""Differential fuzzing: random grammars, vocabularies and texts, judged by Lark.

`make fuzz SECONDS=1200` runs it open-ended; see `fuzz.__main__`.
"""
