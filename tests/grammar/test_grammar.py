"""A grammar is read as Lark reads it; what cannot be read says what is wrong, and where."""

from __future__ import annotations

import dataclasses
import json
import warnings

import lark
import pytest
from lark.exceptions import LarkError
from support import judges
from support.judges import is_parsed
from support.oracle import spelled_texts

import cfgguide
from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError, LimitError
from cfgguide.grammar import lark_frontend

VOCABULARY = cfgguide.Vocabulary.of_bytes()


def is_sentence(grammar: cfgguide.Grammar, text: str) -> bool:
    return judges.is_sentence(compile_recognizer(grammar), text)


# --- Where grammars come from ---------------------------------------------------------------------


def test_a_grammar_is_a_plain_value():
    grammar = cfgguide.Grammar("start: a", start="a")
    assert grammar == cfgguide.Grammar("start: a", "a")
    assert (grammar.source_path, grammar.import_paths) == (None, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        grammar.text = ""


@pytest.mark.parametrize("text", [None, b'start: "a"', 3, ["start"]])
def test_a_grammar_that_is_no_text_is_refused(text):
    with pytest.raises(GrammarError) as caught:
        cfgguide.Grammar(text)
    assert str(caught.value) == (
        f"[grammar] a grammar is a text, not {type(text).__name__}; "
        "use Grammar.open(path) for a file or Grammar.bundled(name) for a bundled grammar"
    )


@pytest.mark.parametrize("grammar", ['"a"', None, 3])
def test_what_is_no_grammar_cannot_be_compiled(grammar):
    with pytest.raises(GrammarError, match=r"no bundled grammar '\"a\"'|does not say what"):
        cfgguide.compile(grammar, VOCABULARY)
    with pytest.raises(GrammarError, match=f"expected a Grammar, not {type(grammar).__name__}"):
        lark_frontend.load(grammar)


def test_a_file_is_opened_and_imports_start_from_its_folder(tmp_path):
    (tmp_path / "numbers.lark").write_text('pair: INT "=" INT\nINT: /[0-9]+/\nEMPTY: "é"\n')
    (tmp_path / "main.lark").write_text(
        '%import .numbers (pair, EMPTY)\nstart: pair ("," pair)* | EMPTY\n', encoding="utf-8"
    )
    grammar = cfgguide.Grammar.open(tmp_path / "main.lark")
    assert grammar.source_path == str(tmp_path / "main.lark")
    table = {text: is_sentence(grammar, text) for text in ("1=2", "1=2,34=5", "é", "1=", "1,2", "")}
    assert table == {"1=2": True, "1=2,34=5": True, "é": True, "1=": False, "1,2": False, "": False}


def test_imports_are_also_looked_for_in_other_folders(tmp_path):
    (tmp_path / "words.lark").write_text("word: LETTER+ [DIGIT]\nLETTER: /[a-z]/\nDIGIT: /[0-9]/\n")
    grammar = cfgguide.Grammar(
        '%import words.word -> name\nstart: name "!"', import_paths=(str(tmp_path),)
    )
    assert is_sentence(grammar, "ab1!")
    assert not is_sentence(grammar, "1!")
    with pytest.raises(GrammarError, match=r"words\.lark"):
        compile_recognizer(cfgguide.Grammar(grammar.text))


@pytest.mark.parametrize("name", ["common.INT", "common.CNAME", "common.SIGNED_NUMBER"])
def test_terminals_are_imported_from_larks_library(name):
    grammar = cfgguide.Grammar(f"%import {name} -> WORD\nstart: WORD")
    parser = lark.Lark(grammar.text, parser="lalr")
    for text in ("1", "a", "-1", "1.5e3", "a1", "_", "+", "1e", ""):
        assert is_sentence(grammar, text) == is_parsed(parser, text)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(GrammarError, match=r"cannot read the grammar file '.*nowhere\.lark'"):
        cfgguide.Grammar.open(tmp_path / "nowhere.lark")
    (tmp_path / "latin.lark").write_bytes(b'start: "\xe9"')
    with pytest.raises(GrammarError, match=r"cannot read the grammar file '.*latin.lark': 'utf-8'"):
        cfgguide.Grammar.open(tmp_path / "latin.lark")


def test_another_start_rule():
    text = 'start: "a"\nother: "b" start'
    assert is_sentence(cfgguide.Grammar(text, start="other"), "ba")
    assert not is_sentence(cfgguide.Grammar(text), "ba")


def test_the_bundled_grammars_are_listed():
    assert "json" in cfgguide.Grammar.bundled_names()
    assert list(cfgguide.Grammar.bundled_names()) == sorted(cfgguide.Grammar.bundled_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", cfgguide.Grammar.bundled_names())
def test_the_bundled_grammars_compile(name):
    compile_recognizer(cfgguide.Grammar.bundled(name))


@pytest.mark.parametrize("name", ["yaml", "", "JSON", "../json", "json.lark"])
def test_an_unknown_bundled_name_lists_the_names(name):
    with pytest.raises(GrammarError) as caught:
        cfgguide.Grammar.bundled(name)
    assert str(caught.value) == (
        f"[grammar] no bundled grammar is called {name!r}; there is "
        f"{', '.join(cfgguide.Grammar.bundled_names())}. Use Grammar.open(path) for a file of your "
        "own"
    )


# --- What Lark refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('start: "a" |\nb: (', "line 2 column 5"),
        ('start: ("a"', "line 1, column 12"),
        ("start: foo", "Rule 'foo' used but not defined (in rule start)"),
        ("start: FOO", "Rule 'FOO' used but not defined (in rule start)"),
        ('begin: "a"', "undefined rule: NonTerminal('start')"),
        ("", "undefined rule: NonTerminal('start')"),
        ('start: "a"\nstart: "b"', "Rule 'start' defined more than once"),
        ('start: A\nA: "a"\nA: "b"', "Terminal 'A' defined more than once"),
        ('start: A\nA: "a" A', "Recursion in terminal 'A'"),
        ("start: A\nA: /a*/", "zero-width terminals. (A: 'a*')"),
        ('start: "a"\n%ignore /b?/', "zero-width terminals"),
        ("start: A\nA: /(/", "Cannot compile token A: '('"),
        ('start: ""', "Empty terminals are not allowed"),
        ('start: a | b\na: "x"\nb: "x"', "Reduce/Reduce collision in Terminal('$END')"),
        ('start: a | b\na: "x"\nb: "x"', "<a : X>"),
        ("%import nowhere.X\nstart: X", "nowhere.lark"),
        ("%import common.NOPE\nstart: NOPE", "Rule 'NOPE' used but not defined"),
        ('start: "a"\n%ignore FOO', "marked to ignore but were not defined"),
        ('start: pair{"a", "b"}\npair{x}: x x', "Wrong number of template arguments"),
        ('start: "a"~3..2', "Bad Range"),
        ('%override x: "a"\nstart: "b"', "Cannot override a nonexisting rule x"),
        ('start: "\\x"', "truncated"),
    ],
)
def test_larks_own_message_is_passed_on(text, fragment):
    with pytest.raises(GrammarError) as caught:
        cfgguide.compile(cfgguide.Grammar(text), VOCABULARY)
    assert str(caught.value).startswith("[grammar] Lark rejects the grammar:\n")
    assert fragment in str(caught.value)


