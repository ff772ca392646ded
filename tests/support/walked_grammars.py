"""Grammars for walks and indexes, with texts that lead through them."""

from __future__ import annotations

import random

from cfgguide.grammar.grammar import Grammar


def words(alphabet: str, longest: int, n: int, seed: int = 0) -> list[bytes]:
    """Return all single letters and random words of an alphabet, some of them twice."""
    rng = random.Random(seed)
    longer = ["".join(rng.choices(alphabet, k=rng.randint(2, longest))) for _ in range(n)]
    return [word.encode() for word in (*alphabet, *longer)]


GRAMMARS = {
    "json": (Grammar.bundled("json").text, words('[]{}",:1-.e \\ntrulfsa', 6, 400)),
    "fall-backs": (
        """
        start: (A | AB | ABABC | DOT | DOTS)*
        A: "a" | "b"
        AB: "ab"
        ABABC: /(ab)+c/
        DOT: "."
        DOTS: /\\.{3}|\\.{5}/
        """,
        words("ab.c", 8, 300),
    ),
    "keywords": (
        """
        start: (stmt ";")*
        stmt: "if" NAME "then" stmt ["else" stmt] | NAME "=" (NAME | INT)
        NAME: /[a-z]+/
        INT: /[0-9]+/
        %ignore /[ \\n]+/
        """,
        [*words("ifthenels x=1; \n", 5, 300), b"if x then", b" else", b"then", b"x=1;"],
    ),
    "reductions all the way down": (
        'start: "a" start | "b" start | "(" start ")" | "a"',
        words("ab()", 6, 200),
    ),
    "rules that may be empty in many ways": (
        'start: "y" n0 "x"\n'
        + "".join(f"n{i}: n{i + 1} n{i + 1}\n" for i in range(12))
        + "n12: \n",
        [b"y", b"x", b"yx"],
    ),
    "reductions that would never end": (
        # Lark resolves the conflict by the priority of e, and never comes back from reading `yx`.
        's: e s "x" | n "y" | "z"\ne.2:\nn:\nstart: s',
        [b"y", b"x", b"z", b"yx"],
    ),
    "a dangling else": (
        """
        start: stmt+
        stmt: "if" e "then" stmt ["else" stmt] | "do" stmt* "od" | e ";"
        e: e "+" e | NAME | "(" e ")" | "-"
        NAME: /[a-z]+/
        %ignore " "
        """,
        [*words("ifthenlsdo x+;()- ", 4, 200), b"if x then", b" else", b"then", b" od", b"+x;"],
    ),
    "a conflict whose shift leads nowhere": (
        # Every b after a c is shifted, so that no x ever ends.
        'start: "a" x "b" | "q" x "!" | "d" start | "e"\nx: "c" | "c" "b" x "b"',
        words("abcdeq!", 5, 60),
    ),
    "a rule that cannot be written": (
        'start: "[" start "]" | "(" bad ")" | "x" | MISSING start\nbad: "(" bad ")"\n'
        "%declare MISSING",
        words("[]()x", 4, 60),
    ),
    "refused by the parser": (
        'start: NAME*\nNAME: /[ab]+/\n%ignore "ab"',  # the lexeme ab is of no use to any rule
        words("ab", 5, 60),
    ),
    "look-around": (
        r"""
        start: (IF | NAME | DOT | LONG | BACK | TAIL)*
        IF: /if\b/
        NAME: /[a-z]+?(?=[.!]|$|if)/
        DOT: /\.(?!\.)|\.\.(?!\.)/
        LONG: /!(?=[^?]*\?)/
        BACK: /(?<=[.!])[a-z?](?!a)/
        TAIL: /\?\B/
        """,
        words("if.!?a", 5, 200),
    ),
    "characters": (
        'start: (/[à-ö]/ | "é" "à" "!")*',
        [bytes([byte]) for byte in (0xC3, *range(0xA0, 0xB7), 0x21)] + ["éà!".encode()],
    ),
}
