"""Random grammars in Lark's language, made of the features that are switched on.

A rule mostly names rules that come after it, so that most grammars have sentences; recursion comes
in the shapes that grammars really have. Lark may still find fault with what is written here, and
then the engine has to.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from hypothesis import strategies as st

from fuzz.features import LOOKING, some_of
from fuzz.patterns import ROOM, Writer, escaped, literal

TERMINALS = "ABCD"
RULES = ["start", "p", "q", "r"]
IMPORTS = ["WS", "WS_INLINE", "NEWLINE", "DIGIT", "INT", "LETTER", "WORD", "CNAME", "LCASE_LETTER"]
TEMPLATES = {
    "_list{x, y}: x (y x)*": "_list{{{0}, {1}}}",
    "pair{x, y}: x y": "pair{{{0}, {1}}}",
    "chain{x}: x | chain{x} x": "chain{{{0}}}",
    "?either{x, y}: x | y": "either{{{0}, {1}}}",
}
LETTERS = {"space": " ", "newline": "\n", "digit": "1", "two bytes": "é", "upper case": "A"}


class Drawn(NamedTuple):
    """A grammar that was drawn, and of what."""

    text: str
    lexer: str
    letters: str
    features: frozenset[str]
    parser: str = "lalr"


@st.composite
def grammars(draw: st.DrawFn, features: Collection[str]) -> Drawn:
    """Draw a grammar for Lark's LALR parser."""
    chosen = draw(some_of(features))
    w = _writer(draw, chosen)
    text = _grammar(w)
    lexer = "basic" if w.has("basic lexer") and w.sometimes(2) else "contextual"
    return Drawn(text, lexer, w.letters, chosen)


@st.composite
def earley_grammars(draw: st.DrawFn, features: Collection[str]) -> Drawn:
    """Draw a grammar for Lark's Earley parser."""
    chosen = draw(some_of(features))
    lexer = draw(st.sampled_from(["dynamic", "dynamic_complete", "basic"]))
    if lexer == "dynamic_complete" and draw(st.integers(0, 7)):
        chosen -= LOOKING
    if lexer == "dynamic_complete" and "several ignores" in features and draw(st.booleans()):
        chosen |= {"several ignores"}  # what is both read and ignored has the most readings
    w = _writer(draw, chosen)
    return Drawn(_grammar(w), lexer, w.letters, chosen, "earley")


def _writer(draw: st.DrawFn, chosen: frozenset[str]) -> Writer:
    letters = "abc"[: draw(st.integers(2, 3))]
    letters += "".join(letter for name, letter in LETTERS.items() if name in chosen)
    return Writer(draw, chosen, letters)


def _grammar(w: Writer) -> str:
    names = list(TERMINALS[: w.number(1, 4)])
    terminals = _terminals(w, names)
    w.room = ROOM
    lines = _rules(w, names) + terminals
    w.room = ROOM // 2
    lines += _directives(w, names)
    return "\n".join(lines)


# --- Terminals ------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """Return a string of Lark's language."""
    return '"' + text.replace("\n", r"\n") + '"'


def escaped_word(text: str) -> str:
    """Return what matches a text in a regular expression."""
    return "".join(map(escaped, text))


def _terminals(w: Writer, names: list[str]) -> list[str]:
    """Write the definitions; adds the keyword, the declared and the imported names to `names`."""
    lines = [
        f"{name}{_priority(w, 'priorities')}: {_definition(w, names[index + 1 :])}"
        for index, name in enumerate(names)
    ]
    if w.has("retyping"):
        keyword = quoted(w.word(2)) + ("i" if w.has("case-insensitive strings") else "")
        letters = "".join(sorted({escaped(letter) for letter in w.letters if letter.isalnum()}))
        swallowing = w.one_of([rf"/[{letters}]+/", r"/\w+/", f"/[{letters}]+/i", f"/[{letters}]/"])
        lines += [f"KEY: {keyword}", f"NAME: {swallowing}"]
        names += ["KEY", "NAME"]
    if w.has("shared prefixes"):
        word, longer = w.word(2), w.word(2)
        whole = f"/{escaped_word(word)}(?:{escaped_word(longer)})*{escaped(w.letter())}?/"
        lines += [f"SHORT: {quoted(word)}", f"LONG: {quoted(word + longer)}", f"WHOLE: {whole}"]
        names += ["SHORT", "LONG", "WHOLE"]
    if w.has("declare"):
        lines.append("%declare DECLARED")
        names.append("DECLARED")
    if w.has("import"):
        lines += _import(w, names)
    return lines


