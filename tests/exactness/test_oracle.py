"""Masks equal what a brute-force search under Lark finds, token for token.

Each case is small enough that its sentences can be thought through by hand; the random grammars
below them were made by no one.
"""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError
from support.ci import or_in_ci
from support.oracle import Case, Oracle, spelled_texts

import cfgguide
from cfgguide.errors import GrammarError, VocabularyError

CASES = {
    # --- where other engines differ from Lark -----------------------------------------------
    "a keyword is no name": Case(
        """
        start: "if" NAME ":" | NAME "=" NUM ";"
        NAME: /[a-z]+/
        NUM: /[0-9]+/
        %ignore " "
        """,
        [b"if", b"i", b"x", b" ", b"=", b"1;", b":"],
        within=3,
        depth=3,
    ),
    "the same, with tokens across lexemes": Case(
        """
        start: "if" NAME ":" | NAME "=" NUM ";"
        NAME: /[a-z]+/
        NUM: /[0-9]+/
        %ignore " "
        """,
        [b"if", b"if ", b" x:", b"=1", b"f=1;", b";", b"i", b":"],
        within=3,
        depth=3,
    ),
    "a lazy string ends at the first quote": Case(
        """
        start: STRING
        STRING: /'.*?'/
        """,
        [b"'", b"a", b"'a'", b"''", b"a'"],
        within=1,
        depth=4,
    ),
    "a longer terminal falls back to two shorter ones": Case(
        """
        start: (A | B | ABC)+
        A: "a"
        B: "b"
        ABC: "abc"
        """,
        [b"a", b"b", b"c", b"ab", b"bc"],
        within=1,
        depth=4,
    ),
    "the first terminal that matches wins, though another would match more": Case(
        """
        start: AB | AC
        AB: /a(b)*/
        AC: /a(c)*/
        """,
        [b"a", b"b", b"c", b"ac", b"ab"],
        within=0,
        depth=4,
    ),
    "1..2 is no range of floats": Case(
        r"""
        start: FLOAT (".." FLOAT)?
        FLOAT: /[0-9]+\.[0-9]*/
        """,
        [b"1", b".", b"..", b"1.", b".1"],
        within=2,
        depth=4,
    ),
    "the closing bracket fits the opening one": Case(
        """
        start: "(" x ")" | "[" x "]"
        x: "n"
        """,
        [b"(", b"[", b"n", b")", b"]", b"(n", b"n]"],
        within=2,
        depth=3,
    ),
    "a greedy terminal leaves its neighbour the rest": Case(
        """
        start: X B | Y "c"
        X: /a+/
        Y: /ab/
        B: "b"
        """,
        [b"a", b"b", b"c", b"ab", b"bc"],
        within=1,
        depth=4,
    ),
    "an ignored terminal takes the newline": Case(
        r"""
        start: "a" (_NL "b")*
        _NL: /\n+/
        %ignore /[ \t\n]+/
        """,
        [b"a", b"b", b"\n", b" ", b"a\n", b"\nb"],
        within=1,
        depth=4,
    ),
    # --- which terminal a lexeme is -------------------------------------------------------------
    "several keywords": Case(
        """
        start: "in" NAME | "is" NAME "!" | NAME ";"
        NAME: /[a-z]+/
        %ignore " "
        """,
        [b"i", b"n", b"s", b"in", b" ", b";", b"s n!"],
        within=3,
        depth=3,
    ),
    "a keyword in any case": Case(
        """
        start: "if"i NAME | NAME ";"
        NAME: /[a-zA-Z]+/
        %ignore " "
        """,
        [b"i", b"F", b"If", b" ", b";", b"f "],
        within=2,
        depth=3,
    ),
    "a keyword of higher priority is cut off the start of a name": Case(
        """
        start: (KEY | NAME ";")+
        KEY.2: "ab"
        NAME: /[abc]+/
        """,
        [b"a", b"b", b"c", b";", b"ab", b"cab"],
        within=1,
        depth=4,
    ),
    "a terminal of lower priority comes last, though it matches more": Case(
        """
        start: WORD "!" | ANY "?"
        WORD: /ab/
        ANY.-1: /[ab]+/
        """,
        [b"a", b"b", b"!", b"?", b"ab", b"b?"],
        within=1,
        depth=4,
    ),
    "only the terminals that the parser takes are tried": Case(
        """
        start: "async" "def" NAME | NAME
        NAME: /[a-z]+/
        %ignore " "
        """,
        [b"async", b" ", b"def", b"f", b"deff", b"c d"],
        within=3,
        depth=3,
    ),
    "a name of one flag does not swallow a keyword of another": Case(
        """
        start: (NAME | "a"i "!")*
        NAME: /[ab]/
        """,
        [b"a", b"A", b"b", b"!", b"A!", b"aA"],
        within=1,
        depth=4,
    ),
    "an ignored keyword that a name swallows is not ignored": Case(
        """
        start: NAME "!" | "?"
        NAME: /[ab]+/
        %ignore "ab"
        """,
        [b"a", b"b", b"ab", b"!", b"?", b"b!"],
        within=1,
        depth=4,
    ),
    # --- what is ignored ------------------------------------------------------------------------
    "spaces and comments are ignored": Case(
        r"""
        start: "a" "b"
        %ignore " "
        %ignore /#[^\n]*\n/
        """,
        [b"a", b"b", b" ", b"#", b"\n", b"a#", b"\nb"],
        within=3,
        depth=3,
    ),
    "two names need a space": Case(
        """
        start: NAME NAME
        NAME: /[ab]+/
        %ignore " "
        """,
        [b"a", b" ", b"b ", b" a", b"a b"],
        within=2,
        depth=4,
    ),
    # --- bytes read past a match ----------------------------------------------------------------
    "two dots on the way to three": Case(
        """
        start: (DOT | ELLIPSIS)* NAME
        DOT: "."
        ELLIPSIS: "..."
        NAME: "x"
        """,
        [b".", b"..", b"x", b"...", b".x"],
        within=1,
        depth=4,
    ),
    "two dots and three lead to different ends": Case(
        """
        start: ELLIPSIS "x" | DOT DOT "x" "!"
        DOT: "."
        ELLIPSIS: "..."
        """,
        [b".", b"..", b"x", b"!", b".x"],
        within=2,
        depth=4,
    ),
    "a fall-back over any distance": Case(
        """
        start: AB "!" | "a"+ "?"
        AB: /a+b/
        """,
        [b"a", b"aa", b"b", b"!", b"?", b"a?"],
        within=2,
        depth=5,
    ),
    "1else is 1 and else": Case(
        """
        start: NUM "else" NUM
        NUM: /[0-9]+(e[0-9]+)?/
        """,
        [b"1", b"e", b"lse", b"else", b"1e", b"1else", b"se1"],
        within=2,
        depth=4,
    ),
    "a lexeme of two or three": Case(
        "start: A+\nA: /a{2,3}/", [b"a", b"aa", b"aaaa"], within=2, depth=5
    ),
    "a lazy lexeme ends before its neighbour": Case(
        """
        start: A "c" | A A
        A: /a.*?b/
        """,
        [b"a", b"b", b"c", b"ab", b"ba"],
        within=2,
        depth=4,
    ),
    # --- rules ----------------------------------------------------------------------------------
    "rules that may be empty": Case(
        'start: a b\na: | "x"\nb: | "y"', [b"x", b"y", b"xy"], within=0, depth=3
    ),
    "only the empty text": Case("start: ", [b"x", b"y"], within=0, depth=2),
    "left recursion": Case(
        'start: start "+" N | N\nN: /1+/', [b"1", b"+", b"+1", b"1+", b"11"], within=1, depth=4
    ),
    "right recursion": Case(
        'start: N "+" start | N\nN: /1+/', [b"1", b"+", b"+1", b"1+", b"11"], within=1, depth=4
    ),
    "the dangling else goes to the nearest if": Case(
        'start: "i" start | "i" start "e" start | "x"',
        [b"i", b"e", b"x", b"ix", b"xe"],
        within=1,
        depth=5,
    ),
    "a rule without sentences": Case(
        'start: "a" | b\nb: "x" b', [b"a", b"x", b"ax", b"xa"], within=0, depth=3
    ),
    "a rule without sentences, in brackets": Case(
        'start: "[" start "]" | "(" b ")" | "x"\nb: "(" b ")"',
        [b"[", b"]", b"(", b")", b"x", b"[("],
        within=4,
        depth=2,
    ),
    "neighbours that the lexer reads as one": Case(
        'start: N N "!" | N "?"\nN: /1+/', [b"1", b"!", b"?", b"1!"], within=1, depth=4
    ),
    # --- tokens ---------------------------------------------------------------------------------
    "characters cut in pieces": Case(
        'start: ("é" | "è" "!" | /[😀😁]/)*',
        [b"\xc3", b"\xa9", b"\xa8", b"\xa8!", b"\xf0\x9f", b"\x98", b"\x80", "é😁".encode()],
        within=2,
        depth=4,
    ),
    "no token for n alone": Case(
        'start: "null" | "nil" | "u"', [b"null", b"nu", b"ll", b"l", b"u", b"il"], within=2, depth=3
    ),
    "sentences of whole tokens only": Case(
        'start: ("a" "b")+', [b"ab", b"aba", b"bab", b"abb"], within=1, depth=4
    ),
    "a lexeme that needs a token from its middle on": Case(
        'start: "[" WORD "]"\nWORD: /[a-c]+/', [b"[a", b"ab", b"c]", b"b", b"[c"], within=1, depth=4
    ),
    "the same token twice": Case('start: "a" "b"', [b"a", b"b", b"a", b"ab"], within=1, depth=3),
    "tokens across several lexemes": Case(
        """
        start: "{" (pair ("," pair)*)? "}"
        pair: "p" ":" "1"
        """,
        [b"{", b"}", b"p:1,p", b"{p:1", b",", b":1}", b"},", b"p"],
        within=3,
        depth=4,
    ),
    # --- Questions about the text ahead that the next byte does or does not answer ------------
    "a keyword that another goes on with": Case(
        """
        start: IN "a" | INTO "b" | INT NAME
        IN.2: /in(?![a-z])/
        INT.2: /int(?![a-z])/
        INTO.2: /into(?![a-z])/
        NAME: /[a-z]+/
        %ignore " "
        """,
        [b"in", b"int", b"into", b"o", b"t", b" ", b"a", b"b"],
        within=3,
        depth=3,
    ),
    "a question that a byte leaves open": Case(
        """
        start: "p" NEVER_MATCHES | "z"
        NEVER_MATCHES: /a(?!bc)bcq/
        """,
        [b"p", b"a", b"b", b"c", b"q", b"z"],
        within=3,
        depth=3,
    ),
    "an obligation that the rest of the lexeme contradicts": Case(
        """
        start: "p" NEVER_MATCHES | "p" PLAIN "!"
        NEVER_MATCHES: /if(?=a)b/
        PLAIN: /ig/
        """,
        [b"p", b"pif", b"i", b"if", b"g", b"a", b"b", b"!"],
        within=3,
        depth=3,
    ),
    "a lexeme that would go on with what follows it": Case(
        """
        start: BEFORE SHORT ("s" "t" | "t") | BEFORE LONG NEVER | "z"
        BEFORE: /p(?!gt)/
        SHORT: /g/
        LONG: /gs/
        %declare NEVER
        """,
        [b"p", b"pg", b"g", b"s", b"t", b"z"],
        within=3,
        depth=3,
    ),
    "two questions, one after the other": Case(
        """
        start: NUMBER ";" | FRACTION ";"
        NUMBER: /[0-9]+(?![0-9.a])/
        FRACTION: /[0-9]+(?:\\.[0-9]*)?(?![0-9a])/
        """,
        [b"1", b"1.", b".", b"a", b";", b"1;"],
        within=2,
        depth=3,
    ),
}


