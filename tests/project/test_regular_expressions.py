"""No pattern of the package lets a text of a stranger stop the process.

``re`` holds the GIL while it matches, and no limit is noticed. So each pattern that reaches it is
ours, and proved linear (:mod:`support.backtracking`), or its text is trusted, for the reason below.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lark import load_grammar
from support.backtracking import MATCHED, READING, REPEATED, SEARCHED, USES, why_unproved

import cfgguide
from cfgguide.grammar.lark_parts import LINEAR
from cfgguide.schema.messages.formats import FORMATS

PACKAGE = Path(cfgguide.__file__).parent
#: What of ``re`` does not match.
HARMLESS = {"compile", "escape", "error", "Pattern", "Match"}
#: What has a method `match` and is no pattern.
OTHERS = {"fsm", "cursor", "_cursor", "self[name]"}
#: Modules that may import other parts of ``re``, which match nothing.
PARTS = {"automata.syntax": "re._parser", "automata.charset": "re._casefix"}

#: Patterns that are tried where the last match ended; where there is none, the text is refused.
READERS = {
    ("automata.ecma_notation", "_PROPERTY"): "after a backslash, which it does not go over",
    ("automata.rust_patterns", "_SPACED_HALF_BOUNDARY"): "what is none is refused, or read next",
    ("automata.rust_patterns", "_BRACED"): "what is never closed is no escape",
    ("grammar.llguidance.dialect_words", "_WORD"): "what is no word is refused",
    ("grammar.notations.ebnf_reader", "_OPTION"): "what is no option is refused",
    ("grammar.notations.ebnf_reader", "_RULE"): "what it looks over is read next",
    ("grammar.notations.w3c_reader", "_RULE"): "what it looks over is read next",
    ("grammar.notations.w3c_reader", "_COMMENT_END"): "what is never closed is refused",
}
HANDED_ON = "patterns of other modules, each proved there for any use or trusted"
IN_A_TABLE = "constants of a table of the module (`test_tables_hold_linear_patterns`)"
NAMES = "texts, escaped: each is compared at each place"
TOKENS = "tokens of a vocabulary, one at a time"
A_GRAMMAR = "a grammar that was compiled"
A_NAME = "one name of letters and digits, in one line"
#: Patterns that are not proved, or are not known before they run.
TRUSTED = {
    ("automata.charset", r"f'\\{escape.kind}+'"): "runs of one class, in all characters",
    ("automata.pattern_reader", "notation.match(self.pattern, self._at)"): HANDED_ON,
    ("automata.syntax", "str(notation)"): IN_A_TABLE,
    ("description", "_COMMENT"): A_GRAMMAR,
    ("description", "_DEFINITION"): A_GRAMMAR,
    ("engine.byte_machine.shared_masks", "pattern.search(token)"): HANDED_ON,
    ("grammar.imports", "_VERSION"): "the file of Lark that is installed",
    ("grammar.notations.character_cursor", "pattern.match(self.source.text, self.at)"): HANDED_ON,
    ("grammar.notations.mixed_up", "marks"): IN_A_TABLE,
    ("grammar.notations.w3c_reader", "_NAME"): "goes one hyphen beyond the name",
    ("grammar.rejections", "pattern"): IN_A_TABLE + "; a terminal is compiled, and not matched",
    ("languages.presets", r"'\\n[\\n#]*\\Z'"): "what was held back of a model's text, and a token",
    ("languages.sql.name_sets", r"f'^{re.escape(terminal)}: /\\(\\?ai:([a-z0-9_|]+)\\)'"): (
        "the bundled grammar of SQL"
    ),
    (
        "schema.messages.formats",
        """f"{before}{re.escape(text).replace('NAME', _NAME)}(?={after})\"""",
    ): "texts of ours and a name (`test_beginnings_of_calls_are_found_in_linear_time`)",
    ("schema.messages.grammar_tools", "f\"({'|'.join(map(re.escape, known))})\""): NAMES,
    ("schema.messages.message_reading", "form.call.search(self._pending)"): (
        "a piece of a text, after at most 400 characters that are kept back"
    ),
    ("schema.messages.pairs", "self._style.bad"): "texts of ours, escaped; each is searched for",
    ("schema.messages.pair_values", "pattern"): "two texts of ours, and a name between them",
    ("schema.messages.pair_values", "self._style.pair.match(self._text)"): (
        "a beginning of a pair, of which each piece is read once"
    ),
    ("schema.messages.structure", "'(' + '|'.join(map(re.escape, names)) + ')'"): NAMES,
    ("schema.repeated_parts", "_IN_STRING"): TOKENS,
    ("schema.repeated_parts", "_SPACES"): TOKENS,
    ("schema.repeated_parts", "_WHOLE"): TOKENS,
    ("schema.repeated_parts", "spaces.sub(shortened, token)"): TOKENS,
    ("schema.scalar_tokens", "IN_OTHER"): TOKENS,
    ("schema.scalar_tokens", "IN_STRING"): TOKENS,
    ("schema.scalar_tokens", "IS_SPELLED"): TOKENS,
    ("schema.scalar_tokens", "_ITEM"): TOKENS,
    ("schema.scalar_tokens", "place.fullmatch(token)"): TOKENS,
    ("schema.unknown", "what.fullmatch(checked(unknown))"): "a caller's pattern, and one word",
    ("studio.cli.doctor", r"f'(?<=[/\\\\]){re.escape(user)}(?![\\w.-])'"): NAMES,
    ("studio.cli.doctor", r"f'{re.escape(path)}(?![\\w.-])'"): NAMES,
    ("studio.cli.health", "pattern"): "files of Linux, such as /proc/meminfo",
    ("studio.playground.grammars", "definition.search(line_text)"): A_NAME,
    ("studio.playground.grammars", "used.search(line_text)"): A_NAME,
    ("studio.playground.grammars", r"f'\\b{found[1]}\\b'"): A_NAME,
    (
        "studio.playground.grammars",
        r"f'^\\s*+[?!]?({found[1]})\\b\\s*+(?:\\.-?\\d+\\s*+)?(?:\\{{[^}}]*\\}}\\s*+)?:'",
    ): A_NAME,
    **{
        ("models.serving.client_errors", name): "a message of ours, of 3,000 characters at most"
        for name in ("_LIMIT", "_OPEN", "_REGISTRY")
    },
}