def test_the_message_shows_the_place():
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(cfgguide.Grammar('start: ("a" b\nb: "b"'))
    assert str(caught.value).splitlines()[-2:] == ['start: ("a" b', "             ^"]


def test_the_message_names_the_file(tmp_path):
    path = tmp_path / "broken.lark"
    path.write_text("start: nothing")
    with pytest.raises(GrammarError, match=r"Lark rejects .*broken\.lark:\nRule 'nothing' used"):
        compile_recognizer(cfgguide.Grammar.open(path))


@pytest.mark.parametrize(
    "grammar",
    [
        # Lark raises OverflowError, TypeError and AttributeError, not errors of its own.
        cfgguide.Grammar("start: A\nA: /a{99999999999}/"),
        cfgguide.Grammar('start: "a"', start=3),
        cfgguide.Grammar('start: a\n!a: "x" -> q\n_B: [w.]+|\\xtend a: "z",3}/s\n'),
    ],
    ids=["a number too large", "no name", "an error in an error"],
)
def test_whatever_lark_raises_becomes_an_error_of_ours(grammar):
    with pytest.raises(GrammarError):
        compile_recognizer(grammar)


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        # Lark joins the terminals to one expression only when it first parses; re refuses it.
        ("start: A B\nA: /x/\nB: /(?i)abc/", "xabc"),
        ("start: (A | B)*\nA: /(?P<q>x)/\nB: /(?P<q>y)/", "xy"),
        ("start: (A | B)*\nA: /(?P<B>x)/\nB: /y/", "xy"),
    ],
    ids=["flags in the middle", "one group name twice", "a group called as a terminal"],
)
def test_terminals_that_lark_cannot_join_are_refused(text, sample):
    with pytest.raises(Exception, match=r"global flags|redefinition of group"):
        lark.Lark(text, parser="lalr").parse(sample)
    with pytest.raises(GrammarError):
        compile_recognizer(cfgguide.Grammar(text))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("start: WORD WORD\nWORD: /[a-z]+/", "start"),
        ('start: "a" start', "start"),
        ('start: "a"\nother: "b" other', "other"),
        ('%declare NOTHING\nstart: "a" NOTHING', "start"),
    ],
)
def test_a_grammar_without_a_sentence_is_refused(text, start):
    with pytest.raises(GrammarError) as caught:
        cfgguide.compile(cfgguide.Grammar(text, start), VOCABULARY)
    assert str(caught.value) == (
        f"[grammar] no text at all is a sentence of the grammar (start rule {start!r}): either "
        "each rule needs another one first, or a terminal matches no text, or the lexer reads "
        "neighbouring terminals as one"
    )