def guides_of(case: Case) -> list[cfgguide.Guide]:
    """Return a guide after every allowed sequence of tokens up to the depth, one for each text."""
    vocabulary = cfgguide.Vocabulary(case.vocabulary, eos_token_ids=case.eos_token_id)
    with warnings.catch_warnings(action="ignore"):  # terminals without tokens are no news here
        index = cfgguide.compile(cfgguide.Grammar(case.grammar), vocabulary)
    level = {b"": cfgguide.Guide(index)}
    found = dict(level)
    for _ in range(case.depth):
        following = {}
        for guide in level.values():
            for token_id in guide.allowed_token_ids().tolist():
                after = guide.copy()
                after.advance(token_id)
                if not after.is_finished and after.text not in found:
                    following[after.text] = found[after.text] = after
        level = following
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_mask_is_what_the_oracle_allows(case):
    oracle = case.oracle()
    got = {guide.text: set(guide.allowed_token_ids().tolist()) for guide in guides_of(case)}
    expected = {text: oracle.allowed(text, within=case.within) for text in got}
    assert got == expected
    assert all(expected.values()), "a live text has no token"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_bound_of_the_case_is_no_accident(case):
    """One token more of search finds no more, for the texts that are compared first."""
    oracle = case.oracle()
    for text in list(spelled_texts(case.tokens, 3))[:12]:
        assert oracle.allowed(text, within=case.within) == oracle.allowed(
            text, within=case.within + 1
        )


