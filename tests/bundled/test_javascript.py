"""The bundled grammar of JavaScript is strict ECMAScript 2023's, as acorn has it.

Verdicts were found by hand, in the specification; where acorn is installed it is asked as well.
"""

from __future__ import annotations

import pytest
from support import javascript_judge
from support.languages import can_be_written, cases, index_of, lark_parses

pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = {
    "files": ["", "\ufeffa", "#!/usr/bin/node\na", "a\r\nb", "a\u2028b"],
    "line breaks": [
        "a\nb",
        "x = a\n(b)",
        "a\n++b",
        "a /* \n */ b",
        "if (a) b\nelse c",
        "do x++; while (x < 5) y",
        "do do a(); while (b); while (c)",
        "if (a) do b(); while (c); else d()",
        "do a()\nwhile (b)\n; c",
        "function f() { return\na }",
        "var f = function() {}\nb",
    ],
    "expressions": [
        "a ** b ** c",
        "(-a) ** b",
        "a ?? b ?? c",
        "x?.y?.[z]?.(w)",
        "new X(1).y()",
        "a / b / c",
        "/re[/]x/gi.test(s)",
        "/a/uy.b / /c/yusmigd / d",
        "`a${b}c${`d`}`",
        "1..toString()",
        "x = 1_000n",
    ],
    "patterns": [
        "[a, b] = [b, a]",
        "({a} = b)",
        "let {a, b: [c = 1], ...d} = e",
        "[a.b, c[0], ...d.e] = f",
        "({x: a.b = 1} = c)",
        "(a) = 1",
        "[(a)] = b",
        "for (let {length} = a;;) {}",
    ],
    "generators": [
        "function* f() { yield 1; yield* g(); x = yield\ny }",
        "a = {*b() { yield }, async *c() { yield await d }}",
        "async function* f() { for await (const a of b) c() }",
    ],
    "arrow functions": [
        "f(x => x + 1)",
        "f((a, {b}, [c] = [], ...d) => { return a })",
        "f(async (x) => await x)",
        "f(async x => x)",
    ],
    "statements": [
        "for (let i = 0; i < n; i++) f(i)",
        "for (const x of y) z()",
        "for (const k in o) {}",
        "switch (a) { case 1: b\nbreak; default: c }",
        "try { a() } catch { b } finally { c }",
        "label: for (;;) { continue label }",
    ],
    "classes": [
        "class A extends B { #x = 1; static y; get z() { return this.#x } }",
        "class A { constructor() { this.a = 1 }\nasync m() {} }",
        "class A { static { a() } #b; c(d) { return #b in d } }",
        "class A { a() {} return }",
        "class A { get a() {} import\nstatic {} default\nasync *b() {} static }",
        "class A { get .5() {} static\n.5\nasync 1() {} }",
    ],
    "modules": ["import a, {b as c} from 'd'", "export default class {}", "export * from 'a'"],
    "names": ["\u00e9t\u00e9 = 1", "of = get + set", "a.if.class"],
}
REFUSED = {
    "line breaks": ["a b", "throw\na", "a\n=> b", "for (a\nb) c"],
    "expressions": [
        "-a ** b",
        "a ?? b || c",
        "new a?.b()",
        "a?.b = 1",
        "a?.`x`",
        "1.toString()",
        "x = /a/gig",
    ],
    "patterns": ["x = {a = 1}", "[a + 1] = b", "let [a]", "const a"],
    "arrow functions": ["(a + 1) => x", "(a.b) => x", "(...a, b) => x"],
    "statements": [
        "return",
        "do a(); while (b); ; else c",
        "if (a) let x",
        "while (a) class A {}",
        "{a: 1, b: 2}",
    ],
    "functions": ["function f() { await x }", "function f(a, ...b,) {}", "function () {}"],
    "generators": ["function f() { yield 1 }", "x = function*() { yield\n* 2 }"],
    "modules": ["import a from b", "import {if} from 'x'", "export {if}"],
    "words": ["3in x", "'a", "if = 1"],
}
LEFT_OUT = [
    "async(a)",
    "\\u0061 = 1",
    "for (a\nof b) c",
    "a\u0301 = 1",
    "let a\n(b)",
    "x = () => {}\n[b]",
    "class A { a\n[b]() {} }",
    "'\\8'",
]


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_javascript_has_is_accepted(text):
    assert can_be_written(text, index_of("javascript"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_javascript_has_not_is_refused(text):
    assert not can_be_written(text, index_of("javascript"))


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not can_be_written(text, index_of("javascript"))


@pytest.mark.skipif(javascript_judge.PROGRAM is None, reason=javascript_judge.REASON)
def test_acorn_says_the_same():
    for texts in ACCEPTED.values():
        assert [text for text in texts if javascript_judge.error(text)] == []
    for texts in REFUSED.values():
        assert [text for text in texts if not javascript_judge.error(text)] == []


@pytest.mark.parametrize("start", ["module", "function", "statement", "expression"])
def test_other_start_rules(start):
    texts = {
        "module": ("export const a = 1", "import 'a'", "a b"),
        "function": ("function f(a) { return a }", "async function f() { await g() }", "a = 1"),
        "statement": ("a = 1;", "for (;;) {}", "a; b"),
        "expression": ("f(1) + {}", "x => x", "a;"),
    }[start]
    assert [lark_parses(text, "javascript", start) for text in texts] == [True, True, False]


def test_functions_are_written():
    index = index_of("javascript", "function")
    texts = ("function f(a) { return a }", "async function f() { await g() }", "a = 1")
    assert [can_be_written(text, index) for text in texts] == [True, True, False]


def test_tidy_has_no_comments():
    texts = {"a = 1\n  b": True, "a = 1 // b": False, "a /* b */": False}
    assert {
        text: can_be_written(text, index_of("javascript", tidy=True)) for text in texts
    } == texts
