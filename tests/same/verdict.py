"""Which of the two sides is right where they differ: what a judge says of whole texts.

Where one side allows a token that the other one refuses, the first is asked for a text that goes on
so, as short as it knows. If a judge takes that text (`jsonschema`, Python's ``re``, Lark, SQLite),
the token may come; if it does not, that side would have written it. A judge may know no answer,
or have none in time: then nothing is decided.
"""

from __future__ import annotations

import json
import re
import sqlite3
import warnings
from itertools import chain
from typing import Any

import lark
from fuzz.compare import TooSlow, at_most
from fuzz.judge import Judge
from fuzz.schemas import has_repeated_names
from support.indenters import BracketIndenter
from support.message_judge import Judge as MessageJudge
from support.monitored import refusal
from support.schemas import is_valid

from cfgguide.grammar.lark_frontend import parser_of
from same.cases import Case, Desk
from same.run import SIDES, Difference, is_raw
from same.worker import WITHIN, grammar_of

SECONDS = 5  # for one text
#: Where Python and ECMA-262 read a pattern differently, or jsonschema a reference.
_UNSURE = re.compile(r"\\\\|\(\?[^:!=]|dynamicRef")
_N_TOKENS = 3  # that are judged of those that one side allows, and the other one does not
NEITHER, UNDECIDED = "neither", "undecided"


def verdict(desk: Desk, case: Case, found: Difference) -> tuple[str, str]:
    """Return who is right: before, now, neither or undecided; and a word more."""
    raw = [is_raw(each) for each in found.said]
    if any(raw):
        return (NEITHER if all(raw) else SIDES[raw.index(False)]), "an error that is none of ours"
    if found.what == "advance" and all(found.said):
        tokens = case.tokens_to(found.place)
        return NEITHER, f"{tokens[-1]} after {tokens[:-1]} was in a mask or an ending"
    if found.what in ("mask", "accepts", "within"):
        return _of_tokens(desk, case, found)
    if found.what == "is_accepting":
        text = desk.sides[0].ask(desk.job(case, "spell", tokens=case.tokens_to(found.place)))
        return _of_text(case, text.get("text"), found.said)
    if found.what == "check" and found.text is not None:
        said = [isinstance(each, tuple | list) and each[0] for each in found.said]
        if said[0] != said[1]:
            return _of_text(case, found.text, said)
    if found.what == "refusal":
        number = 0 if found.said[0] is None else 1
        if found.said[number] is None:
            text = desk.sides[number].ask(desk.job(case, "complete", tokens=[])).get("text")
            if text is not None and judged(case.source, text):
                return SIDES[number], f"{text!r} is right"
    return UNDECIDED, ""


def _of_text(case: Case, text: bytes | None, said: Any) -> tuple[str, str]:
    is_right = None if text is None else judged(case.source, text)
    if is_right is None:
        return UNDECIDED, f"no judge of {text!r}"
    agrees = [each == is_right for each in said]
    names = [name for name, each in zip(SIDES, agrees, strict=True) if each]
    return names[0] if len(names) == 1 else UNDECIDED, f"{text!r}: {is_right}"


