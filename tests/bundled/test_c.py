"""The bundled grammar of C is C11's with the spelling of types, as pycparser and gcc have it.

Verdicts were found by hand, in the standard; where both judges are installed they are asked too.
"""

from __future__ import annotations

import pytest
from support import c_judge
from support.languages import can_be_written, cases, index_of, random_texts

pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = {
    "units": ["", ";", "int x;", "int x;;", "int f(void) { return 0; } int y;"],
    "declarations": [
        "int x, *y = 0, z[3];",
        "const unsigned long int long x;",
        "static inline const char *f(void);",
        "struct s;",
        "struct s { };",
        "struct s { int a, b : 3; unsigned : 0; const struct t *t; } x, y[2];",
        "struct { union { int a; float b; }; int size_t; } x;",
        "union u { int; }; struct s { const x_t; volatile int; int; int a; };",
        "enum e { A, B = 2, C, };",
        "enum e x;",
        '_Static_assert(1, "a" "b"); _Static_assert(1);',
        "_Alignas(8) _Alignas(int) int x;",
        "_Atomic(int) x; _Atomic int y; int * _Atomic z;",
        "extern _Thread_local int x; _Noreturn void f(void);",
        "int x[] = { 1, [3] = 2, [4][1].a = { 5, }, };",
        "struct s x = { .a = 1, .size_t[0] = 2 };",
        "int x[2] = {};",
    ],
    "types": [
        "size_t x; FILE *f; my_t y; va_list z; bool b;",
        "typedef struct node { struct node *next; } node_t, *nodes_t;",
        "const typedef int (*call_t)(int, ...);",
        "typedef unsigned long size_t;",
        "int x = (size_t) * y + sizeof(FILE) + sizeof x + _Alignof(size_t);",
        "struct size_t { int FILE; } x; int y = x.FILE + z->size_t;",
    ],
    "declarators": [
        "int (*f)(void), *(*g[3])(int, char *), (h)(void);",
        "int f(int, char [], int (*)(int), int (*[3])(void), int (int), int ());",
        "int f(register const int x, size_t (x), size_t (size_t));",
        "int f(int n, int x[static 3], int y[const], int z[*], int w[const restrict static n]);",
        "int x[(*p)];",
        "void (*signal(int sig, void (*func)(int)))(int);",
        "int x = sizeof(int (*(*)[3])(void)) + (int (*)())0;",
        "int f(a, b);",
    ],
    "parameters that are called as types are": [
        "int f(x_t x_t); int g(int a, const x_t *const x_t[3], ...);",
        "int f(int x_t, unsigned a, struct x_t *b, enum e, char x[], int y[n], int (*g)(int));",
        "int f(x_t x_t(x_t)); x_t y;",
        "void f(int (*g)(x_t x_t), x_t a) { x_t b; }",
        "int (*f(int a))(x_t x_t) { x_t b; }",
        "typedef int (*f_t)(x_t x_t, void *); struct s { f_t (*f)(f_t f_t); };",
        "int x = sizeof(int (x_t x_t)) + (int (*)(x_t x_t))0;",
        "int f(x_t (x_t)), g(x_t x_t), h(x_t a);",
    ],
    "functions": [
        "int (f)(void) { }",
        "int *f(a, b) int a; register char *b; { return a; }",
        "void (*f(int x))(int) { }",
        "struct s { int a; } f(void) { }",
        "size_t f(size_t n) { return n; }",
    ],
    "statements": [
        f"void f(void) {{ {text} }}"
        for text in (
            "if (a) b; else if (c) d; else ;",
            "if (a) if (b) c; else d;",
            "for (;;) { } for (i = 0; i < 1; i++) ; for (int i = 0, j; i < 1; ) ;",
            "do x++; while (x); while (x) { int y; x--; }",
            "switch (x) { case 1: case A + 2: break; default: continue; }",
            "goto a; a: b: ; return; return 1, 2;",
            "size_t * y; x * y; x_t y = 1; { typedef int y_t; y_t z; }",
            'int a; a = 1; struct s b; enum { A } c; _Static_assert(1, "");',
        )
    ],
    "expressions": [
        f"int x = {text};"
        for text in (
            "a ? b, c : d ? e : f",
            "a+++b - - -c",
            "a = b += c <<= 2",
            "a || b && c | d ^ e & f == g != h <= i >> j + k * l / m % n",
            "*&a->b.c[1](2, 3)++",
            "(int)(size_t)~-!+x",
            "(struct s){ .a = 1, 2, }.a",
            "sizeof (int){1} + sizeof(int) * 2",
            "_Generic(x, int: 1, const char *: 2, default: 3)",
            "__builtin_va_arg(list, int *)",
            "__func__[0]",
            "++*--x",
            "a / *b",
        )
    ],
    "constants": [
        f"int x = {text};"
        for text in (
            "0 + 017 + 0xFFuLL + 1lu + 1ull + 0xE + 0b101 + 0B1u",
            "1. + .5f + 1e-5L + 08.5 + 0x1.8p3 + 0x.8P-1f",
            r"'a' + '\'' + 'ab' + '\377' + '\x41' + '\e' + L'a' + u'\n' + U'a'",
            r'"a\n\x41\101\"" "b" + L"a" "b" + "a" u8"b" + u"\u00e9" + U"a"',
            '"\u00e9\U0001f600\t"',
            '"??/" + "/*" + "//"',
            "0xe + 1 - 0xEu+1",
        )
    ],
    "pragmas": [
        "#pragma once\n",
        "#pragma x",
        '\n# \tpragma pack(push, 1) "a\\"b" \'c\'\nint x;\n#pragma\n',
        "struct s {\n#pragma x\nint a;\n#pragma y / 2\n};",
        "void f(void) {\n#pragma x\nint a; a = 1;\n#pragma GCC diagnostic pop\n}",
    ],
    "words that begin like others": ["int integer, L, u8, size_type, _tt, t_, _T;"],
    "white space": [" \t\f\v\nint\fx\v;\n"],
}
REFUSED = {
    "units": ["x", "int", "{}", "int x", "}", "int f(void) { }; x"],
    "declarations": [
        "x;",
        "static x;",
        "int;",
        "struct;",
        "struct s int };",
        "struct s { int x = 1; };",
        "enum e { };",
        "enum { A B };",
        "int x = ;",
        "int x y;",
        "int x[[1]];",
        "struct s int x;",
        "int struct s x;",
        "int size_t x;",
        "int x = { , };",
        "int x[] = { [1] 2 };",
        '_Static_assert(1, L"a")',
        "int x, ;",
    ],
    "types": [
        "other y;",
        "typedef int;",
        "int y = (other) 1;",
        "int y = size_t;",
        "int y = sizeof(size_t) y;",
        "void f(void) { size_t; }",
        "void f(void) { goto size_t; }",
    ],
    "declarators": [
        "int f(int, );",
        "int f(...);",
        "int f(int ..., int);",
        "int x[1;",
        "int *f(*);",
        "int x[*p];",
        "int (x;",
        "int f(int)(;",
        "int f(typedef int x);",
        "int f(x_t x_t, x_t y);",
        "int f(int x_t[x_t]);",
        "int f(int (*x_t)(void));",
        "int f(int x_t, int y[x_t]);",
        "void f(x_t x_t) { x_t y; }",
        "int x = sizeof(int x);",
    ],
    "functions": [
        "int f { }",
        "int f[3] { }",
        "int (*f)(void) { }",
        "int f(void), g(void) { }",
        "typedef int f_t(void) { }",
        "int f(void) return 1;",
        "int f(void) = { };{ }",
    ],
    "statements": [
        f"void f(void) {{ {text} }}"
        for text in (
            "x",
            "if a b;",
            "else ;",
            "for (;) ;",
            "for (int i) ;",
            "do x; while (x)",
            "case: ;",
            "goto ;",
            "return int;",
            "if (int x) ;",
            "while (x) int y;",
            "switch (x) { case 1 ... 2: ; }",
            "x:",
            "switch (x) { case 1: default: }",
            "x: int y;",
        )
    ],
    "expressions": [
        f"int x = {text};"
        for text in (
            "a ? : b",
            "a ++ b",
            "a.1",
            "a->",
            "f(1,)",
            "a[]",
            "(int) ",
            "++",
            "a =",
            "sizeof",
            "_Generic(x)",
            "a ++ ++ b",
            "a/*b",
            "int",
        )
    ],
    "constants": [
        f"int x = {text};"
        for text in (
            "08",
            "0x",
            "1ulul",
            "1lL",
            "1e",
            "0x1.8",
            "1.2.3",
            "0xE+1",
            "0b",
            "0b2",
            "0b1.0",
            "''",
            "'abcde'",
            "L'ab'",
            "'\n'",
            "'a",
            '"a',
            r'"\x"',
            r'"\ud800"',
            r'L"a" u"b"',
            '"a\nb"',
        )
    ],
    "pragmas": [
        "#pragma",
        "#pragmas\n",
        " #pragma x\n",
        "int x; #pragma x\nint y;",
        "#pragma x /* y\n",
        "int x = \n#pragma x\n1;",
    ],
    "words": ["int for;", "int __attribute__;", "int restrict;", "int 1x;", "int x-y;"],
    "white space and the like": [
        "\ufeffint x;",
        "int x;\r\n",
        "int x; // a",
        "/* a */",
        "int \u00e9;",
    ],
}
WORDS = (b"int ", b"size_t ", b"struct ", b"(*", b") {", b"; ", b" = ", b"->", b"if (", b"typedef ")
LEFT_OUT = [
    "void f(void) { if (a)\n#pragma x\nb; }",
    "int x = ({ 1; });",
    '# 1 "a.c"\n',
    "main() { }",
    "int typedef x_t;",
    "int x = '\u00e9';",
    "int f(static int x);",
    "int f(x_t x_t, y_t y);",
    "int f(x_t x_t) { }",
    "int f(int x_t, int (*g)(x_t));",
    "int x$y;",
]


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_c_has_is_accepted(text):
    assert can_be_written(text, index_of("c"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_c_has_not_is_refused(text):
    assert not can_be_written(text, index_of("c"))


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not can_be_written(text, index_of("c"))


judged = pytest.mark.skipif(
    c_judge.PROGRAM is None, reason="pycparser, of PyPI, or gcc is not installed"
)


@pytest.mark.slow
@judged
def test_the_judges_say_the_same():
    for texts in (*ACCEPTED.values(), LEFT_OUT):
        assert [(text, c_judge.error(text)) for text in texts if c_judge.error(text)] == []
    for texts in REFUSED.values():
        assert [text for text in texts if not c_judge.error(text)] == []


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(each, marks=pytest.mark.slow)
        for each in ("function", "statement", "expression")
    ],
)
def test_other_start_rules(start):
    texts = {
        "function": ("int f(int a) { return a; }", "static size_t *f() { }", "int x;"),
        "statement": ("x = 1;", "for (int i = 0; i < 2; i++) { }", "int x;"),
        "expression": ("f(1) + x[2]", "(size_t) x ? 1 : 2", "x = 1;"),
    }[start]
    assert [can_be_written(text, index_of("c", start)) for text in texts] == [True, True, False]


@pytest.mark.slow
@judged
def test_texts_written_at_random_are_c():
    for text in random_texts(index_of("c", words=WORDS), 60):
        assert not c_judge.error(text), text


def test_tidy_has_no_endless_space():
    texts = {
        "int f() {\n\n  int y; }": True,
        "int  f() {}": False,
        "int\tf() {}": False,
        "int f() {\n\n\n\nint y; }": False,
    }
    tidy = index_of("c", "function", tidy=True)
    assert {text: can_be_written(text, tidy) for text in texts} == texts