# --- Every use of re in the package ---------------------------------------------------------------


def bound_in(function: ast.AST) -> set[str]:
    """The names that a function gives a value."""
    names = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return names | {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


class Module:
    """The patterns of a module: what each is called, itself, and what is done with it."""

    def __init__(self, path: Path) -> None:
        self.name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.wrong: list[str] = []
        self.patterns: dict[str, re.Pattern[Any]] = {}
        self.uses: defaultdict[str, int] = defaultdict(int)
        self.unknown: set[str] = set()
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._check_import(node)
            elif isinstance(node, ast.Constant) and str(node.value).startswith(("re._", "sre_")):
                if PARTS.get(self.name) != node.value:
                    self.wrong.append(f"names {node.value}")
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "re":
                is_called = isinstance(self.parents[node], ast.Call)
                if not (node.attr in HARMLESS or node.attr.isupper()) and not (
                    node.attr in USES and is_called
                ):
                    self.wrong.append(f"uses re.{node.attr}")
        for call in calls:
            if ast.unparse(call.func) == "re.compile":
                self._compiled(call)
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in USES:
                self._used(call, call.func)

    def _check_import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        aliases = {a.asname for a in node.names if a.name == "re"} - {None}
        is_other = {"regex", "sre_parse", "sre_compile"} & {*names}
        if is_other or aliases or (isinstance(node, ast.ImportFrom) and node.module == "re"):
            self.wrong.append(ast.unparse(node))

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    @functools.cached_property
    def imported(self) -> dict[str, Any]:
        return vars(importlib.import_module(f"cfgguide.{self.name}"))

    def _value(self, node: ast.expr) -> Any:
        """The value of an expression, if it depends on no call of a function; else None."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for above in self._above(node):
            if isinstance(above, ast.FunctionDef | ast.Lambda) and names & bound_in(above):
                return None
        try:
            return eval(ast.unparse(node), {**self.imported})
        except ImportError:  # an engine that is not installed; its parts of the module are ours
            return eval(ast.unparse(node), {"re": re})

    def _compiled(self, call: ast.Call) -> None:
        pattern = self._value(call)
        statement: ast.AST = self.parents[call]
        is_named = isinstance(statement, ast.Assign | ast.AnnAssign)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ast.unparse(call.args[0])
        if pattern is None:
            self.unknown.add(ast.unparse(call.args[0]))
            return
        self.patterns[name] = pattern
        if not is_named or not isinstance(target, ast.Name):
            self.uses[name] = REPEATED
            return
        for node in ast.walk(self.tree):
            is_name = isinstance(node, ast.Name) and node.id == name
            is_attribute = isinstance(node, ast.Attribute) and node.attr == name
            if (is_name and isinstance(node.ctx, ast.Load)) or is_attribute:
                self.uses[name] = max(self.uses[name], self._use(node))
        if not name.startswith("_"):
            self.uses[name] = max(self.uses[name], *uses_elsewhere(name, self.name), MATCHED)

    def _use(self, node: ast.AST) -> int:
        """What is done with a pattern that stands here."""
        method = self.parents[node]
        if not isinstance(method, ast.Attribute):
            return REPEATED
        if method.attr in ("pattern", "flags"):
            return MATCHED
        call = self.parents[method]
        if not isinstance(call, ast.Call) or call.func is not method or method.attr not in USES:
            return REPEATED
        return USES[method.attr] if len(call.args) == 1 else REPEATED

    def _used(self, call: ast.Call, method: ast.Attribute) -> None:
        owner = ast.unparse(method.value)
        if owner == "re":
            pattern = self._value(call.args[0])
            key = ast.unparse(call.args[0])
            flags = [each.value for each in call.keywords if each.arg == "flags"]
            flags += call.args[{"sub": 4, "subn": 4, "split": 3}.get(method.attr, 2) :]
            if pattern is None:
                self.unknown.add(key)
                return
            value = re.compile(pattern, *(self._value(each) for each in flags))
            self.patterns[key] = value
            self.uses[key] = max(self.uses[key], USES[method.attr])
        elif owner.rpartition(".")[2] in {*self.patterns, *OTHERS}:
            pass
        elif method.attr != "split" and not owner.startswith("re.compile("):
            self.unknown.add(ast.unparse(call))


@functools.cache
def sources() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def modules() -> list[Module]:
    return [Module(path) for path, text in sources().items() if re.search(r"\bre\b", text)]


def uses_elsewhere(name: str, module: str) -> list[int]:
    """What other modules do with a public pattern: passed on, unless they do not name it."""
    parts = module.rpartition(".")[2]
    named = re.compile(rf"\b{parts}\.{name}\b|import .*\b{name}\b")
    return [
        REPEATED
        for path, text in sources().items()
        if ".".join(path.relative_to(PACKAGE).with_suffix("").parts) != module
        if name in text and named.search(text)
    ]


def test_re_is_used_only_where_it_is_seen():
    assert {module.name: module.wrong for module in modules() if module.wrong} == {}


def test_each_pattern_is_linear_or_its_text_is_trusted():
    unproved = {}
    for module in modules():
        for name, pattern in module.patterns.items():
            why = why_unproved(pattern, module.uses[name])
            if why is not None and (module.name, name) in READERS:
                why = why_unproved(pattern, READING)
            elif (module.name, name) in READERS:
                why = "needs no entry in READERS"
            if why is not None:
                unproved[module.name, name] = why
        unproved |= {(module.name, name): "not known" for name in module.unknown}
    assert {key: why for key, why in unproved.items() if key not in TRUSTED} == {}
    assert {*TRUSTED} - {*unproved} == set()
    assert {*READERS} <= {(each.name, name) for each in modules() for name in each.patterns}


@pytest.mark.parametrize(
    ("module", "table"),
    [
        ("automata.syntax", "_NOTATION"),
        ("grammar.notations.mixed_up", "_MARKS"),
        ("grammar.notations.mixed_up", "_BOTH"),
        ("grammar.notations.mixed_up", "_OTHERS"),
        ("grammar.rejections", "_WAYS_OUT"),
    ],
)
def test_tables_hold_linear_patterns(module, table):
    found = getattr(importlib.import_module(f"cfgguide.{module}"), table)
    if isinstance(found, dict):
        found = found.values()
    elif isinstance(found, str):
        found = [found]
    for pattern in (each if isinstance(each, str) else each[0] for each in found):
        assert why_unproved(re.compile(pattern, re.MULTILINE), SEARCHED) is None, pattern


@pytest.mark.parametrize("name", FORMATS)
def test_beginnings_of_calls_are_found_in_linear_time(name):
    assert why_unproved(FORMATS[name].call, SEARCHED) is None


def test_a_name_in_a_line_is_found_in_linear_time():
    definition = r"^\s*+[?!]?(name)\b\s*+(?:\.-?\d+\s*+)?(?:\{[^}]*\}\s*+)?:"
    assert why_unproved(re.compile(definition), SEARCHED) is None
    assert why_unproved(re.compile(r"\bname\b"), SEARCHED) is None


#: What makes a parser of Lark's, whose lexer matches with the patterns of the grammar. That of
#: `tree_parser_of` does not (tests/grammar/test_tree_parser.py).
PARSING = {
    "grammar.fragments": "only rules and terminals are asked for",
    "grammar.lark_frontend": "the one place where it is made, and `tree_of`",
    "grammar.lark_parts": "parts of it",
    "grammar.rejections": "says what collides, and reads no text",
    "studio.cli.health": "the self-test, with a bundled grammar",
}


def test_lark_is_asked_to_lex_nowhere_else():
    makers = {
        "parser_of",
        "Lark",
        "BasicLexer",
        "Contextual",
        "Basic",
        "LexerThread",
        "SymbolThread",
    }
    asking = set()
    for path, text in sources().items():
        tree = ast.parse(text) if any(each in text for each in makers) else ast.Module([])
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if any(makers & {*ast.unparse(called).split(".")} for called in calls):
            asking.add(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    assert asking == {*PARSING}


def test_lark_reads_grammars_with_linear_patterns():
    linear = {name: LINEAR.get(each, each) for name, each in load_grammar.TERMINALS.items()}
    assert {*LINEAR} <= {*load_grammar.TERMINALS.values()}
    joined = "|".join(f"(?P<{name}>{pattern})" for name, pattern in linear.items())
    assert why_unproved(re.compile(joined), READING) is None


# --- The proof itself -----------------------------------------------------------------------------

NOT_LINEAR = [
    (MATCHED, r"(a+)+b"),
    (MATCHED, r"(a|a)*b"),
    (MATCHED, r"(a*)*b"),
    (MATCHED, r"(x+x+)+y"),
    (MATCHED, r"a*a*b"),
    (MATCHED, r"(?:a?){40}b"),
    (MATCHED, r"(?:(?=a*b)a)*"),
    (MATCHED, r"(?i:k*\u212a*)x"),
    (MATCHED, r"(a+)\1"),
    (SEARCHED, r"\s+x"),
    (SEARCHED, r"a.*b"),
    (SEARCHED, r"(?m)^\s*x"),
    (SEARCHED, r"(?<![ \t])[ \t]*\n"),  # linear, in truth
    (READING, r"a(?:[ab]*c)?"),
    (REPEATED, r"a(?![ab]*c)"),
    (REPEATED, r'"(?:[^"\\]|\\.)*"'),
    (REPEATED, r"(?s:.)*?\*/"),
    (REPEATED, r"\d+\.\d+"),
]
LINEAR_ONES = [
    (MATCHED, r"(?:a|b)*c"),
    (MATCHED, r"a*+a*b"),
    (MATCHED, r"(?:a+b)+c"),
    (MATCHED, r"\s+x"),
    (MATCHED, r"(?s:.)*?\*/"),
    (MATCHED, r'"(?:[^"\\]|\\.)*"'),
    (SEARCHED, r"^\s*x"),
    (SEARCHED, r"(?m)^[ \t]*x"),
    (SEARCHED, r"a(?:[ab]*c)?"),
    (READING, r"\s+x|\s+"),
    (READING, r'"(?:[^"\\]|\\.)*"'),
    (REPEATED, r"[a-z]+"),
    (REPEATED, r"\b[A-Z]++\b"),
    (REPEATED, r"(?:[ \t]|#[^\r\n]*+)*+"),
    (REPEATED, r'"(?:[^"\\]|\\.?+)*+"?+'),
    (REPEATED, r"a{1,5}b"),
]


@pytest.mark.parametrize(("use", "pattern"), NOT_LINEAR)
def test_what_is_not_linear_is_not_proved(use, pattern):
    assert why_unproved(re.compile(pattern), use) is not None


@pytest.mark.parametrize(("use", "pattern"), LINEAR_ONES)
def test_what_is_linear_is_proved(use, pattern):
    assert why_unproved(re.compile(pattern), use) is None
