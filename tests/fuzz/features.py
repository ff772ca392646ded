"""What a random grammar may be made of: a table of features, each of which can be switched off.

A run draws its grammars from a set of names of this table. Each grammar uses a random part of that
set, so that features meet in small groups as well as all at once (Groce et al. 2012, "Swarm
Testing").
"""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st

FEATURES = {
    # --- characters -----------------------------------------------------------------------------
    "space": "a space among the letters",
    "newline": "a newline among the letters",
    "digit": "1 among the letters",
    "two bytes": "é among the letters",
    "upper case": "A among the letters",
    # --- patterns -------------------------------------------------------------------------------
    "quantifiers": "a* a+ a?",
    "lazy": "a*? a+? a?? a{1,2}?",
    "choice": "ab|a inside a pattern, also with an empty side",
    "counted": "a{2} a{1,2} a{,2} a{2,}",
    "classes": r"[ab] [^a] . \w \W \d \s",
    "flags": "/a/i, and s, m, x",
    "scoped flags": "(?i:a) (?s:.) (?-i:a)",
    "inline flags": "(?i)a, which Lark refuses on the first text",
    "groups": "(a) and (?P<g>a)",
    "word boundaries": r"\b \B",
    "anchors": r"^ $ \A \Z",
    "look-behind": "(?<=a) (?<!a), also over the text before the lexeme",
    "look-ahead": "(?=a) (?!a), also past the end of the lexeme",
    "nested look-around": "one look-around in another",
    "not supported": r"(a)\1 (?>a) a*+ (a)?(?(1)b|c)",
    # --- terminals ------------------------------------------------------------------------------
    "priorities": "A.2: ...",
    "case-insensitive strings": '"a"i',
    "ranges": '"a".."b"',
    "composed terminals": 'A: B "c"? | /d/~2',
    "retyping": "keywords that a name swallows",
    "ignore": "%ignore",
    "declare": "%declare",
    "import": "%import common.WS",
    "extend and override": "%extend A: ... and %override A: ...",
    # --- rules ----------------------------------------------------------------------------------
    "empty rules": "p: | A",
    "repetition": "A* p+ q?",
    "repeated n times": "A~2 p~1..3",
    "groups of items": "(A | p q)",
    "maybe": "[A]",
    "anonymous terminals": '"a" and /a+/ in a rule',
    "templates": "list{p, A}",
    "aliases": "p: A -> a",
    "inlined rules": "_p: A B",
    "rules of one child": "?p: A",
    "kept tokens": "!p: A",
    "rule priorities": "p.2: A",
    "left recursion": "p: p A | B",
    "right recursion": "p: A p | B",
    "centre recursion": "p: A p B | C",
    "conflicts": "p: A p | A p B p | C, where Lark shifts",
    "any rule": "any rule may name any other",
    # --- Lark -----------------------------------------------------------------------------------
    "basic lexer": 'lexer="basic"',
}

#: What else a grammar for Lark's Earley parser may be made of.
OF_EARLEY = {
    "ambiguous": "p: p p | p A p | B",
    "cycles": "p: p | A, and p? for p",
    "hidden left recursion": "p: q? p A | B",
    "palindromes": "p: A p A | B p B | A |",
    "optional in a row": "A? q? B? A?",
    "recursive start": "p: A start B",
    "empty start": "start: | p",
    "shared prefixes": 'P: "a"  Q: "ab"  R: /ab*a?/',
    "several ignores": "up to three %ignore, of terminals that are used too",
}
#: What Lark's dynamic lexers cannot have.
NOT_OF_EARLEY = {"declare"}
EARLEY_FEATURES = {
    name: what for name, what in (FEATURES | OF_EARLEY).items() if name not in NOT_OF_EARLEY
}
#: What the lexer dynamic_complete cannot have here.
LOOKING = frozenset(
    {"word boundaries", "anchors", "look-behind", "look-ahead", "nested look-around"}
)

#: What nearly every grammar has, since little is left without it.
COMMON = frozenset({"quantifiers", "choice", "classes", "repetition"})


@st.composite
def some_of(draw: st.DrawFn, features: Collection[str]) -> frozenset[str]:
    """Draw the features of one grammar: the common ones, and a few or many others."""
    unknown = set(features) - set(FEATURES) - set(OF_EARLEY)
    if unknown:
        raise ValueError(f"no features of these names: {', '.join(sorted(unknown))}")
    names = sorted(features)
    n_least = min(draw(st.sampled_from([0, 3, 6, 10, 16])), len(names))
    drawn = draw(st.frozensets(st.sampled_from(names), min_size=n_least, max_size=n_least + 3))
    return drawn | (COMMON & frozenset(features))
