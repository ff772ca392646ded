"""Lark's options and the statements of its grammar language, judged by Lark.

Every grammar here is compared with Lark, under the same options, on all short texts over a small
alphabet.
"""

from __future__ import annotations

import re
import sys

import lark
import pytest
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter
from lark.load_grammar import FromPackageLoader
from support.every_text import n_sentences
from support.judges import parses
from support.scripts import printed

import cfgguide
from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError

Grammar = cfgguide.Grammar


def assert_same_language(grammar: Grammar, alphabet: list[str], longest: int) -> int:
    """Compare with Lark on all texts; return how many of them are sentences."""
    return n_sentences(grammar, alphabet, longest, parses(grammar))


# --- The grammar language -------------------------------------------------------------------------

#: The grammar, and an alphabet.
LANGUAGE = {
    "declared terminals": ('%declare NOTHING\nstart: ("a" | NOTHING) "b"?', "ab"),
    "extended rule": ('start: x+\nx: "a"\n%extend x: "b" "c"', "abc"),
    "extended terminal": ("start: X+ \nX: /a/\n%extend X: /bc/", "abc"),
    "overridden rule": ('start: x+\nx: "a"\n%override x: "b"', "ab"),
    "overridden terminal": ('start: X "c"\nX: /a+/\n%override X: /b/', "abc"),
    "template": ('start: list{A, ","} "!"\nlist{x, sep}: x (sep x)*\nA: "a"', "a,!"),
    "template in a template": ('start: pair{list{"a"}, "b"}\npair{x, y}: x y\nlist{x}: x+', "ab"),
    "inlined template": ('start: _two{"a"} _two{"b"}\n_two{x}: x x?', "ab"),
    "alias": ('start: "a" -> one | "b" start -> many', "ab"),
    "inline rule": ('start: _x "c"\n_x: "a" | "b" _x', "abc"),
    "rule that is inlined if it has one child": ('start: x x\n?x: "a" | "(" x ")"', "a()"),
    "rule that keeps its tokens": ('!start: "a" x\n!x: "b" | "(" x ")"', "ab()"),
    "optional": ('start: "a"? "b"', "ab"),
    "maybe": ('start: ["a"] ["b" "c"] "d"', "abcd"),
    "maybe, repeated": ('start: ("a" ["b"])+', "ab"),
    "range of repetitions": ('start: "a"~2 "b"~1..3', "ab"),
    "terminals in terminals": ('start: X\nX: A B? | B~2 A\nA: "a"\nB: /b|c/', "abc"),
    "range of characters": ('start: X+\nX: "b".."c"', "abcd"),
    "flags of a terminal": ('start: /a/i "b"i /c./s', "aAbBc\n"),
    "terminal priority, for": ('start: A | B "c"\nA.2: /ab?/\nB: /abb?/', "abc"),
    "terminal priority, against": ('start: A | B "c"\nA: /ab?/\nB.2: /abb?/', "abc"),
    "terminal priority below zero": ('start: (A | B)+ "c"\nA.-1: /a+b/\nB: /a/\nC: "b"', "abc"),
    "priority keeps a keyword in a name": ('start: IF NAME\nIF: "a"\nNAME.2: /[ab]+/', "ab"),
    "priority of a keyword": ('start: IF NAME | NAME "!"\nIF.2: "a"\nNAME: /[ab]+/', "ab!"),
    "ignored": ('start: "a" "b"\n%ignore " "\n%ignore /#+/', "ab #"),
    "a comment in the grammar": ('// about\nstart: "a" // here\n    | "b"', "ab"),
    "import from Lark's library": (
        "%import common.INT\n%import common (LETTER, WS_INLINE)\nstart: INT LETTER INT?\n"
        "%ignore WS_INLINE",
        "1a ",
    ),
    "import under another name": ("%import common.INT -> N\nstart: N+", "1a"),
    "overridden import": ('%import common.INT\n%override INT: "a"\nstart: INT INT', "1a"),
}


#: There the basic lexer never reads IF.
WITHOUT_SENTENCES = {("priority keeps a keyword in a name", "basic")}


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
@pytest.mark.parametrize("name", LANGUAGE)
def test_the_language_is_larks_with_either_lexer(name, lexer):
    text, alphabet = LANGUAGE[name]
    longest = 6 if len(alphabet) < 4 else 5
    n_sentences = assert_same_language(Grammar(text, lexer=lexer), list(alphabet), longest)
    assert n_sentences or (name, lexer) in WITHOUT_SENTENCES


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_imports_from_other_files(tmp_path, lexer):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "words.lark").write_text('word: LETTER+ _end\n_end: "."\nLETTER: /[ab]/\n')
    (inner / "more.lark").write_text('%import .words.word\nmore: word+ "!"\n')
    (tmp_path / "main.lark").write_text('%import .inner.more (more)\nstart: more "?"?\n')
    grammar = Grammar.open(tmp_path / "main.lark", lexer=lexer)
    assert assert_same_language(grammar, list("ab.!?"), 5) > 0