@pytest.mark.parametrize(
    "text",
    [
        "start: " + "(" * 3000 + '"a"' + ")" * 3000,
        "start: " + "[" * 3000 + '"a"' + "]" * 3000,
        "start: A\nA: " + "(" * 3000 + '"a"' + ")" * 3000,
    ],
    ids=["groups", "optional", "terminal"],
)
def test_a_grammar_nested_too_deeply_is_refused(text):
    with pytest.raises(LimitError, match="the grammar nests too deeply for Lark to read"):
        compile_recognizer(cfgguide.Grammar(text))


#: Files; and what is said of the grammar in main.lark, with FOLDER for the folder.
IMPORTS = {
    "itself": (
        {"main": '%import .main.x\nstart: x\nx: "a"'},
        "FOLDER/main.lark imports itself; put what both need into a file of its own, and import "
        "that",
    ),
    "each other": (
        {"main": "%import .b.x\nstart: x", "b": "%import .c.x", "c": "%import .b.x"},
        "FOLDER/b.lark imports itself, by way of FOLDER/c.lark; put what both need into a file",
    ),
    "a file that is not there": (
        {"main": "%import .b.x\nstart: x"},
        "Lark rejects FOLDER/main.lark:\nthere is no file b.lark to import\nWay out: it is looked "
        "for in `import_paths`, and, if a dot stands before its name, in the folder of the grammar "
        "that imports it.",
    ),
    "a file with a mistake": (
        {"main": "%import .b.x\nstart: x", "b": 'x: ( "a"'},
        "Lark rejects FOLDER/b.lark, which is imported:\nline 1, column 9: ",
    ),
    "a file in another notation": (
        {"main": "%import .b.x\nstart: x", "b": '# Notes.\nx ::= "a"'},
        "Lark rejects FOLDER/b.lark, which is imported:\nExpecting a value, at line 2 column 4\n\n"
        'x ::= "a"\n   ^\nWay out: this looks like llama.cpp\'s GBNF',
    ),
    "a name that is not there": (
        {"main": "%import .b.y -> x\nstart: x", "b": 'x: "a"'},
        "Lark rejects FOLDER/main.lark:\nRule 'x' used but not defined (in rule start)\nWay out: "
        "%import names it, but the file has nothing of that name.",
    ),
    "a byte order mark": (
        {"main": "%import .b.x\nstart: x", "b": '\ufeffx: "a"'},
        "Lark rejects FOLDER/b.lark, which is imported:\nUnexpected input at line 1 column 1 in "
        'FOLDER/b.lark: \n\n\ufeffx: "a"\n^\nWay out: the text begins with a byte order mark '
        "(U+FEFF), which Lark does not skip; save the file as UTF-8 without one.",
    ),
    "no UTF-8": (
        {"main": "%import .b.x\nstart: x", "b": b'x: "\xff"'},
        "Lark rejects FOLDER/main.lark:\na file that is imported is not UTF-8: invalid start byte "
        "at byte 4",
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_what_cannot_be_imported_is_told_with_its_file(name, tmp_path):
    files, said = IMPORTS[name]
    for file, text in files.items():
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / f"{file}.lark").write_bytes(data)
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(cfgguide.Grammar.open(tmp_path / "main.lark"))
    assert str(caught.value).startswith(f"[grammar] {said.replace('FOLDER', str(tmp_path))}")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (cfgguide.Grammar, 'start: "a"'),
        (cfgguide.Grammar.gbnf, 'root ::= "a"'),
        (cfgguide.Grammar.ebnf, 'root ::= "a"'),
        (cfgguide.Grammar.w3c, "root ::= 'a'"),
        (cfgguide.Grammar.llguidance, 'start: "a"'),
    ],
)
def test_a_byte_order_mark_before_a_grammar_is_no_part_of_it(read, text):
    assert read("\ufeff" + text) == read(text)


