"""Worked examples: small enough to follow with a pencil, mask by mask.

A trace is a table with one row for each step: the text so far, and the tokens that may come next,
in the order of their ids. ``$`` stands for EOS and ``_`` for a space.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cfgguide

END = "$"


def guide_of(grammar: str, tokens: str) -> cfgguide.Guide:
    """Return a guide for tokens that spaces separate, in the order of ids; EOS gets the last."""
    texts = [token.replace("_", " ").encode() for token in tokens.split()]
    vocabulary = cfgguide.Vocabulary([*texts, None], eos_token_ids=len(texts))
    with warnings.catch_warnings(action="ignore"):  # a letter of no use is part of an example
        return cfgguide.Guide(cfgguide.compile(cfgguide.Grammar(grammar), vocabulary))


def mask(guide: cfgguide.Guide) -> str:
    """Return the allowed tokens, by id."""
    tokens = guide.index.vocabulary.tokens
    names = [(tokens[token_id] or END.encode()).decode() for token_id in guide.allowed_token_ids()]
    return " ".join(name.replace(" ", "_") for name in names)


def trace(guide: cfgguide.Guide, steps: str) -> dict[str, str]:
    """Return text -> mask for the start and after each of some tokens."""
    tokens = [(token or END.encode()).decode() for token in guide.index.vocabulary.tokens]
    rows = {"": mask(guide)}
    for step in steps.split():
        guide.advance(tokens.index(step.replace("_", " ")))
        text = guide.text.decode().replace(" ", "_") + (END if guide.is_finished else "")
        rows[text] = mask(guide)
    return rows


# --- Willard & Louf 2023, section 3, example 1 ----------------------------------------------------

# The expression is ([0-9]*)?\.?[0-9]*. It matches the empty text, as no terminal of Lark may: so
# the terminal is one that is not empty, and the rule makes it optional.
NUMBER = r"""
start: NUMBER?
NUMBER: /[0-9]+\.?[0-9]*|\.[0-9]*/
"""
PAPER = "A . 42 .2 1"


def test_the_example_of_the_paper():
    """At first `A` is masked; after `.2` also all that holds another point."""
    assert trace(guide_of(NUMBER, PAPER), ".2 1 42 $") == {
        "": ". 42 .2 1 $",
        ".2": "42 1 $",
        ".21": "42 1 $",
        ".2142": "42 1 $",
        ".2142$": "",
    }


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", ". 42 .2 1 $"),
        (".", "42 1 $"),
        ("42", ". 42 .2 1 $"),
        (".2", "42 1 $"),
        ("1", ". 42 .2 1 $"),
        ("1 .", "42 1 $"),
        ("42 .2", "42 1 $"),
        ("42 1 1", ". 42 .2 1 $"),
    ],
)
def test_every_state_of_the_example_of_the_paper(text, allowed):
    assert list(trace(guide_of(NUMBER, PAPER), text).values())[-1] == allowed


# --- DESIGN, section 1: a row of the table is not enough ------------------------------------------

BRACKETS = """
start: "(" x ")" | "[" x "]"
x: "n"
"""


def test_after_the_name_only_the_bracket_that_was_opened_can_close():
    """The parse state after `n` is the same in both, and its row offers both brackets."""
    guide = guide_of(BRACKETS, "( [ n ) ] (n n]")
    table = guide.index.recognizer.parse_table
    assert trace(guide, "( n ) $") == {
        "": "( [ (n",
        "(": "n",
        "(n": ")",
        "(n)": "$",
        "(n)$": "",
    }
    guide.rollback(2)
    recognizer = guide.index.recognizer
    _, _, stack, indentation = guide.configuration.hypotheses[0]
    committed = recognizer.shift(stack, indentation, table.terminals.index("N"))
    assert committed is not None
    after_name, _ = committed
    actions = zip(table.terminals, table.action[after_name.state].tolist(), strict=True)
    row = {name for name, action in actions if action}
    assert row == {"RPAR", "RSQB"}
    assert trace(guide_of(BRACKETS, "( [ n ) ] (n n]"), "[ n]") == {
        "": "( [ (n",
        "[": "n n]",
        "[n]": "$",
    }


# --- Traces ---------------------------------------------------------------------------------------

JSON = cfgguide.Grammar.bundled("json").text
STATEMENTS = """
start: "if" NAME ":" | NAME "=" INT ";"
NAME: /[a-z]+/
INT: /[0-9]+/
%ignore " "
"""

# name: (grammar, tokens, tokens consumed, {text so far: tokens that may come next})
TRACES = {
    "a token may end one lexeme and start the next": (
        STATEMENTS,
        "if i f _ x= = 1; 1 : _f: ;",
        "if _ f :",
        {
            "": "if i f _ x=",
            "if": "if i f _ x= _f:",  # `x=` makes it a name, `=` would leave it a keyword
            "if_": "if i f _ _f:",  # after the keyword every word is a name
            "if_f": "if i f _ :",
            "if_f:": "_ $",
        },
    ),
    "a keyword that goes on is a name": (
        STATEMENTS,
        "if i f _ x= = 1; 1 : _f: ;",
        "i f x= 1 1;",
        {
            "": "if i f _ x=",
            "i": "if i f _ x= =",
            "if": "if i f _ x= _f:",
            "ifx=": "_ 1; 1",
            "ifx=1": "_ 1; 1 ;",
            "ifx=11;": "_ $",
        },
    ),
    "two dots may still become three": (
        'start: "." "." NAME | "..." NAME "!"\nNAME: /x+/',
        ". .. x ! ..x",
        ". . x",
        {
            "": ". .. ..x",
            ".": ". .. ..x",  # `.x` is no way to go on
            "..": ". x",
            "..x": "x $",
        },
    ),
    "a lazy string ends with its first quote": (
        "start: STRING+\nSTRING: /'.*?'/",
        "' a 'a ''",
        "' a '",
        {
            "": "' 'a ''",
            "'": "' a ''",  # `'a` would close the string and go on with a bare letter
            "'a": "' a ''",
            "'a'": "' 'a '' $",
        },
    ),
    "a number, and what may come after it": (
        JSON,
        '0 1 - . e + " , [ ] ,1 ]]',
        "[ - 0 . 1 , 1 ]",
        {
            "": '0 1 - " [',
            "[": '0 1 - " [ ]',
            "[-": "0 1",
            "[-0": ". e , ] ,1",  # no leading zeros
            "[-0.": "0 1",
            "[-0.1": "0 1 e , ] ,1",
            "[-0.1,": '0 1 - " [',
            "[-0.1,1": "0 1 . e , ] ,1",
            "[-0.1,1]": "$",
        },
    ),
    "an object": (
        JSON,
        '{ } " a : 1 , {" ": ":1} }}',
        '{" a ":1} $',
        {
            "": '{ " 1 {" ": ":1}',  # `":` is the start of a string
            '{"': '{ } " a : 1 , {" ": ":1} }}',
            '{"a': '{ } " a : 1 , {" ": ":1} }}',
            '{"a":1}': "$",
            '{"a":1}$': "",
        },
    ),
    "words that the vocabulary spells only in pieces": (
        JSON,
        "null tru e [ ] , nu l",
        "[ nu l l , tru e ]",
        {
            "": "null tru [ nu",
            "[": "null tru [ ] nu",
            "[nu": "l",
            "[nul": "l",
            "[null": "] ,",
            "[null,": "null tru [ nu",
            "[null,tru": "e",
            "[null,true": "] ,",
            "[null,true]": "$",
        },
    ),
    "the nearest if takes the else": (
        'start: "if" start | "if" start "else" start | "x"',
        "if else x ifx e lse",
        "if ifx else x",
        {
            "": "if x ifx",
            "if": "if x ifx",
            "ififx": "else e $",
            "ififxelse": "if x ifx",
            "ififxelsex": "else e $",  # now that of the outer one
        },
    ),
}


@pytest.mark.parametrize(("grammar", "tokens", "steps", "rows"), TRACES.values(), ids=TRACES.keys())
def test_a_trace(grammar, tokens, steps, rows):
    assert trace(guide_of(grammar, tokens), steps) == rows


def test_a_character_may_come_in_pieces():
    """`é` is C3 A9 and `è` is C3 A8; a euro sign, E2 82 AC, shares nothing with them."""
    tokens = [b"\xc3", b"\xa9", b"\xa8", b"\xe2", b"\x82\xac", "è".encode(), b"\xac"]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=7)
    guide = cfgguide.Guide(
        cfgguide.compile(cfgguide.Grammar('start: ("é" | "€" | "è" "€")+'), vocabulary)
    )
    rows = {b"": guide.allowed_token_ids().tolist()}
    for token_id in (5, 3, 4, 0, 1):
        guide.advance(token_id)
        rows[guide.text] = guide.allowed_token_ids().tolist()
    assert rows == {
        b"": [0, 3, 5],
        "è".encode(): [3],
        "è".encode() + b"\xe2": [4],
        "è€".encode(): [0, 3, 5, 7],
        "è€".encode() + b"\xc3": [1, 2],
        "è€é".encode(): [0, 3, 5, 7],
    }


def test_a_mask_depends_on_what_was_parsed_behind_a_lexeme_that_may_fail():
    """`#((x` may be the start of LONG, or four lexemes; no token can end LONG.

    The stack under LONG is the same for all, and so are the scanner's states.
    """
    grammar = """
    start: "#" brackets | LONG
    brackets: "(" brackets ")" | "[" brackets "]" | "x"
    LONG: /#[()\\[\\]x]*!/
    """
    first = guide_of(grammar, "# ( [ x ) ] )] ))")
    rows = {}
    for steps in ("# ( ( x", "# [ ( x", "# ( [ x", "# [ [ x"):
        guide = cfgguide.Guide(first.index)
        (*_, (text, row)) = trace(guide, steps).items()
        rows[text] = row
        assert len(guide.configuration.hypotheses) == 2
    assert rows == {"#((x": ") ))", "#[(x": ") )]", "#([x": "]", "#[[x": "]"}


# --- Exact masks as bits --------------------------------------------------------------------------


def test_bit_i_of_the_bitmask_is_token_i():
    """Forty tokens: digits, letters, four brackets. Two words, least significant bit first."""
    guide = guide_of(
        'start: "[" (WORD | INT) "]"\nWORD: /[a-z]+/\nINT: /[0-9]+/',
        "0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r s t u v w x y z [ ] ( )",
    )
    words = []
    for token_id in (36, 9, 37, 40):
        out = np.full(2, -1, dtype=np.int32)
        guide.fill_bitmask(out)
        words.append([f"{word & 0xFFFFFFFF:032b}" for word in out.tolist()])
        guide.advance(token_id)
    nothing, digits = "0" * 32, "0" * 22 + "1" * 10
    assert words == [
        [nothing, "0" * 27 + "10000"],  # [ is 36: bit 4 of word 1
        ["1" * 32, "0" * 28 + "1111"],  # digits and the letters a to v; w x y z
        [digits, "0" * 26 + "100000"],  # digits, and ] is 37
        [nothing, "0" * 23 + "100000000"],  # EOS is 40
    ]