def test_the_oracle_is_not_the_engine():
    """The oracle says what a hand says: after `(n` the closing bracket, and nothing else."""
    case = CASES["the closing bracket fits the opening one"]
    names = {index: token.decode() for index, token in enumerate(case.tokens)}
    oracle = case.oracle()
    table = {
        text: {names.get(index, "EOS") for index in oracle.allowed(text.encode(), within=2)}
        for text in ("", "(", "(n", "[n", "(n)", "(n]")
    }
    assert table == {
        "": {"(", "[", "(n"},
        "(": {"n"},
        "(n": {")"},
        "[n": {"]"},
        "(n)": {"EOS"},
        "(n]": set(),
    }


@pytest.mark.parametrize(
    "grammar",
    [
        "start: N N\nN: /1+/",  # 11 is one N
        'start: "a" start',  # never ends
        'start: NAME "n"\nNAME: /[a-z]+/',  # NAME takes every n
        'start: A B\nA: /a+/\nB: "ab"',  # A takes the `a` of B
    ],
)
def test_a_grammar_without_sentences_is_an_error(grammar):
    oracle = Oracle(grammar, [b"a", b"b", b"i", b"n", b"1"], eos_token_ids=[])
    assert oracle.completion(b"", 5) is None
    with pytest.raises(GrammarError, match="no text at all is a sentence of the grammar"):
        cfgguide.compile(
            cfgguide.Grammar(grammar), cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
        )


