"""The bundled grammar of Pascal is Free Pascal's, as its parser and its compiler read it.

Verdicts were found by hand, in the language's reference guide; where Free Pascal is installed, it
is asked as well.
"""

from __future__ import annotations

import random

import pytest
from support import pascal_judge
from support.languages import can_be_written, cases, index_of

import cfgguide

pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = {
    "files": [
        "begin end.",
        "program a; begin end.",
        "program a(input, output); uses b, c in 'd.pas'; begin end.",
        "library a; procedure b; begin end; exports b name 'c'; end.",
        "unit a; interface implementation end.",
        "unit a.b deprecated; interface uses c; implementation begin d; end.",
        "unit a; interface implementation initialization b; finalization c; end.",
        "begin end. end.",
    ],
    "declarations": [
        "label a, 1; begin end.",
        "const a = 1; b: c = 2; d: e = (1, (2, 3)); f: g = (h: 1; i: (2, 3);); begin end.",
        "resourcestring a = 'b' + 'c'; threadvar d: e; begin end.",
        "var a, b: c; d: e = 1; f: g absolute h; i: j; cvar; external; begin end.",
        "var a: procedure(b: c) of object; cdecl; d: function: e = nil; begin end.",
    ],
    "properties": [
        "property a: b read c.d write e; property f[g: h]: i index 1 write j; begin end.",
        "unit a; interface property b: c write d; implementation property e: f read g; end.",
    ],
    "types": [
        "type a = procedure; cdecl; varargs; b = c; begin end.",
        "type a = record abstract, private: b; external: c; d: procedure; varargs; end; begin end.",
        "type a = record case b: c of 1: (abstract: d; sealed: e); end; begin end.",
        "type a = b.c; d = type e; f = ^g; h = set of a; i = file of j; k = string[20]; begin end.",
        "type a = array of procedure; b = array[1..2] of packed array of function: c; d = e; "
        "begin end.",
        "var a, b: array of procedure(c: d) of object; e: f; begin end.",
        "type a = record b: array of procedure; c: d end; "
        "e = class f: array of procedure; c: d; end;begin end.",
        "type a = procedure; c = d; var e: function: f; c: g; begin end.",
        "type a = (b, c = 3, d := 4); e = 1..2; f = -1..1; g = 'a'..'z'; h = i..j; begin end.",
        "type a = array[b, 1..2, c..d] of packed array of e; begin end.",
        "type a = record b: c; case d: e of 1, 2: (f: g; h: i); 3: (); end; begin end.",
        "type generic a<b; c: class> = class d: b; end; e = specialize a<f, g>; begin end.",
    ],
    "classes": [
        "type a = class; b = class(a); c = class of b; begin end.",
        "type a = class sealed(b, c) private d: e; strict protected procedure f; end; begin end.",
        "type a = class procedure b; virtual; abstract; procedure c; override; end; begin end.",
        "type a = class property b: c read d write e default 1; end; begin end.",
        "type a = class property b[c: d]: e read f; default; end; begin end.",
        "type a = interface ['{b}'] function c: d; end; begin end.",
        "type a = interface procedure b; dispid 1; end; begin end.",
        "type a = class property b[const c: d; e: f]: g read h; end; begin end.",
        "type a = dispinterface; b = dispinterface ['c'] procedure d; dispid 1; property e: f; end;"
        "begin end.",
        "type a = dispinterface ['b'] function c(d: e): f; property g: h readonly dispid 2;"
        "property i[j: k]: l dispid 3; default; end; begin end.",
        "type a = class helper for b class function c: d; static; end; begin end.",
        "type a = object constructor b; destructor c; virtual; end; begin end.",
    ],
    "routines": [
        "procedure a; forward; procedure a; begin end; begin end.",
        "procedure a; cdecl; external 'bb' name 'c'; begin end.",
        "procedure a(const b; var c, d: e; out f: g; h: array of const; i: j = 3); begin end;"
        "begin end.",
        "procedure a external 'bb' name 'c'; function d(e: f): g external; begin end.",
        "procedure a; public; begin end; begin end.",
        "unit a; interface procedure b; syscall c 5; function d: e; syscall f 6; deprecated;"
        "implementation end.",
        "function a.b(c: d): e; overload; inline; var f: g; begin end; begin end.",
        "constructor a.b; begin inherited; inherited b(c); end; begin end.",
        "operator + (a, b: c) d: e; begin end; begin end.",
    ],
    "statements": [
        "begin a; ; b;; end.",
        "begin if a then b else c; if a then else; if a then if b then c else d end.",
        "begin case a of 1, 2..3: b; c: ; else d; e end; case a of 1: otherwise end end.",
        "begin for a := 1 to 2 do; for a := 2 downto 1 do b; for a in b do; end.",
        "begin repeat a; b until c; while a do b; with a, b.c do d end.",
        "begin try a finally b end; try a except on b: c do d; on e.f do; else g end end.",
        "begin try raise a; except raise; end; raise a at b end.",
        "label a; begin begin goto a end; a: b; 1: 2: c end.",
        "begin a += b; a -= b; a *= b; a /= b; a^.b[c](d) := e; (f as g).h end.",
        "begin writeln(a: 3: 4, b: c, d); writeln(); write end.",
    ],
    "expressions": [
        f"begin a := {each}; end."
        for each in (
            "b + c * d - -e",
            "not not b and (c or d)",
            "b = c = d",
            "(b < c) and (d > e)",
            "b is c",
            "[1, 2..3, b]",
            "[]",
            "@b.c",
            "nil",
            "b shl 2 shr c << 1",
            "inherited b(c).d",
            "string(b)[1]",
            "specialize b<c>(d)",
            "b ** c >< d",
        )
    ],
    "words": [
        "BEGIN End.",
        "begin &begin := &end; index := name end.",
        "const &a = 1; &nil: b = &true; var &c, &index, &write: d; begin &a.&b := &Begin end.",
        "type a = class read, index: b; end; begin end.",
        "type a = record message, default: b; end; begin c.name := d.stored end.",
    ],
    "numbers": [
        f"begin a := {n}; end." for n in ("1", "1.5", "1e5", "2.5E-3", "$fF", "%101", "&17")
    ],
    "strings": [
        f"begin a := {each}; end."
        for each in ("''", "'it''s'", "'a'#13#10'b'", "#$0D", "'\u00e9'", "'{'")
    ],
    "comments": [
        "{ a { b } c } begin (* a } *) end. // d",
        "// begin\nbegin end.",
        "\r\nbegin\r\nend.\r\n",
        "\ufeffbegin\r// a\rend.",
    ],
}
REFUSED = {
    "files": ["", "begin end", "program begin end.", "unit a; interface end.", "begin end;"],
    "units": ["unit a deprecated platform deprecated; interface implementation end."],
    "declarations": ["const a; begin end.", "var a = b; begin end.", "label; begin end."],
    "constants": ["const a = (b)[c]; begin end.", "const a: t = (1, (b).c); begin end."],
    "types": [
        "type a = array of procedure; cdecl = b; begin end.",
        "var a: array of procedure; register: b; begin end.",
        "var a: array of procedure = b; begin end.",
        "var a: procedure = b; begin end.",
        "type a = record b: array of procedure end; begin end.",
        "type a = ; begin end.",
        "type a = set b; begin end.",
        "type a = array[] of; begin end.",
        "type a = record case of end; begin end.",
        "type a = b<c>; begin end.",
    ],
    "classes": [
        "type a = class b: c end; begin end.",
        "type a = class property b: c read; end; begin end.",
        "type a = class property b[const c]: d read e; end; begin end.",
        "type a = dispinterface ['b'] property c: d writeonly; end; begin end.",
        "type a = dispinterface ['b'] procedure c; dispid; end; begin end.",
        "type a = class property b: c read d; default; end; begin end.",
        "type a = class procedure b; overload; overload; end; begin end.",
        "var a: class end; begin end.",
    ],
    "routines": [
        "procedure; begin end; begin end.",
        "function a; begin end; begin end.",
        "procedure a begin end; begin end.",
        "procedure a(b); begin end; begin end.",
        "procedure a(b, c: d = 1); begin end; begin end.",
    ],
    "statements": [
        "begin a b end.",
        "begin if a then b; else c end.",
        "begin if a b end.",
        "begin case a of end end.",
        "begin for a := 1 do b end.",
        "begin repeat a end.",
        "begin try a end end.",
        "begin on := 1 end.",
        "begin repeat raise until a end.",
        "begin 1 := 2; end.",
        "begin a := ; end.",
        "begin end := 1; end.",
    ],
    "expressions": [
        f"begin a := {each}; end."
        for each in (
            "b +",
            "* b",
            "(b",
            "b)",
            "[b",
            "b..c",
            "b.",
            "b[]",
            "b()(",
            "if b",
            "@",
            "b @ c",
        )
    ],
    "numbers": [f"begin a := {n}; end." for n in ("1.5.2", "1..", "1to 2")],
    "strings": ["begin a := 'b; end.", "begin a := 'b\nc'; end.", 'begin a := "b"; end.'],
    "comments": ["{ begin end.", "{ { } begin end.", "(* begin end."],
}
#: Each with what it shows.
LEFT_OUT = {
    "control characters": "begin a := ^A; end.",
    "assembler": "begin asm end end.",
    "a goto that is a statement of the routine itself, which fcl-passrc has no place for": (
        "label a; begin goto a; end."
    ),
    "a dispinterface without an identity": "type a = dispinterface end; begin end.",
    "helpers of records, for which a mode switch is needed": (
        "type a = record helper for b end; begin end."
    ),
    "generic routines": "generic procedure a<b>; begin end; begin end.",
    "syscall with two numbers": ("unit a; interface procedure b; syscall 1 2; implementation end."),
    "fields after methods": "type a = class procedure b; c: d; end; begin end.",
    "directives of the compiler": "{$mode objfpc} begin end.",
    "what follows the last end": "begin end. a",
}