# --- Import paths ---------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch) -> str:
    """A package that holds grammars, one of which imports another."""
    folder = tmp_path / "words_for_test" / "grammars"
    folder.mkdir(parents=True)
    (tmp_path / "words_for_test" / "__init__.py").write_text("")
    (folder / "words.lark").write_text('%import .letters.LETTER\nword: LETTER+ "."\n')
    (folder / "letters.lark").write_text("LETTER: /[ab]/\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "words_for_test"
    sys.modules.pop("words_for_test", None)


def test_imports_from_a_package(package):
    loader = FromPackageLoader(package, ("grammars",))
    grammar = Grammar('%import words.word\nstart: word "!"', import_paths=[loader])
    assert assert_same_language(grammar, list("ab.!"), 5) > 0
    assert hash(grammar) == hash(Grammar(grammar.text, import_paths=(loader,)))
    assert grammar == Grammar(grammar.text, import_paths=(loader,))
    with pytest.raises(GrammarError, match=r"words\.lark"):
        compile_recognizer(Grammar(grammar.text))


def test_a_loader_is_any_callable():
    def load(base_path, grammar_path):
        if grammar_path != "words.lark":
            raise OSError
        return "words.lark", 'word: "a" "b"?'

    grammar = Grammar("%import words.word\nstart: word word", import_paths=(load,))
    assert assert_same_language(grammar, list("ab"), 5) == 4


def test_import_paths_are_kept_as_a_tuple_of_texts(tmp_path):
    grammar = Grammar("start: A", import_paths=[tmp_path, "here"])
    assert grammar.import_paths == (str(tmp_path), "here")
    assert Grammar.open(_written(tmp_path), import_paths=["here"]).import_paths == ("here",)


def _written(folder):
    path = folder / "some.lark"
    path.write_text('start: "a"')
    return path


# --- Options --------------------------------------------------------------------------------------

#: With the basic lexer every terminal is tried everywhere.
BASIC_DIFFERS = [
    ('start: "a" NAME\nNAME: /[a-z]+/', "ab"),
    ("start: A B\nA: /ab?/\nB.2: /a/", "ab"),
    ('start: "async" "def" NAME\nNAME: /[a-z]+/', ["async", "def", "x"]),
]


@pytest.mark.parametrize(("text", "alphabet"), BASIC_DIFFERS)
def test_the_basic_lexer_is_larks(text, alphabet):
    n_sentences = {
        lexer: assert_same_language(Grammar(text, lexer=lexer), list(alphabet), 4)
        for lexer in ("contextual", "basic")
    }
    assert n_sentences["basic"] == 0 < n_sentences["contextual"]


def test_the_basic_lexer_has_one_terminal_set():
    text = 'start: "a" NAME "!" | "b"\nNAME: /[a-z]+/\n%ignore " "'
    assert len(compile_recognizer(Grammar(text)).scanner.starts) > 1
    recognizer = compile_recognizer(Grammar(text, lexer="basic"))
    assert len(recognizer.scanner.starts) == 1
    assert set(recognizer.parse_table.set_of_state.tolist()) == {0}


def test_masks_and_liveness_follow_the_basic_lexer():
    """After `a` a name cannot start with `b`: the basic lexer would read on."""
    text = 'start: "a" NAME | "a" " " NAME "!"\nNAME: /[a-z]+/'
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b" ", b"!", None], eos_token_ids=4)
    allowed = {}
    for lexer in ("contextual", "basic"):
        guide = cfgguide.Guide(cfgguide.compile(Grammar(text, lexer=lexer), vocabulary))
        guide.advance(0)
        allowed[lexer] = guide.allowed_token_ids().tolist()
    assert allowed == {"contextual": [0, 1, 2], "basic": [2]}


