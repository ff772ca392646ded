"""Worked examples: small enough to follow with a pencil, mask by mask.

README.md beside this file explains the notation of the traces.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.traces import advance, allowed, guide_of, traced

import cfgguide

README = Path(__file__).with_name("README.md")


def test_the_example_of_the_readme():
    text = README.read_text(encoding="utf-8")
    tokens, grammar, trace = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    rows = trace.splitlines()
    assert traced(guide_of(grammar, tokens), rows) == rows


# --- Willard & Louf 2023, section 3, example 1 ----------------------------------------------------

# The expression is ([0-9]*)?\.?[0-9]*. It matches the empty text, which no terminal of Lark may do.
# So the terminal here matches all but the empty text, and the rule makes it optional.
NUMBER = r"""
start: NUMBER?
NUMBER: /[0-9]+\.?[0-9]*|\.[0-9]*/
"""
PAPER = "A . 42 .2 1"


def test_the_example_of_the_paper():
    """`A` is never allowed; after a point no token with another point is."""
    rows = [
        "→ . 42 .2 1 $",
        ". → 42 1 $",
        ".2 → 42 1 $",
        ".2‧1 → 42 1 $",
        ".2‧1‧42 → 42 1 $",
        ".2‧1‧42‧$ →",
        "42 → . 42 .2 1 $",
        "42‧.2 → 42 1 $",
        "1 → . 42 .2 1 $",
        "1‧. → 42 1 $",
        "42‧1‧1 → . 42 .2 1 $",
    ]
    assert traced(guide_of(NUMBER, PAPER), rows) == rows


# --- The parse state alone does not decide --------------------------------------------------------


def test_the_row_of_the_parse_table_offers_both_brackets_and_the_stack_decides():
    guide = guide_of('start: "(" x ")" | "[" x "]"\nx: "n"', "( [ n ) ] (n n]")
    recognizer = guide.index.machine.recognizer
    table = recognizer.parse_table
    advance(guide, "(‧n")  # `n` is a lexeme that has not ended: the stack is that after `(`
    _, _, stack, indentation = guide.configuration.hypotheses[0]
    (shifted,) = recognizer.shifts(stack, indentation, table.terminals.index("N"))
    assert shifted is not None
    actions = zip(table.terminals, table.action[shifted[0].state].tolist(), strict=True)
    assert {name for name, action in actions if action} == {"RPAR", "RSQB"}
    assert allowed(guide) == ")"


# --- Traces ---------------------------------------------------------------------------------------

JSON = cfgguide.Grammar.bundled("json").text
STATEMENTS = """
start: "if" NAME ":" | NAME "=" INT ";"
NAME: /[a-z]+/
INT: /[0-9]+/
%ignore " "
"""

# name: (grammar, vocabulary, trace)
TRACES = {
    "a token may end one lexeme and start the next": (
        STATEMENTS,
        "if i f _ x= = 1; 1 : _f: ;",
        [
            "→ if i f _ x=",
            "if → if i f _ x= _f:",  # `x=` makes it a name, `=` would leave it a keyword
            "if‧_ → if i f _ _f:",  # after the keyword every word is a name
            "if‧_‧f → if i f _ :",
            "if‧_‧f‧: → _ $",
        ],
    ),
    "a keyword that goes on is a name": (
        STATEMENTS,
        "if i f _ x= = 1; 1 : _f: ;",
        [
            "→ if i f _ x=", "i → if i f _ x= =", "i‧f → if i f _ x= _f:",
            "i‧f‧x= → _ 1; 1", "i‧f‧x=‧1 → _ 1; 1 ;", "i‧f‧x=‧1‧1; → _ $",
        ],
    ),
    "two dots may still become three": (
        'start: "." "." NAME | "..." NAME "!"\nNAME: /x+/',
        ". .. x ! ..x",
        [
            "→ . .. ..x",
            ". → . .. ..x",  # no sentence begins with `.x`
            ".‧. → . x",
            ".‧.‧x → x $",
        ],
    ),
    "a lazy string ends with its first quote": (
        "start: STRING+\nSTRING: /'.*?'/",
        "' a 'a ''",
        [
            "→ ' 'a ''",
            "' → ' a ''",  # `'a` would close the string and go on with a bare letter
            "'‧a → ' a ''",
            "'‧a‧' → ' 'a '' $",
        ],
    ),
    "a number, and what may come after it": (
        JSON,
        '0 1 - . e + " , [ ] ,1 ]]',
        [
            '→ 0 1 - " [',
            '[ → 0 1 - " [ ]',
            "[‧- → 0 1",
            "[‧-‧0 → . e , ] ,1",  # no leading zeros
            "[‧-‧0‧. → 0 1",
            "[‧-‧0‧.‧1 → 0 1 e , ] ,1",
            '[‧-‧0‧.‧1‧, → 0 1 - " [',
            "[‧-‧0‧.‧1‧,‧1 → 0 1 . e , ] ,1",
            "[‧-‧0‧.‧1‧,‧1‧] → $",
        ],
    ),
    "an object": (
        JSON,
        '{ } " a : 1 , {" ": ":1} }}',
        [
            '→ { " 1 {" ": ":1}',  # `":` is the start of a string
            '{" → { } " a : 1 , {" ": ":1} }}',
            '{"‧a → { } " a : 1 , {" ": ":1} }}',
            '{"‧a‧":1} → $',
            '{"‧a‧":1}‧$ →',
        ],
    ),
    "words that the vocabulary spells only in pieces": (
        JSON,
        "null tru e [ ] , nu l",
        [
            "→ null tru [ nu", "[ → null tru [ ] nu", "[‧nu → l", "[‧nu‧l → l",
            "[‧nu‧l‧l → ] ,", "[‧nu‧l‧l‧, → null tru [ nu", "[‧nu‧l‧l‧,‧tru → e",
            "[‧nu‧l‧l‧,‧tru‧e → ] ,", "[‧nu‧l‧l‧,‧tru‧e‧] → $",
        ],
    ),
    "the nearest if takes the else": (
        'start: "if" start | "if" start "else" start | "x"',
        "if else x ifx e lse",
        [
            "→ if x ifx",
            "if → if x ifx",
            "if‧ifx → else e $",
            "if‧ifx‧else → if x ifx",
            "if‧ifx‧else‧x → else e $",  # now the else of the outer one
        ],
    ),
    # `é` is C3 A9 and `è` is C3 A8; a euro sign, E2 82 AC, shares no byte with them.
    "a character may come in pieces": (
        'start: ("é" | "€" | "è" "€")+',
        r"\xc3 \xa9 \xa8 \xe2 \x82\xac è \xac",
        [
            r"→ \xc3 \xe2 è", r"è → \xe2", r"è‧\xe2 → \x82\xac",
            r"è‧\xe2‧\x82\xac → \xc3 \xe2 è $", r"è‧\xe2‧\x82\xac‧\xc3 → \xa9 \xa8",
            r"è‧\xe2‧\x82\xac‧\xc3‧\xa9 → \xc3 \xe2 è $",
        ],
    ),
    # `#((x` may be the start of LONG, or four lexemes; no token can end LONG. The stack under LONG
    # and the scanner's states are the same in all four rows.
    "what was parsed after a lexeme began that may still fail": (
        """
        start: "#" brackets | LONG
        brackets: "(" brackets ")" | "[" brackets "]" | "x"
        LONG: /#[()\\[\\]x]*!/
        """,
        "# ( [ x ) ] )] ))",
        [
            "#‧(‧(‧x → ) ))", "#‧[‧(‧x → ) )]", "#‧(‧[‧x → ]", "#‧[‧[‧x → ]",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("grammar", "tokens", "rows"), TRACES.values(), ids=TRACES.keys())
def test_a_trace(grammar, tokens, rows):
    assert traced(guide_of(grammar, tokens), rows) == rows


def test_a_lexeme_that_may_still_fail_leaves_two_hypotheses():
    grammar, tokens, rows = TRACES["what was parsed after a lexeme began that may still fail"]
    for row in rows:
        guide = guide_of(grammar, tokens)
        advance(guide, row.split()[0])
        assert len(guide.configuration.hypotheses) == 2


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
