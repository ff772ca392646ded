"""What docs/defaults.md promises of the tidy forms of bundled grammars, looked for in samples.

Texts are written from masks, each allowed token of a kind with the same chance, and what the form
is to leave out is tried wherever a mask allows it. Lark, with the whole grammar, cuts a text into
tokens; what stands between these, and what white space is inside of them, is compared with the
table, which is written by hand. ::

    python tests/support/tidy_forms.py --texts 1000 sql rust

The exit status is 1 if a text broke a promise.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import lark
import numpy as np
from tqdm import tqdm

import cfgguide
from cfgguide.errors import BudgetError
from cfgguide.languages.presets import preset_of
from cfgguide.output_types import STARTS
from support.judges import lark_parser

_LITERALS = re.compile("STRING|QUOTED|CHAR|TEXT|TEMPLATE|REGEX|RUNE|BLOB")  # in names of terminals


@dataclass(frozen=True)
class Form:
    """What a tidy form promises.

    Attributes
    ----------
    between : str
        A pattern of all that may stand between two tokens.
    never : str
        A pattern of what no token begins with, but for literals.
    inside : str
        A pattern of tokens with white space in them, but for literals.
    case : {"upper", "lower"}, optional
        That of keywords.
    kinds : str
        Kinds of tokens that there are not, by Lark's names: a name may be `auto`, and what follows
        a macro's name may be any tokens.
    words : str
        What a text of the language is made of, for the samples.
    """

    between: str
    never: str
    inside: str = r"\S+( \S+)*"
    case: str | None = None
    kinds: str = ""
    words: str = ""


_LINES = r" ?|\n{1,3} *"  # one space; up to two empty lines, and what the next line begins with
_C_COMMENT = r"//|/\*"
_SQL = Form(
    r"[ \n]?",
    r"--|/\*",
    case="upper",
    words="select|SELECT|Select|SELECt|from|FROM|From|FROm|where|WHERE|group by|GROUP BY|GROUP|by|"
    "order|ORDER|limit|LIMIT|union|UNION|insert|INSERT|into|INTO|values|VALUES|null|NULL|and|AND|"
    'create|CREATE|table|TABLE|as|AS|asc|ASC|x|1|(|)|,|\'a\'|"a b"|"a\nb"|`a`|*|=|:a|;',
)
_PYTHON = Form(
    r"[^\s#\\]*",  # names are read as keywords first, and not reported
    "#",
    r"\n{1,3} *| ",
    words="def f(x):|return|x|lambda|import|class A:|pass|1|'a'|if|(|)|[|]|in|not|f'{x}'|,|:|=",
)
_RUST = Form(
    _LINES,
    _C_COMMENT,
    kinds="AUTO|BOX|DEFAULT|MACRO|TILDE|TRY|BEGINNING",
    words="fn f()|{|}|let|x|;|1|'a|auto|trait|default|impl|macro|box|try|~const|struct|pub|(|)|"
    "crate|self|in|break|#!/x\n|///x\n|//!x\n|'a:|loop|mod m|=",
)
FORMS: dict[str, Form] = {
    "c": Form(_LINES, _C_COMMENT, words="int|x|;|{|}|(|)|return|1|static|struct|'a'|\"a\"|,|=|*"),
    "go": Form(
        r" ?",
        _C_COMMENT,
        r"\n{1,3}( {0,40}|\t{0,20})",
        words="package p|func|x|{|}|(|)|var|return|;|1|'a'|`a`|:=|,|type|struct|if",
    ),
    "java": Form(
        _LINES,
        _C_COMMENT,
        words="class A {|}|int|x|;|(|)|void|return|@A|@|interface|-|2147483648|1|=|'a'|{|,|new",
    ),
    "javascript": Form(
        r"(\n| {1,40}(?! ))*",
        r"//|/\*|#!",
        r"\n|\S+( \S+)*",
        words="let|x|=|1|;|function f|{|}|(|)|`|=>|return|async|get|'a'|/* x\n*/|//x\n|#!x\n|,",
    ),
    "lua": Form(
        _LINES,
        r"--|#.",
        words="local|x|=|1|function|f|end|(|)|then|if|return|'a'|[[|]]|#!x\n|..|nil|do",
    ),
    "pascal": Form(
        _LINES,
        r"//|\{|\(\*",
        case="lower",
        words="program|PROGRAM|x|;|begin|BEGIN|Begin|end|END|.|var|VAR|:=|1|integer|(|)|:|'a'|"
        "procedure|Procedure|function|if|If|then|THEN|x: integer|{ x }|(* x *)|StdCall;|cdecl;",
    ),
    "python": _PYTHON,
    "python312": _PYTHON,
    "postgresql": _SQL,
    "rust2021": _RUST,
    "rust": _RUST,
    "sql": _SQL,
    "sql_select": _SQL,
    "verilog": Form(
        _LINES,
        _C_COMMENT + "|`define|`undef",
        words="module m|endmodule|x|;|(|)|wire|assign|=|1|begin|end|`ifdef|`endif|`timescale|1ns|/|"
        '8|\'b|0|=>|*>|-|\\a|`default_nettype|none|`include|"a"|specify|endspecify|initial',
    ),
}

#: What forms leave out, in pieces that a mask may allow.
_PIECES = [
    *("  ", "\t", " \t", "\n\n", "\n\n\n\n", "\r\n", "\r", "\f", "\v", " \n", "\n ", "\n\t", " "),
    *("\n" + " " * 41, " " * 41, "\n" + "\t" * 21, "\\\n", "--", "-- x\n", "/*", "/* x */", "//"),
    *("// x\n", "#", "# x\n", "--[[", "(*", "///", "//!", "/**", "`define", "`undef", "\n"),
    *("\u00a0", "\u2003", "\u2028", "\ufeff"),
]


def starts_of(name: str) -> list[str]:
    """Return where a grammar begins for `generate`, and for `cfgguide generate`."""
    return list(dict.fromkeys([STARTS.get(name, "start"), preset_of(name).start]))


def texts(name: str, start: str, n: int, *, most: int = 16) -> Iterator[str]:
    """Write texts of a tidy form, of so many tokens and what ends them."""
    words = [word.encode() for word in FORMS[name].words.split("|")]
    pieces = [piece.encode() for piece in _PIECES]
    ascii_bytes = [bytes([byte]) for byte in range(0x20, 0x7F)]
    tokens = list(dict.fromkeys([*pieces, *words, *ascii_bytes]))
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):
        grammar = cfgguide.Grammar.bundled(name, start=start, tidy=True)
        index = cfgguide.compile(grammar, vocabulary)
    kinds = [np.arange(len(pieces)), np.arange(len(pieces), len(pieces) + len(words))]
    for seed in range(n):
        yield _written(index, random.Random(seed), kinds, most)


def _written(index: cfgguide.Index, rng: random.Random, kinds: list[np.ndarray], most: int) -> str:
    """Write a text of at most so many tokens, and what ends it; first those of some kinds."""
    guide = cfgguide.Guide(index)
    for _ in range(rng.randint(1, most)):
        ids = guide.allowed_token_ids()
        some = np.intersect1d(ids, rng.choices([*kinds, ids], [4, 4, 2])[0])
        guide.advance(int(rng.choice(some if len(some) else ids)))
        if guide.is_finished:
            break
    while not guide.is_finished:
        try:
            ending = guide.shortest_completion()
        except BudgetError:  # it was looked for long enough
            guide.rollback(1)
        else:
            for token_id in ending:
                guide.advance(token_id)
            break
    return guide.text.decode()


@functools.cache
def _reader(name: str, start: str) -> tuple[lark.Lark, list[lark.Token]]:
    """Return Lark's parser of the whole grammar, and the list to which it adds all tokens."""
    found: list[lark.Token] = []

    def seen(token: lark.Token) -> lark.Token:
        found.append(token)
        return token

    callbacks = {"": seen}  # Lark keeps no empty one
    parser = lark_parser(cfgguide.Grammar.bundled(name, start=start), lexer_callbacks=callbacks)
    callbacks |= {terminal.name: seen for terminal in parser.terminals}  # before it reads a text
    return parser, found