@pytest.mark.parametrize(
    ("text", "flags", "alphabet"),
    [
        ("start: A B\nA: /ab/\nB: /c./", re.IGNORECASE, "abcABC"),
        ('start: "a" NAME | NAME\nNAME: /[ab]+/', re.IGNORECASE, "abAB"),
        ("start: A+\nA: /a./", re.DOTALL, "a\nb"),
        ("start: A+\nA: /a b/", re.VERBOSE, "a b"),
        (r"start: A+" "\n" r"A: /\w/", re.ASCII, "aé"),
        (r"start: A+" "\n" r"A: /\w/", 0, "aé"),
        (r"start: A+" "\n" r"A: /\w/i", re.ASCII | re.IGNORECASE, "kK\u212a"),
    ],
)
@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_flags_for_all_terminals_are_larks(text, flags, alphabet, lexer):
    grammar = Grammar(text, regex_flags=flags, lexer=lexer)
    assert assert_same_language(grammar, list(alphabet), 4) > 0


def test_strict_refuses_what_lark_refuses():
    dangling = 'start: s\ns: "i" s | "i" s "e" s | "x"'
    colliding = "start: A | B\nA: /a+/\nB: /aa?/"
    for text in (dangling, colliding):
        compile_recognizer(Grammar(text))
        with pytest.raises(LarkError):
            lark.Lark(text, parser="lalr", strict=True)
        with pytest.raises(GrammarError):
            compile_recognizer(Grammar(text, strict=True))
    harmless = Grammar('start: "a" "b" | "b"', strict=True)
    assert assert_same_language(harmless, list("ab"), 3) == 2


def test_options_are_part_of_the_value(tmp_path):
    path = _written(tmp_path)
    options = {"parser": "lalr", "lexer": "basic", "strict": True, "regex_flags": re.IGNORECASE}
    opened = Grammar.open(path, **options)
    assert opened == Grammar(path.read_text(), source_path=str(path), **options)
    assert opened != Grammar.open(path)
    assert hash(opened) == hash(Grammar.open(path, **options))
    assert assert_same_language(opened, list("aA"), 2) == 2


FLAGS = (
    "regex_flags may hold re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.UNICODE and "
    "re.VERBOSE, not "
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"lexer": "dynamic"},
            "lexer is 'contextual' or 'basic' with parser='lalr', not 'dynamic'; 'dynamic' goes "
            "with parser='earley'",
        ),
        ({"lexer": "auto"}, "lexer is 'contextual' or 'basic' with parser='lalr', not 'auto'"),
        ({"lexer": 1}, "lexer is 'contextual' or 'basic' with parser='lalr', not 1"),
        ({"parser": "cyk"}, "parser is 'lalr', 'earley' or 'auto', not 'cyk'"),
        (
            {"parser": "earley", "lexer": "contextual"},
            "lexer is 'dynamic', 'dynamic_complete' or 'basic' with parser='earley', not "
            "'contextual'; 'contextual' goes with parser='lalr'",
        ),
        (
            {"parser": "earley", "lexer": "dynamic", "postlex": PythonIndenter},
            "an indenter (postlex) needs lexer='basic', not 'dynamic'",
        ),
        ({"strict": 1}, "strict is True or False, not 1"),
        ({"regex_flags": "i"}, "regex_flags is a number, such as re.IGNORECASE, not 'i'"),
        ({"regex_flags": True}, "regex_flags is a number, such as re.IGNORECASE, not True"),
        ({"regex_flags": int(re.LOCALE)}, FLAGS + "4"),
        ({"regex_flags": int(re.DEBUG | re.IGNORECASE)}, FLAGS + "128"),
        (
            {"import_paths": "here"},
            "import_paths is a tuple of folders and loaders, not 'here'; write ('here',)",
        ),
        (
            {"import_paths": [3]},
            "import_paths holds folders, and loaders that Lark can call, not 3",
        ),
    ],
)
def test_options_that_lark_could_not_take_are_refused(options, message):
    with pytest.raises(GrammarError) as caught:
        Grammar('start: "a"', **options)
    assert str(caught.value) == f"[grammar] {message}"


# --- What is refused, and a way out ---------------------------------------------------------------

ZERO_WIDTH = (
    "Way out: a terminal must match one character or more. Take the `?` or `*` out of the terminal "
    "and write it where a rule uses the terminal, as in `[A]` or `A*`; after %ignore write `+`."
)
REGEX_MODULE = (
    "Way out: this is syntax of the module `regex`, and terminals are read by Python's re here. "
    r"For \p{L} write [^\W\d_], for \p{N} mostly \d, or list the characters."
)
COMPILABLE = "Way out: write a pattern that Python's re can compile."

NUL = r"Way out: a NUL character (U+0000) is written \x00, and stands in strings and patterns only."