def _of_tokens(desk: Desk, case: Case, found: Difference) -> tuple[str, str]:
    """Judge texts that go on with a token which one side allows and the other one does not."""
    answers = desk.answers(case, wants="tokens")
    if any("notes" not in answer for answer in answers):
        return UNDECIDED, "not said again"
    notes = [answer["notes"][found.place] for answer in answers]
    masks: list[set[int]] = []
    for note in notes:
        if found.what == "accepts":
            asked = case.tape[found.place][2]
            said = {token for token, is_so in zip(asked, note[1], strict=True) if is_so is True}
        else:
            said = note[0 if found.what == "mask" else 4]
        masks.append(set() if isinstance(said, str) else set(said))
    right: dict[str, list[str]] = {}
    for number in (0, 1):
        more = sorted(masks[number] - masks[1 - number])
        for token in [*more[:_N_TOKENS], *more[_N_TOKENS:][-1:]]:
            tokens = [*case.tokens_to(found.place), token]
            told = desk.sides[number].ask(desk.job(case, "complete", tokens=tokens))
            text = told.get("text")
            is_right = None if text is None else judged(case.source, text)
            if is_right and found.what == "within" and told["n"] + 1 > WITHIN:
                is_right = False
            name = UNDECIDED if is_right is None else SIDES[number if is_right else 1 - number]
            words = f"{SIDES[number]} writes {text!r}" if text else told.get("error", "")
            right.setdefault(name, []).append(f"{words}: {is_right}")
    why = "; ".join(list(chain.from_iterable(right.values()))[:3])
    decided = set(right) - {UNDECIDED}
    if len(decided) > 1:
        return NEITHER, why
    return (decided.pop() if decided else UNDECIDED), why


def judged(source: dict[str, Any], text: bytes) -> bool | None:
    """Return whether a text is right; None if no judge says so in time."""
    try:
        with at_most(SECONDS), warnings.catch_warnings(action="ignore"):
            return _judged(source, text.decode())
    except UnicodeDecodeError:
        return False
    except (Exception, TooSlow):  # judges have limits of their own
        return None


def _judged(source: dict[str, Any], text: str) -> bool | None:
    form, options = source["form"], source.get("options", {})
    if form == "schema":
        return _is_valid(source["text"], options, text)
    if form == "regex":
        return re.fullmatch(source["text"], text) is not None
    if form == "choice":
        return text in json.loads(source["text"])
    if form == "lark" and options:
        return Judge(source["text"], options["lexer"], (), options["parser"]).is_sentence(
            text.encode()
        )
    if form in ("lark", "indented"):
        postlex = BracketIndenter() if form == "indented" else None
        return _parses(lark.Lark(source["text"], parser="lalr", postlex=postlex), text)
    if form == "watched":
        return _is_watched(source["text"], options["monitor"], text)
    if form == "tag":
        judge = MessageJudge(json.loads(source["text"])["format"], ["<b>"])
        return judge.accepts(judge.spelled(text))
    if form == "runs_on":
        database = sqlite3.connect(":memory:")
        database.executescript(source["text"])
        return not refusal(database, text)
    if form in ("bundled", "gbnf", "ebnf", "w3c", "llguidance", "with_schema"):
        return _parses(parser_of(grammar_of(source).chosen()), text)
    return None


def _parses(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except (lark.exceptions.LarkError, AssertionError, IndexError, EOFError):
        return False  # as Lark's indenters refuse texts
    return True


def _is_valid(schema: str, options: dict[str, Any], text: str) -> bool | None:
    try:
        json.loads(text)
    except ValueError:
        return False
    if _UNSURE.search(schema) or has_repeated_names(text) or ("\\n" in text and "$" in schema):
        return None
    is_right = is_valid(json.loads(schema), text, formats=options.get("formats", True))
    # Options leave out texts that are valid.
    return None if is_right and set(options) - {"formats"} else is_right


def _is_watched(grammar: str, monitor: str, text: str) -> bool:
    """Return whether Lark parses a text, and its lexemes are as :mod:`same.worker` wants them."""
    lexemes: list[tuple[str, str]] = []

    def note(token: lark.Token) -> lark.Token:
        lexemes.append((token.type, str(token)))
        return token

    parser = lark.Lark(grammar, parser="lalr", lexer_callbacks={"A": note, "B": note})
    if not _parses(parser, text):
        return False
    known: set[str] = set()
    for name, lexeme in lexemes:
        if name == "A" and (
            (lexeme in known) if monitor == "different" else known and lexeme not in known
        ):
            return False
        if name == ("A" if monitor == "different" else "B") and (
            monitor == "different" or len(known) < 4
        ):
            known.add(lexeme)
    return True