def test_a_large_alternation_is_no_trouble():
    names = [f"key{number}" for number in range(800)]
    grammar = cfgguide.Grammar("start: " + " | ".join(f'"{name}"' for name in names))
    assert is_sentence(grammar, "key799")
    assert not is_sentence(grammar, "key800")


# --- What Lark accepts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ('start: item*\nitem: "a" -> one\n    | "b" "b" -> two', "ab"),
        ('start: _list{A, ","}\n_list{x, y}: x (y x)*\nA: "a"', "a,"),
        ('!start: "a"~2..3 "b"?', "ab"),
        ('start: A\nA: B C | C B~2\nB: "b"\nC: /c+/', "bc"),
        ('start: A+\nA.2: "a".."c"', "abd"),
        ('start: "a"i "B"i', "aAbB"),
        (r"start: /a.b/s | /a \#b/x", "ab\n#"),
        ('start: "日" | "日" "é" start', "日é"),
        ('start: a\n_a: "x"\na: _a+ ["y"]', "xy"),
        ('%declare NOTHING\nstart: "a" NOTHING?', "ab"),
        ('start: WORD\nWORD: "a" | /b+/ | "\\n"', "ab\n"),
        ('start: ("\\u00e9" | "\\x41" | /\\u00e8/)+', "éAè"),
        ('start: "a"\n%ignore "b"\n%extend start: "c"', "abc"),
        ('start: a b\na: "x" | \nb.2: "x" |', "x"),
        # NAME takes the ignored string, which then is a terminal that no rule uses.
        ('start: NAME "!" | "?"\nNAME: /[ab]+/\n%ignore "ab"', "ab!?"),
        # A terminal that is ignored never reaches the rule that asks for it.
        ('start: A B? A\nA: "a"\nB: "b"\n%ignore B', "ab"),
    ],
)
def test_the_language_is_that_of_lark(text, alphabet):
    """All texts of at most five characters."""
    grammar = cfgguide.Grammar(text)
    parser = lark.Lark(text, parser="lalr", lexer="contextual")
    recognizer = compile_recognizer(grammar)
    letters = [letter.encode() for letter in alphabet]
    for data in spelled_texts(letters, 5 if max(map(len, letters)) == 1 else 9):
        configuration = recognizer.advance(recognizer.initial, data)
        ours = configuration is not None and recognizer.is_sentence(configuration)
        assert ours == is_parsed(parser, data.decode()), data