#: The grammar, whether strict, and the message after its first line.
REFUSED = {
    "zero width": (
        "start: A\nA: /a*/",
        False,
        f"Lexer does not allow zero-width terminals. (A: 'a*')\n{ZERO_WIDTH}",
    ),
    "zero width, ignored": (
        'start: "a"\n%ignore /b?/',
        False,
        f"Lexer does not allow zero-width terminals. (__IGNORE_0: 'b?')\n{ZERO_WIDTH}",
    ),
    "empty string": (
        'start: "a" ""',
        False,
        'Empty terminals are not allowed ("")\n'
        'Way out: leave the empty string out; `["a"]` or an empty alternative says that something '
        "may be missing.",
    ),
    "NUL in a string": (
        'start: "a\0"',
        False,
        f"Python cannot read 'a\\x00': source code string cannot contain null bytes\n{NUL}",
    ),
    "NUL elsewhere": (
        'start: "a"\0',
        False,
        f'Unexpected input at line 1 column 11 in <string>: \n\nstart: "a"\0\n{" " * 10}^\n{NUL}',
    ),
    "a name that Lark's own grammars lack": (
        "%import common (INT, NOPE)\nstart: INT NOPE",
        False,
        "Rule 'NOPE' used but not defined (in rule start)\n"
        "Way out: %import names it, but the file has nothing of that name.",
    ),
    "another notation": (
        '# Notes.\nroot ::= "a"',
        False,
        'Expecting a value, at line 2 column 7\n\nroot ::= "a"\n      ^\n'
        "Way out: this looks like llama.cpp's GBNF: try Grammar.gbnf.",
    ),
    "class of the regex module": (
        "start: A\nA: /\\p{L}+/",
        False,
        "Cannot compile token A: '\\\\p{L}+'\n"
        f"Python's re says: bad escape \\p at position 0.\n{REGEX_MODULE}",
    ),
    "no regular expression": (
        "start: A\nA: /a(/",
        False,
        "Cannot compile token A: 'a('\n"
        f"Python's re says: missing ), unterminated subpattern at position 1.\n{COMPILABLE}",
    ),
    "collision, when strict": (
        "start: A | B\nA: /a+/\nB: /aa?/",
        True,
        "Collision between Terminals A and B.\n"
        "Example Collision: a\n"
        "Way out: `strict` wants the terminals of one priority to have no text in common. Give one "
        "of them a priority, as in `A.2: ...`, or leave `strict` out: the terminal that Lark tries "
        "first wins then.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_larks_message_comes_with_a_way_out(name):
    text, strict, message = REFUSED[name]
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(Grammar(text, strict=strict))
    assert str(caught.value) == f"[grammar] Lark rejects the grammar:\n{message}"


def test_the_collision_that_is_told_is_the_same_in_every_process():
    text = "start: A | B | C | D E\nA: /a+/\nB: /aa?/\nC: /[ab]/\nD: /d+/\nE: /d/"
    code = (
        "from cfgguide.compiler import compile_recognizer\nfrom cfgguide import Grammar\n"
        f"try:\n    compile_recognizer(Grammar({text!r}, strict=True))\n"
        "except Exception as error:\n    print(error)"
    )
    assert "Collision between Terminals A and B.\nExample Collision: a\n" in printed(code)


def test_a_terminal_that_flags_make_empty_is_refused():
    """Lark takes it, and would then read an empty lexeme for ever."""
    grammar = Grammar('start: A "b"\nA: / /', regex_flags=re.VERBOSE)
    lark.Lark(grammar.text, **grammar.lark_options)
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(grammar)
    assert str(caught.value) == (
        "[grammar] the terminal A matches the empty text under regex_flags, and Lark would then "
        "read it for ever: / /; write `\\ ` or `[ ]` for a space that is meant, or leave out "
        "re.VERBOSE"
    )


def test_the_way_out_of_the_regex_module_is_one():
    r"""`[^\W\d_]` is what `\p{L}` means, but for a few hundred letters that are numbers to re."""
    grammar = Grammar(r"start: A" "\n" r"A: /[^\W\d_]+/")
    assert assert_same_language(grammar, ["a", "é", "_", "1", "日"], 3) == 3 + 9 + 27


def test_an_empty_terminal_that_no_state_tries_does_no_harm():
    text = 'start: "a"\np: U p*\nU: /(?:aa)*/'
    for flags in (0, re.VERBOSE):
        assert assert_same_language(Grammar(text, regex_flags=flags), ["a"], 3) == 1