@pytest.fixture
def free_pascal() -> None:
    if not pascal_judge.is_installed():
        pytest.skip(pascal_judge.MISSING)


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_pascal_has_is_accepted(text):
    assert can_be_written(text, index_of("pascal"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_pascal_has_not_is_refused(text):
    assert not can_be_written(text, index_of("pascal"))


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not can_be_written(text, index_of("pascal"))


@pytest.mark.usefixtures("free_pascal")
def test_free_pascal_says_the_same():
    for texts in ACCEPTED.values():
        assert {text: said for text in texts if (said := pascal_judge.error(text))} == {}
    for name, texts in REFUSED.items():
        by_compiler = [text for text in texts if not pascal_judge.error(text)]
        assert [text for text in by_compiler if not pascal_judge.compiler_messages(text)] == [], (
            name
        )


@pytest.mark.slow
@pytest.mark.usefixtures("free_pascal")
def test_the_compiler_finds_no_syntax_error_either():
    """Names are not declared, so it finds other errors; it reads on after those."""
    for texts in ACCEPTED.values():
        assert {text: said for text in texts if (said := pascal_judge.compiler_error(text))} == {}


@pytest.mark.parametrize(
    "start",
    [
        "function",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("statement", "expression")),
    ],
)
def test_other_start_rules(start):
    texts = {
        "function": (
            "function A(b: C): D; begin A := b end;",
            "procedure A; var b: C; begin end;",
            "begin end.",
        ),
        "statement": ("a := 1", "if a then begin b end", "a; b"),
        "expression": ("a(1) + [2]", "not a", "a := 1"),
    }[start]
    assert [can_be_written(text, index_of("pascal", start)) for text in texts] == [
        True,
        True,
        False,
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("free_pascal")
def test_texts_written_at_random_are_pascal():
    index = index_of("pascal", words=tuple(_WORDS))
    for seed in range(60):
        rng = random.Random(seed)
        guide = cfgguide.Guide(index)
        for byte in rng.choice((b"", b"begin ", b"type a = class ", b"var ")):
            guide.advance(byte)
        for _ in range(rng.randint(1, 60)):
            words = [each for each in guide.allowed_token_ids() if each >= 256]
            guide.advance(int(rng.choice(words or guide.allowed_token_ids())))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        assert not pascal_judge.strict_error(guide.text.decode()), guide.text


_WORDS = [
    *(b"begin ", b"end ", b"if ", b"then ", b"else ", b"case ", b"of ", b"a ", b"b ", b"12 "),
    *(b"procedure ", b"function ", b"property ", b"read ", b"private ", b"virtual ", b"const "),
    *(b":= ", b"; ", b": ", b"( ", b") ", b"[ ", b"] ", b"= ", b", ", b"+ ", b"'c' ", b"try "),
]


def test_tidy_has_no_comments_and_no_endless_space():
    texts = {
        "begin\n    a := 1\nend.": True,
        "begin Write(A) end.": True,
        "BEGIN END.": False,
        "begin {a} end.": False,
        "begin  end.": False,
        "begin\n\n\n\nend.": False,
    }
    assert {text: can_be_written(text, index_of("pascal", tidy=True)) for text in texts} == texts