def broken(name: str, start: str, text: str) -> str:
    """Return which promise a text breaks; "" if none.

    Raises
    ------
    lark.exceptions.LarkError
        If the text is not a sentence of the whole grammar.
    """
    form, (parser, found) = FORMS[name], _reader(name, start)
    found.clear()
    parser.parse(text)
    ignored = set(parser.ignore_tokens)
    end = 0
    for token in [each for each in found if each.type not in ignored]:
        if not re.fullmatch(form.between, text[end : token.start_pos]):
            return f"{text[end : token.start_pos]!r} stands before {token!r}"
        end = token.end_pos or 0
        kind = token.type.rpartition("__")[2].strip("_")
        is_keyword = kind in (token.upper(), "CONVENTION")  # which is one of several
        if form.case and is_keyword and token != getattr(token, form.case)():
            return f"{token!r} is not in {form.case} case"
        if kind in form.kinds.split("|"):
            return f"there is {token!r}"
        if kind == "QUOTED" and re.search(r"[\x00-\x1f]", token):
            return f"{token!r} is not in one line"
        if _LITERALS.search(kind):
            continue
        if re.match(form.never, token):
            return f"there is {token!r}"
        if re.search(r"\s", token) and not re.fullmatch(form.inside, token):
            return f"there is white space in {token!r}"
    return "" if re.fullmatch(form.between, text[end:]) else f"{text[end:]!r} stands at the end"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(FORMS))
    parser.add_argument("--texts", type=int, default=1000)
    arguments = parser.parse_args()
    n_broken = 0
    for name in arguments.names:
        for start in starts_of(name):
            written = tqdm(texts(name, start, arguments.texts), disable=not sys.stderr.isatty())
            found = [(text, why) for text in written if (why := broken(name, start, text))]
            n_broken += len(found)
            sys.stdout.write(f"{name} from {start}: {arguments.texts} texts, {len(found)} broken\n")
            sys.stdout.writelines(f"    {why} in {text!r}\n" for text, why in found[:5])
            sys.stdout.flush()
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