# --- Random grammars ------------------------------------------------------------------------------

LETTERS = "abc"
MAX_BYTES = 7  # of a text and its completion
MAX_COMPARED = 3  # of a text whose mask is compared

words = st.text(LETTERS, min_size=1, max_size=3)
atoms = st.one_of(
    words, st.sampled_from([".", "[ab]", "[^a]", "(?:a|ab)", "(?:ab|a)", "(?:b|)", "a*", "b*?"])
)


def repeated(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        "(?:{}){}".format, patterns, st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{1,2}"])
    )


patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner), st.builds("(?:{}|{})".format, inner, inner)
    ).flatmap(lambda pattern: st.one_of(st.just(pattern), repeated(st.just(pattern)))),
    max_leaves=4,
)
definitions = st.one_of(
    st.builds('"{}"{}'.format, words, st.sampled_from(["", "", "i"])),
    st.builds("/{}/".format, patterns),
)


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """Draw a grammar text; Lark may find fault with it."""
    terminals = ["T", "U", "V", "W"][: draw(st.integers(1, 4))]
    rules = ["start", "p", "q"][: draw(st.integers(1, 3))]
    symbols = st.one_of(st.sampled_from(terminals), st.sampled_from(rules))
    items = st.builds("{}{}".format, symbols, st.sampled_from(["", "", "", "?", "*", "+"]))
    sides = st.lists(items, max_size=3).map(" ".join)
    lines = [
        f"{rule}: {' | '.join(draw(st.lists(sides, min_size=1, max_size=3)))}" for rule in rules
    ]
    for terminal in terminals:
        priority = draw(st.sampled_from(["", "", "", ".1", ".-1"]))
        lines.append(f"{terminal}{priority}: {draw(definitions)}")
    ignored = draw(st.one_of(st.none(), st.none(), definitions, st.sampled_from(terminals)))
    return "\n".join(lines + ([f"%ignore {ignored}"] if ignored else []))


