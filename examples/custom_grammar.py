"""A grammar of your own in five lines: chess moves in a small notation.

You need no model to see its masks. Run ``python examples/custom_grammar.py``.
"""

from __future__ import annotations

import cfgguide

GRAMMAR = """
start: move ("," move)*
move: PIECE? SQUARE "-" SQUARE | "O-O" "-O"?
PIECE: /[KQRBN]/
SQUARE: /[a-h][1-8]/
%ignore " "
"""


def main() -> None:
    tokens = [b"N", b"O-O", b"-O", b"g1", b"-", b"f", b"3", b"9", b", ", b"e2-e4", None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=10)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar(GRAMMAR), vocabulary))
    for token in (b"N", b"g1", b"-", b"f", b"3", b", ", b"O-O"):
        allowed = [vocabulary.tokens[i] or b"<end>" for i in guide.allowed_token_ids()]
        print(f"{guide.text.decode():<12} -> {b' '.join(allowed).decode()}")
        guide.advance(tokens.index(token))
    print(f"{guide.text.decode():<12} is a sentence: {guide.is_accepting}")


if __name__ == "__main__":
    main()