# --- max_ignored -------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, 1, 3, None])
def test_whitespace_is_bounded_exactly(most):
    """Against Lark and json.loads: whitespace everywhere it may stand."""
    grammar = cfgguide.Grammar.bundled("json", max_ignored=most)
    parser = lark.Lark(grammar.text, parser="lalr", lexer="contextual")
    recognizer = compile_recognizer(grammar)
    templates = ["_1_", "_[_]_", '_{_"a b"_:_[_0_,_"  \\n  "_]_,_"c"_:_{_}_}_', "1_2", "tr_ue"]
    for template in templates:
        for place in range(template.count("_")):
            for n in range(6):
                parts = template.split("_")
                space = (" \n\t\r" * 2)[:n]
                text = "".join(parts[: place + 1]) + space + "".join(parts[place + 1 :])
                configuration = recognizer.advance(recognizer.initial, text.encode())
                ours = configuration is not None and recognizer.is_sentence(configuration)
                assert is_parsed(parser, text) == is_json(text), text
                assert ours == (is_json(text) and (most is None or n <= most)), text


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("most", [-1, 1001, 1.5, "3", True, [3]])
def test_a_bad_bound_on_whitespace_is_refused(most):
    with pytest.raises(GrammarError) as caught:
        cfgguide.Grammar.bundled("json", max_ignored=most)
    assert str(caught.value) == (f"[grammar] max_ignored is a number from 0 to 1000, not {most!r}")


def test_the_largest_bound_on_whitespace_compiles():
    grammar = cfgguide.Grammar.bundled("json", max_ignored=1000)
    assert is_sentence(grammar, " " * 1000 + "1")
    assert not is_sentence(grammar, " " * 1001 + "1")


# --- Vocabularies that do not fit -----------------------------------------------------------------


def compiled(text: str, tokens: list[bytes]) -> cfgguide.Index:
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    return cfgguide.compile(cfgguide.Grammar(text), vocabulary)


@pytest.mark.parametrize(
    ("text", "tokens", "fragments"),
    [
        ('start: "a" "b"', [b"a"], ["no tokens for the terminals B", "with the bytes 0x62"]),
        ('start: "a" "b"', [b"x"], ["no tokens for the terminals A, B", "0x61, 0x62"]),
        ('start: "abc"', [b"ab", b"bc"], ["no tokens for the terminals ABC"]),
        ('start: "a" "b" "c"', [b"ab", b"bc", b"ca"], ["use a tokenizer with a token for every"]),
    ],
)
def test_a_vocabulary_that_spells_no_sentence_is_refused(text, tokens, fragments):
    with pytest.raises(cfgguide.CfgGuideError) as caught:
        compiled(text, tokens)
    assert str(caught.value).startswith(
        "[vocabulary] the vocabulary can spell no sentence of the grammar: "
    )
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_terminal_without_tokens_is_a_warning():
    with pytest.warns(
        UserWarning, match="no tokens for the terminals B and it has no token"
    ) as got:
        index = compiled('start: "a" | "b"', [b"a", b"x"])
    assert [warning.category.__name__ for warning in got] == ["VocabularyWarning"]
    assert got[0].filename == __file__, "the warning points at the caller"
    assert cfgguide.Guide(index).allowed_token_ids().tolist() == [0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ('start: "a" "b"', [b"a", b"b"]),
        ('start: "é"', ["é".encode()]),
        ('start: "a" "b"', [b"a", b"b", b"x"]),
    ],
)
def test_a_vocabulary_that_fits_is_no_warning(text, tokens):
    with warnings.catch_warnings(action="error"):
        compiled(text, tokens)


def test_a_terminal_that_starts_inside_a_token_is_no_warning():
    """All there is to say is `ab`, and there is a token for it."""
    with warnings.catch_warnings(action="error"):
        compiled('start: "a" "b"', [b"ab"])


def test_larks_errors_are_all_one_class_here():
    """What this file relies on: Lark's errors of grammars derive from LarkError."""
    with pytest.raises(LarkError):
        lark.Lark("start: nothing", parser="lalr")


def test_the_start_rule_may_stand_in_a_list_as_for_lark():
    text = 'start: "a"\nother: "b"'
    assert lark.Lark(text, start=["other"], parser="lalr").parse("b").data == "other"
    assert cfgguide.Grammar(text, start=["other"]) == cfgguide.Grammar(text, start="other")
    for start in (["start", "other"], [], (), [3]):
        with pytest.raises(GrammarError, match="start is the name of one rule, not"):
            cfgguide.Grammar(text, start=start)