vocabularies = st.lists(words.map(str.encode), min_size=1, max_size=6)


RANDOM = settings(
    deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@pytest.mark.slow
@settings(RANDOM, max_examples=or_in_ci(400, 150))
@given(grammars(), vocabularies)
def test_random_grammars_agree_with_the_oracle(grammar, tokens):
    assert_agrees(grammar, tokens)


def assert_agrees(grammar: str, tokens: list[bytes]) -> None:
    try:
        oracle = Oracle(grammar, [*tokens, None], eos_token_ids=[len(tokens)], counts_bytes=True)
    except LarkError:
        assume(False)
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    try:
        with warnings.catch_warnings(action="ignore"):
            index = cfgguide.compile(cfgguide.Grammar(grammar), vocabulary)
    except (GrammarError, VocabularyError) as error:  # there is no sentence, or none in tokens
        event(type(error).__name__)
        assert oracle.completion(b"", MAX_BYTES) is None
        return
    event("compiled")
    level = {b"": cfgguide.Guide(index)}
    while level:
        _, guide = level.popitem()
        compare(oracle, guide)
        for token_id in guide.allowed_token_ids().tolist():
            after = guide.copy()
            after.advance(token_id)
            if not after.is_finished and len(after.text) <= MAX_COMPARED:
                level[after.text] = after


def compare(oracle: Oracle, guide: cfgguide.Guide) -> None:
    """Assert what a bounded search can prove about a mask."""
    text, allowed = guide.text, set(guide.allowed_token_ids().tolist())
    assert allowed, f"nothing may follow {text!r}"
    assert (guide.index.vocabulary.eos_token_ids[0] in allowed) == oracle.is_sentence(text)
    for token_id, token in enumerate(oracle.tokens):
        if token is None or len(text + token) > MAX_BYTES:
            continue
        completion = oracle.completion(text + token, MAX_BYTES - len(text + token))
        if completion is not None:
            assert token_id in allowed, f"{token!r} after {text!r}, then {completion!r}"
        elif token_id in allowed:
            witness = some_sentence(guide, token_id)
            # None: no sentence of a size that can be looked for. Nothing is claimed then.
            assert witness is None or oracle.is_sentence(witness)


def some_sentence(guide: cfgguide.Guide, token_id: int, most: int = 300) -> bytes | None:
    """Return a sentence that the engine leads to after an allowed token, the shortest first."""
    first = guide.copy()
    first.advance(token_id)
    pending, seen = [first], {first.text}
    for following in pending:  # grows while it is walked
        if following.is_accepting:
            return following.text
        for next_id in following.allowed_token_ids().tolist():
            after = following.copy()
            after.advance(next_id)
            if after.text not in seen and len(pending) < most:
                seen.add(after.text)
                pending.append(after)
    return None


def test_a_text_of_many_hypotheses():
    """Every `a` could be the last before `b`, or a lexeme of its own: all are kept in step."""
    case = CASES["a fall-back over any distance"]
    (longest,) = (guide for guide in guides_of(case) if guide.text == b"a" * 10)
    assert set(longest.allowed_token_ids().tolist()) == case.oracle().allowed(
        b"a" * 10, within=case.within
    )