def _import(w: Writer, names: list[str]) -> list[str]:
    imported = w.one_of(IMPORTS)
    if w.sometimes():
        names.append("IMPORTED")
        return [f"%import common.{imported} -> IMPORTED"]
    names.append(imported)
    return [w.one_of(["%import common.{}", "%import common ({})"]).format(imported)]


def _priority(w: Writer, feature: str) -> str:
    return w.one_of(["", ".1", ".2", ".-1"]) if w.has(feature) else ""


def _definition(w: Writer, later: list[str]) -> str:
    if w.has("composed terminals") and w.sometimes(2):
        return _composed(w, later)
    return _literal(w)


def _literal(w: Writer) -> str:
    """Write a string, a range or a regular expression."""
    if w.sometimes(2):
        return literal(w)
    if w.has("ranges") and w.sometimes():
        return w.one_of(['"a".."b"', '"a".."z"', '"b".."é"'])
    return quoted(w.word()) + ("i" if w.has("case-insensitive strings") and w.sometimes(2) else "")


def _composed(w: Writer, later: list[str], depth: int = 2) -> str:
    """Write a terminal made of others, of strings and of patterns."""
    sides = []
    for _ in range(w.number(1, 2)):
        parts = []
        for _ in range(w.number(1, 3)):
            part = w.one_of(later) if later and w.sometimes(2) else _literal(w)
            if depth and w.sometimes(4):
                part = f"({_composed(w, later, depth - 1)})"
            parts.append(_counted(w, part))
        sides.append(" ".join(parts))
    return " | ".join(sides)


def _counted(w: Writer, item: str) -> str:
    """Write an item of a rule or of a composed terminal, perhaps with a quantifier."""
    options = ["?", "*", "+"] * w.has("repetition")
    options += ["~2", "~1..2", "~2..3"] * w.has("repeated n times")
    if not options or not w.sometimes(4):
        return item
    return item + w.one_of(options)


# --- Rules ----------------------------------------------------------------------------------------


def _rules(w: Writer, names: list[str]) -> list[str]:
    """Write the rules; the start comes first."""
    rules = RULES[: w.number(1, 4)]
    called = {rule: rule for rule in rules}
    lines = []
    if w.has("inlined rules") and len(rules) > 1:
        called[rules[-1]] = "_" + rules[-1]
    templates = [w.one_of(list(TEMPLATES))] if w.has("templates") else []
    for index, rule in enumerate(rules):
        later = [called[name] for name in (rules if w.has("any rule") else rules[index + 1 :])]
        mark = w.one_of(["", *["?"] * w.has("rules of one child"), *["!"] * w.has("kept tokens")])
        sides = [_side(w, names, later, templates) for _ in range(w.number(1, 3))]
        sides += _recursive(w, called[rule], names, later)
        sides += _general(w, called[rule], names, later)
        if w.has("recursive start") and index and w.sometimes(2):
            sides.append(w.one_of(["{0} start", "start {0}", "start"]).format(w.one_of(names)))
        if w.has("empty start") and not index:
            sides.append("")
        if w.has("empty rules") and w.sometimes():
            sides.append("")
        if w.has("aliases"):
            sides = [f"{side} -> {w.one_of('xyz')}" if w.sometimes() else side for side in sides]
        priority = _priority(w, "rule priorities")
        lines.append(f"{mark}{called[rule]}{priority}: {' | '.join(sides)}")
    return lines + templates


