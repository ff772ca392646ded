"""Section 4 of Willard & Louf 2023: lexemes cut by tokens, terminals, and stacks.

What the paper says of ``def foo(): pass``, of ``de``, and of an index by stacks, held against its
own Algorithms 3 and 4 and against the engine. `docs/python.md` follows the same function token by
token. Run ``python examples/paper/section_4.py``.
"""

from __future__ import annotations

import argparse
import ast
import sys
import warnings

from algorithms import find_sub_sequences, fsm_of, map_states_to_vocab
from verdicts import Claims

import cfgguide

NAME = r"[^\W\d]\w*"
TOKENS = ["d", "ef", " f", "oo(", "):", " ", "pass"]
NEXT = {
    "d",
    "ef",
    "pass",
    " ",
    "oo(",
}  # after "def f", says the paper: at least these, and not "):"
PYTHON = r"""
start: DEF NAME "(" [NAME ("," NAME)*] ")" ":" PASS
DEF: "def"
PASS: "pass"
NAME: /[^\W\d]\w*/
%ignore " "
"""
# How each of them may go on, by hand.
ENDINGS = {"d": "(): pass", "ef": "(): pass", "pass": "(): pass", " ": "(): pass", "oo(": "): pass"}


def names(claims: Claims) -> None:
    """Judge what Algorithms 3 and 4 make of NAME."""
    fsm = fsm_of(NAME)
    paths = find_sub_sequences(fsm, "f")
    claims.judge(
        "'f' takes the FSM of NAME through (0,1), (1,2) and (2,2)",
        f"Algorithm 3: {paths}; as it is printed: {find_sub_sequences(fsm, 'f', as_printed=True)}",
        "held",
        "if line 6 of Algorithm 3 counts from 0 (see example_1.py)",
        shown=paths == [[0, 1], [1, 2], [2, 2]],
    )
    sigma = map_states_to_vocab(fsm, TOKENS)
    claims.judge(
        "Algorithm 4 maps the states 0, 1 and 2 of NAME to 'd', 'ef', 'pass', ' ' and 'oo('",
        f"Algorithm 4: {[sorted(sigma[state]) for state in range(3)]}",
        "did not hold",
        "the FSM of NAME reads neither ' ' nor '('; they need the union FSM and the parser",
        shown=all(each == {"d", "ef", "pass"} for each in sigma.values()),
    )


def function(claims: Claims) -> None:
    """Judge what may follow ``def f`` in Python."""
    texts = [*TOKENS, "("]
    sets = []
    for tokens in (TOKENS, texts):
        vocabulary = cfgguide.Vocabulary(
            [*map(str.encode, tokens), None], eos_token_ids=len(tokens)
        )
        with warnings.catch_warnings(action="ignore"):  # most names cannot be spelled with these
            index = cfgguide.compile(cfgguide.Grammar(PYTHON), vocabulary)
        guide = cfgguide.Guide(index)
        for token_id in range(3):
            guide.advance(token_id)
        sets.append({tokens[i] for i in guide.allowed_token_ids()})
    for token in NEXT:
        ast.parse(f"def f{token}{ENDINGS[token]}")  # raises if CPython does not take it
    claims.judge(
        "after 'd', 'ef', ' f', valid are at least 'd', 'ef', 'pass', ' ' and 'oo(', but not '):'",
        f"the engine allows {sorted(sets[0])}; with a token '(' besides, {sorted(sets[1])}",
        "held in part",
        "of these tokens none begins with '(', so ' ' leads to a dead end. Nor would it 'expand' "
        "the name: it ends it",
        shown=sets == [NEXT - {" "}, NEXT | {"("}],
    )
    for token_id in range(3, len(TOKENS)):
        guide.advance(token_id)
    claims.judge(
        "the sequence 'd', 'ef', ' f', 'oo(', '):', ' ', 'pass' can be written",
        f"accepting: {guide.is_accepting}; CPython parses {guide.text.decode()!r}",
        "held",
        "docs/python.md has the same with the bundled grammar of Python",
        shown=guide.is_accepting and bool(ast.parse(guide.text)),
    )


def keywords(claims: Claims) -> None:
    """Judge what ``de`` may become where both a definition and a name can stand."""
    text = 'start: DEF NAME | NAME "=" NAME\nDEF: "def"\nNAME: /[^\\W\\d]\\w*/\n%ignore " "'
    tokens = ["de", "f", "f ", "fault", "=", " x", "x"]
    vocabulary = cfgguide.Vocabulary([*map(str.encode, tokens), None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(cfgguide.Grammar(text), vocabulary)
    following = {}
    for end in ("f ", "fault"):
        guide = cfgguide.Guide(index)
        guide.advance(tokens.index("de"))
        guide.advance(tokens.index(end))
        following[f"de{end}"] = [tokens[i] for i in guide.allowed_token_ids() if i < len(tokens)]
    claims.judge(
        "section 4.1: 'de' may become DEF ('def ') or NAME ('default')",
        f"then allowed, with 'x = x' and 'def x' as the sentences: {following}",
        "held",
        shown="=" not in following["def "]
        and "x" in following["def "]
        and "=" in following["default"]
        and " x" not in following["default"],
    )


def stacks(claims: Claims, deepest: int) -> None:
    """Judge how deep into the stack a token looks, and what the index keeps."""
    tokens = [b"(", b"a", b")", b"))", b")))"]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    index = cfgguide.compile(cfgguide.Grammar('start: "(" start ")" | "a"'), vocabulary)
    entries, wrong = [], 0
    for n in range(1, deepest + 1):
        guide = cfgguide.Guide(index)
        for token_id in [*[0] * n, 1]:
            guide.advance(token_id)
        allowed = {tokens[i] for i in guide.allowed_token_ids() if i < len(tokens)}
        wrong += allowed != {b")" * k for k in (1, 2, 3) if k <= n}
        entries.append(index.n_entries)
    claims.judge(
        "section 4.1: for reductions a configuration is a sub-stack, the index a trie of stacks",
        f"tokens ')', '))', ')))' after 1 to {deepest} open brackets and 'a': {wrong} wrong masks; "
        f"entries in the configuration trie {entries[:5]} ... {entries[-1]}",
        "held",
        "three brackets deep is as deep as these tokens look, so deeper stacks share an entry",
        shown=wrong == 0 and entries[:4] == [1, 2, 3, 3] and entries[-1] == 3,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer brackets")
    quick = parser.parse_args().quick
    claims = Claims("Section 4: parsers")
    names(claims)
    function(claims)
    keywords(claims)
    stacks(claims, 6 if quick else 40)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
