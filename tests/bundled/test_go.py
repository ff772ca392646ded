"""The bundled grammar of Go is Go 1.19's, as its specification and go/parser have it.

Verdicts were found by hand, in the specification; where Go is installed it is asked as well.
"""

from __future__ import annotations

import pytest
from support.languages import (
    can_be_written,
    cases,
    index_of,
    judge_of,
    lark_parses,
    random_texts,
)

# Where the texts of a table stand in a file.
FILE = "{}"
DECLARATION = "package p\n{}"
STATEMENT = "package p\nfunc f() {{{}}}\n"
TYPE = "package p\ntype T {}\n"
VALUE = "package p\nvar x = {}\n"


def files(table: dict[tuple[str, str], list[str]]) -> dict[str, list[str]]:
    """Return a table whose texts are whole files."""
    return {
        title: [where.format(text) for text in texts] for (title, where), texts in table.items()
    }


pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = files(
    {
        ("files", FILE): [
            "package p",
            "package p;",
            "\n// a\n/* b */ package p",
            'package p\nimport `x`; import . "y"; import _ "z"; import a "a.b/c-d"',
            'package p\nimport (\n\t"x"\n\ty "y"\n)\nvar x int\n',
            "package p; import (); var (); const (); type ()",
            "\ufeffpackage p",
            "package p\r\n\r\nvar x int\r\n",
            "package p // the end",
        ],
        ("functions", DECLARATION): [
            "func f()",
            "func f() {}; func g() {}",
            "func f(a, b int, c ...string) (x int, err error) { return }",
            "func f(int, string) error {\n\treturn nil\n}\n",
            "func f(\n\ta int,\n\tb []int,\n)\n",
            "func f(a List[int], b [3]int, List [n]int)",
            "func f(List[int], []int, [3]int, pkg.L[a], ...T)",
            "func f(a <-chan int, b chan<- int, c func(int) string)",
            "func (t *T[P]) f()",
            "func (T) f()",
            "func f[P any, Q, R ~int | []string](x P) Q",
            "func f[P *T, Q (T), R [3]T,]()",
            "func f() func() { g() }",
            "func f() (T)",
            "func f() interface{ m() } {}",
        ],
        ("semicolons", STATEMENT): [
            ";;",
            "a(); b()",
            "\n\ta()\n\n\n\tb()\n",
            "a() // b\nb()",
            "a() /*\n*/ b()",
            "a(\n1,\n2,\n)",
            "x := a +\n\tb",
            "x :=\n\n// a\n\nb.\n\tc",
            "return /*\n*/ x",
            "return\nx",
            "if x {\n} else {\n}",
            "for i := 0\ni < n\ni++ {}",
            "L:\n",
            "if x {\n\ta() }",
        ],
        ("statements", STATEMENT): [
            "x := 1",
            "x, y, z := 1, 2, 3",
            "x, y.z, a[0], *p = 1, 2, 3, 4",
            "x += 1; x &^= 2; x <<= 3; a, b |= 4, 5",
            "x++; a.b[c]--; *p++",
            "c <- v; c <- <-d; <-c",
            "f; 1; -x; func() {}(); []int{1}",
            "L: M: for { break L; continue L; goto M }",
            "{ L: }; { M: ; }",
            "go f(); defer func() { g() }(); go f[int](); defer []byte(x)",
            "return; return 1, 2",
            "const a = 1; const (b, c = iota, 2; d, e; g int = 3; h)",
            "var x, y int; var z = 1; var (a int = 1; b = 2;)",
            "type A = B; type (C int; D struct{}; )",
            "{ x := 1 }; {}",
        ],
        ("control", STATEMENT): [
            "if x {} else if y := f(); y {} else {}",
            "if ; x {}",
            "if (T{}) == x {}; if f(T{}) {}; if a[T{}] {}",
            "if []int{} == x {}; if struct{}{} == x {}; if a[b] {}",
            "if func() bool { return T{} == x }() {}",
            "for {}; for x {}; for ;; {}; for i := 0; i < n; i++ {}; for i := 0;; {}",
            "for range x {}; for i := range x {}; for i, j = range x {}",
            "for a.b, c[0] = range []int{1} {}",
            "switch {}; switch x {}; switch ; x {}; switch x := 1; {}",
            "switch x { case 1, 2: a(); b(); case 3: fallthrough; default: c() }",
            "switch x := y.(type) {}; switch f().(type) { case *T: }",
            "switch z := 1; x := y.(type) { case int, []string: f(); case nil: default: }",
            "select {}; select { case x, ok := <-c: case a.b = <-c: f(); case c <- 1: default: }",
        ],
        ("types", TYPE): [
            "int",
            "= pkg.T",
            "[]int",
            "[N]int",
            "[2*N + len(x)]*int",
            "[(a[0])]int",
            "[P any] struct{}",
            "[P, Q any,] []P",
            "[P interface{ *C }, Q *P] int",
            "[P []int | ~string] int",
            "[P func(int), Q <-chan int] int",
            "pkg.List[int, string,]",
            "chan<- <-chan int",
            "<-chan (chan int)",
            "map[[3]int]func()",
            'struct { a, b int `x`; *P; pkg.T; L[int]; *pkg.L[a] "x"; c [3]int; d [n]L[x] }',
            "struct { a struct { b int } }",
            "interface { m(); n(a int) (b string); E; pkg.E; ~int | string; L[int] | M; []int }",
        ],
        ("values", VALUE): [
            "-a + !b * ^c / &d % *e << f &^ g",
            "a == b != c || d && e <= f",
            "a + +b - -c & ^d",
            "T{}",
            "[]T{{1}, {a: 1, b: {2}}, 3: {},}",
            "[...]int{1, 2: 3}",
            'map[string]func(){"a": func() {}}',
            "pkg.T[int, []string]{}",
            "&struct{ a int }{1}",
            "func(a int) (b int) { return a }(1)",
            "(*[]int)(nil)",
            "(<-chan int)(nil)",
            "chan int(nil)",
            "make(<-chan int, 1)",
            "make(map[string]int)",
            "new(func(int) string)",
            "append(a, b...,)",
            "f[[]int](a[i], a[1:], a[:], a[:2:3], a[1:2:3])",
            "a.(*T).b.(func() int)()",
            "struct{}.foo",
            '"a".foo + 1.5.foo',
        ],
        ("numbers", VALUE): [
            *("0", "0777", "0o7", "0B1_0", "0x_1F", "1_000", "08.5", "09i", "1.", ".5", "1E+5i"),
            *("1e1_0", "0x1p5", "0x1.8P-1i", "0x.8p1", "0_7"),
        ],
        ("strings", VALUE): [
            r"'a' + '\'' + '\x41' + '\101' + '\u0041' + '\U0010FFFF' + '\377' + '\ud7ff'",
            "'\"' + '\u00e9' + '\U0001f600'",
            r'"\"a\\\n" + "\'"'.replace(r"\'", "'"),
            '`a\\b\n"`',
        ],
        ("names", STATEMENT): [
            "\u00e9, a\u0663 := 1, 2",
            "\u540d.\U0001d538()",
            "ifx, if\u00e9 := 1, 2",
        ],
        ("comments", STATEMENT): [
            "/**/ a /* b **/ () // c */\n",
            "/* // */ a()",
            "//line\n",
            "// line a:0\n",
        ],
    }
)
REFUSED = files(
    {
        ("files", FILE): [
            "",
            "package",
            "var x int",
            "package p; ;",
            'package p; var x int; import "x"',
            'package p; import "a b"',
            'package p; import ""',
            "package p; x := 1",
            "\ufeff\ufeffpackage p",
            "package p // \ufeff",
            "package p // \0",
            "package p\n\f",
        ],
        ("functions", DECLARATION): [
            "func f()\n{}",
            "func f(a int, string)",
            "func f(a, b []int, [3]int)",
            "func f(,)",
            "func f(a int\n)",
            "func f[]()",
            "func f[P]()",
            "func f[[]P]()",
            "func (t T) f[P any]()",
            "func f() (T) (U)",
            "func f[P any]() { func g() {} }",
        ],
        ("semicolons", STATEMENT): [
            "a() b()",
            "a(1\n)",
            "a(1 /*\n*/)",
            "a(1 // b\n)",
            "x := a\n/ b",
            "if x\n{}",
            "if x {}\nelse {}",
            "x := []int{1\n}",
            "x := []\nint{}",
            "switch x { case 1: a() case 2: }",
        ],
        ("statements", STATEMENT): [
            "x, y.z := 1, 2",
            "(x) := 1",
            "x, y",
            "x, y++",
            "a++b",
            "a +++b",
            "x = a = b",
            "x = ",
            "a, = 1",
            "go f; defer (f())",
            "go a + f()",
            "defer f()[0]",
            "return 1,",
            "fallthrough L",
            "goto 1",
            "const a",
            "const (a = 1; b int)",
            "var x",
            "var (;)",
            'import "x"',
            "func g() {}",
            "L: case",
        ],
        ("control", STATEMENT): [
            "if {}",
            "if x; {}",
            "if x := 1 {}",
            "if T{} == x {}",
            "if x == T[int]{} {}",
            "if x {} else y()",
            "for i := 0; {}",
            "for i := 0; i < n {}",
            "for i, j, k = range x {}",
            "for i, a.b := range x {}",
            "for _, x := range T{} {}",
            "switch x := 1 {}",
            "switch x = y.(type) {}",
            "switch x { a() }",
            "switch x { case []int: }",
            "switch x.(type) { case 1: }",
            "select { case a, b, c = <-d: }",
            "select { case x := 1, 2: }",
            "select { case x++: }",
        ],
        ("types", TYPE): [
            "[a[0]]int",
            "[P] ",
            "[P *C] = int",
            "[P (C)] = int",
            "[P any, []int] int",
            "struct { ; }",
            "struct { a, b }",
            "struct { func() }",
            "struct { a, b [5] }",
            "interface { m[P any]() }",
            "interface { 1 }",
            "func[P any]()",
            "<-chan<- int",
            "map[int]",
        ],
        ("values", VALUE): [
            "[]int",
            "func()",
            "[...]int",
            "(T){}",
            "func(int){",
            "&&b",
            "a & &&b",
            "&^b",
            "a <- b",
            "a...b",
            "f(a..., b)",
            "a[]",
            "a[::3]",
            "a[1:2:]",
            "a[1:2, b]",
            "f[a, 1]",
            "T{,}",
            "T{a: 1 b: 2}",
            "(a, b)",
            "()",
            "a.5",
            "a.if",
            "<-chan int(nil)(a",
        ],
        ("numbers", VALUE): [
            *("08", "0o8", "0b12", "0x", "0xg", "1__0", "1_", "0_8", "1._5", "1_.5", "1e", "0x1.8"),
            *("0x.p1", "0x1_.8p1", "0b1.5", "0b1e3", "1a", "1.2.3"),
        ],
        ("strings", VALUE): [
            *("''", "'ab'", "'''", "'\n'", r"'\"'", r'"\'"', r"'\400'", r"'\uD800'", r"'\xg1'"),
            *(r"'\U00110000'", r"'\U0000D800'", r'"\q"', '"a', '"\n"', "`a", '"\0"', "`\ufeff`"),
        ],
        ("names", STATEMENT): [
            "\u2160 := 1",
            "x\u00b2 := 1",
            "e\u0301 := 1",
            "a$b := 1",
            "if := 1",
        ],
        ("comments", STATEMENT): [
            "/* a",
            "a /* b",
            "/* /* */ */",
            "\n//line a:0\n",
            "/*line a:b*/",
        ],
    }
)
#: What go/parser takes, and the head of the grammar lists.
LEFT_OUT = files(
    {
        ("departures", DECLARATION): [
            "//line a.go:1",
            r'import "\x61"',
            'import "\u00e9"',
            "type T[P *C, Q any] int",
            "type T[P (C),] int",
            "var x = map[a]b.c.d",
        ],
        ("go/parser's own", DECLARATION): [
            "var x = a.(type)",
            "var x [...]int",
            "var x = f().x{}",
            "var x = a.b.c{}",
            "var x = a[[]int:]",
            "var x = f(a, []int)",
            "var x = f()[a, b]",
            "type T struct { (A) }",
            "type T struct { *(A) }",
            "func f() { goto }",
            "var x = ~y",
        ],
    }
)
WORDS = (b" {\n", b"}\n", b"func ", b" := ", b"if ", b"type ", b"[]int", b"<-", b"//", b"struct{")


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_go_has_is_accepted(text):
    assert lark_parses(text, "go")
    assert can_be_written(text, index_of("go"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_go_has_not_is_refused(text):
    assert not lark_parses(text, "go")
    assert not can_be_written(text, index_of("go"))


@pytest.mark.parametrize("text", cases(LEFT_OUT))
def test_what_is_left_out_is_refused(text):
    assert not lark_parses(text, "go")


def test_go_says_the_same():
    error = judge_of("go").error
    for texts in (*ACCEPTED.values(), *LEFT_OUT.values()):
        assert [(text, error(text)) for text in texts if error(text)] == []
    for texts in REFUSED.values():
        assert [text for text in texts if not error(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("start", ["statement", "expression"])
def test_other_start_rules(start):
    texts = {
        "statement": ("x := 1", "\nfor i := range x {\n}\n", "x := 1\ny := 2"),
        "expression": ("f(1) +\n\tT{2}", "func() {}", "x := 1"),
    }[start]
    index = index_of("go", start)
    assert [can_be_written(text, index) for text in texts] == [True, True, False]


@pytest.mark.slow
def test_texts_written_at_random_are_go():
    error = judge_of("go").error
    for text in random_texts(index_of("go", words=WORDS), 100):
        assert not error(text), text


def test_a_tidy_function_has_no_comments_and_no_endless_space():
    texts = {
        "func f(a int) int {\n\treturn a\n}\n": True,
        "func (t T) f()": True,
        "func f() {\n}\nfunc g()": False,
        "x := 1": False,
        "func f() // a": False,
        "func  f()": False,
        "func f() {\n\n\n\n}": False,
    }
    index = index_of("go", "function", tidy=True)
    assert {text: can_be_written(text, index) for text in texts} == texts