def _side(w: Writer, names: list[str], later: list[str], templates: list[str]) -> str:
    return " ".join(_counted(w, _item(w, names, later, templates)) for _ in range(w.number(1, 3)))


def _item(w: Writer, names: list[str], later: list[str], templates: list[str]) -> str:
    if later and w.sometimes(2):
        return w.one_of(later)
    if templates and w.sometimes():
        return TEMPLATES[templates[0]].format(w.one_of(names), w.one_of([*names, *later]))
    if w.has("groups of items") and w.sometimes(4):
        first, second = _side(w, names, later, []), _side(w, names, later, [])
        return f"({first} | {second})"
    if w.has("maybe") and w.sometimes(4):
        return f"[{_side(w, names, later, [])}]"
    if w.has("anonymous terminals") and w.sometimes():
        return quoted(w.word(2)) if w.sometimes(2) else literal(w, 1)
    return w.one_of(names)


def _recursive(w: Writer, rule: str, names: list[str], later: list[str]) -> list[str]:
    """Write further sides of a rule that name the rule itself."""
    sides = []
    one, two = w.one_of([*names, *later]), w.one_of(names)
    if w.has("left recursion") and w.sometimes(2):
        sides.append(f"{rule} {one}")
    if w.has("right recursion") and w.sometimes(2):
        sides.append(f"{two} {rule}")
    if w.has("centre recursion") and w.sometimes(2):
        sides.append(f"{two} {rule} {one}")
    if w.has("conflicts") and w.sometimes(2):
        sides += [f"{two} {rule}", f"{two} {rule} {one} {rule}"]
    return sides


def _general(w: Writer, rule: str, names: list[str], later: list[str]) -> list[str]:
    """Write further sides of a rule that only a general parser takes."""
    sides = []
    one, two = w.one_of([*names, *later]), w.one_of(names)
    if w.has("ambiguous") and w.sometimes(2):
        sides.append(w.one_of([f"{rule} {rule}", f"{rule} {two} {rule}", f"{rule} {rule} {rule}"]))
    if w.has("cycles") and w.sometimes(2):
        sides.append(w.one_of([rule, f"{rule}?", f"{rule}+", f"({rule} | {one})", f"[{rule}]"]))
    if w.has("hidden left recursion") and w.sometimes(2):
        hidden = w.one_of([f"{one}?", f"{one}*", f"[{one}]", f"({one} | {two}?)"])
        sides.append(w.one_of([f"{hidden} {rule} {two}", f"{hidden} {rule}"]))
    if w.has("palindromes") and w.sometimes(2):
        sides += [f"{one} {rule} {one}", f"{two} {rule} {two}", two, *[""] * w.sometimes(2)]
    if w.has("optional in a row") and w.sometimes(2):
        items = [w.one_of([*names, *later]) for _ in range(w.number(2, 6))]
        sides.append(" ".join(item + w.one_of(["?", "?", "*"]) for item in items))
    return sides


# --- Directives -----------------------------------------------------------------------------------


def _directives(w: Writer, names: list[str]) -> list[str]:
    lines = []
    if w.has("extend and override"):
        lines.append(f"{w.one_of(['%extend', '%override'])} {w.one_of(names)}: {_literal(w)}")
        if w.sometimes():
            lines.append(f"%extend start: {w.one_of(names)}")
    if w.has("ignore"):
        lines.append(f"%ignore {w.one_of(names) if w.sometimes() else _literal(w)}")
        if w.sometimes(4):
            lines.append(f"%ignore {_literal(w)}")
    if w.has("several ignores"):
        ignored = {w.one_of(names) for _ in range(w.number(1, 3))}
        lines += [f"%ignore {name}" for name in sorted(ignored)]
    return lines
