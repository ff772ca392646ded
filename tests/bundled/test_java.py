"""The bundled grammar of Java is Java 17's, as its specification and javac's parser have it.

Verdicts were found by hand, in the specification; where a JDK is installed it is asked as well.
"""

from __future__ import annotations

import pytest
from support import java_judge
from support.languages import can_be_written, cases, index_of, lark_parses


def _in_a_method(statements: str) -> str:
    return f"class A {{ void m() {{ {statements} }} }}"


def _value(expression: str) -> str:
    return _in_a_method(f"x = {expression};")


pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = {
    "files": [
        "",
        ";",
        "@A package a.b; import a.b; import static a.b.*; class C {}",
        "open module a.b { requires transitive static c; exports d to e, f; }",
        "class A {} interface B {} enum C {} @interface D {} record E() {}",
        "@A module m.n {}",
        "import a.b; @A(1) @B open module m\n{}",
        "module record.yield { requires static transitive; requires transitive.a; opens var; }",
        "package var.a; import record.a.B; import static yield.sealed.*; @permits.A class B {}",
    ],
    "classes": [
        "class A<@B T extends C & D<E>> extends F<G>.H implements I, J<K[]> {}",
        "public sealed abstract class A permits B, C {}",
        "abstract non-sealed class A {}",
        "class A { static { } { } ; A() { this(1); } <T> A(T... a) { super(); } }",
        "class A { int a, b[] = {1, 2,}, c = 1; final @B static public int d; }",
        "class A { int f(@B C a, @D int b) {} }",
        "class A { int f(A this, final int b[])[] throws B, C; native void g(); }",
        "interface A { int x = 1, y = 2; default void f() {} private void g() {} }",
        "@interface A { int x() default 1; int[] y() default {}; }",
        "enum A implements B { C(1) { int x; }, @D E, ; int y; A(int z) {} }",
        "enum A {,}",
        "enum A { X,; }",
        "record A<T>(@B int a, int... b) implements C { A { } static int c; }",
        "class A { void yield() {} int record, sealed, var; int permits() {} }",
        "class A { <T> @B T f() {} <T> @B @C(1) void g() throws @D E.@F G, record.H {} }",
        "class A { void f(int @B ... x) {} void g(final A<B>[] @C [] @D ... x) {} }",
        "record A(B.@C D @E ... x) {}",
        "class A { @B module m; @B open o; @B <T> T f() {} record.B c; final yield.D<var.E> f; }",
        "class A extends record.B implements var.@C D<permits.E<F>> {}",
        "class A { int \u20ac, \xa3\u0301, \U00010400, n\xe9, \u2040, \u2167; }",
        "class A { int int\u20ac, a\u0663, a\u200db; }",
    ],
    "statements": [
        _in_a_method(each)
        for each in (
            "A<B>[] c[] = null, d; a.b.C<D>.E f; a[] g = {1}; a<b<c<d>>> e; A b;",
            "a[0]++; a.b[0].c = 1; new A<>() {}.b(); a.new B(); (a).b(); --a;",
            "for (;;); for (var x : y); for (final A<B> x : y); for (i++, j--; ; f()) ;",
            "try (a.b; this.c; final A a = b;) { } try { } catch (final A | B c) { } finally { }",
            "if (a) if (b); else; else; do a(); while (b); b: while (c) break b;",
            "switch (a) { case 1, 2 -> b(); case (c) -> { } default -> throw d; }",
            "switch (a) { case 1: case 2: b(); int c; default: }",
            "class B { } final class C { } record D(int a) { } enum E { F } interface G { }",
            "synchronized (a) { } assert a : b; return; throw a; yield -1; ;",
            "var a = 1; record = 1; record(1); sealed.x(); int var;",
            "record.A a; sealed.B<C> d = e; A.@B C d; A<B>.@C D e; A.B.@C D<E>[] f;",
            "yield = 1; yield.a(); yield[0]++; yield++; yield: for (;;) break yield;",
            "yield yield; yield ++a; yield .5; yield 'a'; yield new A();",
            "for (int a[] : b); for (final A.B a @C [] : b); try (A a[] = b) {} catch (C d[]) {}",
        )
    ],
    "expressions": [
        _value(each)
        for each in (
            "(a) - b",
            "(A) (b)",
            "(A<B>) c",
            "(int) -x",
            "(A) !b",
            "(A[]) b",
            "(A) b -> c",
            "(A & B) c",
            "(A & B.C & D) () -> e",
            "(A<B> & C<D>) e",
            "(A & B<C>) this",
            "(A & B & @C D) e",
            "(a & b) - c",
            "(a & b & c == d) & e & f",
            "(a & b[0]) & (c | d & e)",
            "(List<Map<A, B>>) c",
            "(Map<A, B>) c",
            "a < b",
            "f(a < b, c > d)",
            "a < b >> c",
            "a >>> b >= c",
            "A<B>::new",
            "int[]::new",
            "a.b::<T>c",
            "A.super::b",
            "a.<T>b()",
            "int[].class",
            "void.class",
            "() -> {}",
            "(a, b) -> c",
            "(int a, final A<B> c) -> d",
            "(A<B> a) -> c",
            "(@A B c) -> 1",
            "(var a, var b) -> 1",
            "a ? b : c -> d",
            "a instanceof final B c && d",
            "a instanceof B<C> ? d : e",
            "switch (b) { case 1: yield 2; default: throw x; } + 1",
            "switch (b) { case A -> 1 + 2; default -> x -> y; }",
            "new int[3][]",
            "new int[]{1}[0]",
            "new a.B<C>.D<>(1) { int e; }",
            "- - a - -b",
            "a = b += c",
            "@A B::new",
            "f(@A a.b.C::d, @A int[]::new, @A B[]::new)",
            "a ? @A B::c : @D E::f",
            "(A.@B C) d",
            "(A.@B C<D> & E.@F G) h",
            "(A<@B C>) d",
            "(A<\xc9<\u20ac>>) d",
            "(final var a, @B var c) -> d",
            "(A @B [] @C ... d) -> e",
            "(@A B.@C D @E... f) -> g",
            "a.new <B>@C D<E>()",
            "new record.A<>()",
            "yield + yield.a - (yield)",
            "(yield, a) -> yield",
            'switch (a) { case record.b, yield -> 1; case (String) "c", (A) (d) -> 2; }',
        )
    ],
    "literals": [
        _value(each)
        for each in (
            "2147483647",
            "-2147483648",
            "9223372036854775807L",
            "0x7fff_ffff",
            "037777777777",
            "0b1__1",
            "1.",
            ".5e-3f",
            "0x1.8p3",
            "1D",
            "09.5",
            r"'\''",
            r"'\u0041'",
            "'\u00e9'",
            r'"\s\0\377\400\uu0041"',
            r'"\\user"',
            r'"\u005ct\u005c\u005c\uu005c\u0022\u005c101"',
            r'"\u005c\"',
            r"'\u005c''",
            r"'\u005c3\u00377'",
            r'"""' + "\n" + r'\u005c""" \u005cn"""',
            '"""\n a "" \\""" b\\\n"""',
        )
    ],
    "comments and space": ["/**/ class A {} // \\\\u", "class\r\nA\f{\t}/* * / \u00e9 */"],
}
REFUSED = {
    "files": [
        "import a;",
        "import a.b",
        "class A {} package b;",
        "\ufeffclass A {}",
        "int x;",
        "class A {} }",
        "@A module m;",
        "@A open m {}",
    ],
    "classes": [
        "class A extends B, C {}",
        "class A permits B {}",
        "class A { public static public int x; }",
        "class A { int x }",
        "class var {}",
        "class A { var x; }",
        "class A { int f(int... a, int b) {} }",
        "interface A { int x; }",
        "interface A { { } }",
        "interface A { A() {} }",
        "record A { }",
        "record A() { int b; }",
        "enum A { B,, C }",
        "class A { public { } }",
        "class A { void f()[] {} }",
        "class A { void f() throws B<C> {} }",
        "class A { <T> @B public void f() {} }",
        "class A { void f(int... @B x) {} }",
        "class A { int \u00a7; }",
        "class A { int \u0663; }",
    ],
    "statements": [
        _in_a_method(each)
        for each in (
            "a;",
            "a + b;",
            "a == b;",
            "if (a) int x;",
            "try { }",
            "try (f()) { }",
            "else;",
            "static class B { }",
            "final @A final int a;",
            "switch (a) { int x; }",
            "switch (a) { case 1 -> a + 1; }",
            "new int[3];",
            "goto a;",
            "int class;",
            "void x;",
            "yield int[].class;",
            "yield -> a;",
            "yield ? a : b;",
            "yield();",
            "@A B::c;",
        )
    ],
    "expressions": [
        _value(each)
        for each in (
            "",
            "a b",
            "(A) ++x",
            "(A & B) ++x",
            "(A & 1) b",
            "(A & record) b",
            "new int[]",
            "new int[3]{1}",
            "new A<>[3]",
            "(var a, int b) -> 1",
            "(a, int b) -> 1",
            "a -> ",
            "_",
            "a.1",
            "switch (a) { default -> 1; }.b()",
            "a +",
            "a ? b",
            "int @B [].class",
            "A @B [].class",
            "A[] @B [].class",
            "A<B> @C [] :: new",
            "A.@B C::new",
            "@A B.@C D::new",
            "(A) @B C::new",
            "a.new b.C()",
            "(final var a, b) -> c",
            "(var... a) -> b",
            "yield()",
        )
    ],
    "literals": [
        _value(each)
        for each in (
            "2147483648",
            "+2147483648",
            "9223372036854775808L",
            "0x1ffffffff",
            "08",
            "0b2",
            "0x_1",
            "1_",
            "1e400",
            "1e-400",
            "1e39f",
            "''",
            r"'\q'",
            r'"\u12"',
            r'"\u005cq"',
            r'"\u005cu0041"',
            r'"\u005c\""',
            r"'\u005c477'",
            r"'\u005c'",
            '"a',
            '"a\nb"',
            '"""a"""',
        )
    ],
    "comments and space": ["/* ", "/*/", "class A {} // \\u", "class A\u00a0{}"],
}
LEFT_OUT = [
    r"cl\u0061ss A {}",
    "class A {}\x1a",
    "class A { public private int x; }",
    _in_a_method("f() = 1;"),
    _in_a_method("yield (1);"),
    _in_a_method("var x;"),
    _value(r'"a\u0022'),
    _value("(A</* b */B>) c"),
    _value("@A B::c + 1"),
    _value("@A B<C>::d"),
    _value("(A[] & B) c"),
    _value("1..a"),
    "class A extends sealed.B {}",
    "@/**/interface A {}",
    "sealed enum A {}",
    _value("f(a < b, c<d)"),
    _value("1_0.5"),
]


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_java_has_is_accepted(text):
    assert lark_parses(text, "java")
    assert can_be_written(text, index_of("java"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_java_has_not_is_refused(text):
    assert not lark_parses(text, "java")
    assert not can_be_written(text, index_of("java"))


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not lark_parses(text, "java")


@pytest.mark.skipif(java_judge.PROGRAM is None, reason="openjdk-17-jdk-headless is not installed")
def test_javac_says_the_same():
    for texts in (*ACCEPTED.values(), LEFT_OUT):
        assert [text for text in texts if java_judge.error(text)] == []
    for texts in REFUSED.values():
        assert [text for text in texts if not java_judge.error(text)] == []


@pytest.mark.skipif(java_judge.PROGRAM is None, reason="openjdk-17-jdk-headless is not installed")
def test_a_constructor_may_have_another_name_than_its_class():
    for text in ("class A { B() { } }", "enum A { C; B(int d) { } }"):
        assert java_judge.error(text) is None
        assert lark_parses(text, "java")


@pytest.mark.skipif(java_judge.PROGRAM is None, reason="openjdk-17-jdk-headless is not installed")
def test_the_judge_sees_a_wrong_syntax_behind_many_such_constructors():
    assert java_judge.error("class A { " + "B() { } " * 20 + "int }")


@pytest.mark.parametrize("start", ["function", "class", "statement", "expression"])
def test_other_start_rules(start):
    texts = {
        "function": ("public int f(int a) { return a; }", "<T> void g() throws A {}", "int x;"),
        "class": ("class A { }", "public record A(int b) { }", "int x;"),
        "statement": ("x = 1;", "for (;;) { }", "int x;"),
        "expression": ("f(1) + (A) b", "(a, b) -> c", "x;"),
    }[start]
    assert [lark_parses(text, "java", start) for text in texts] == [True, True, False]
    if start in ("function", "statement"):  # of each a first mask takes seconds
        index = index_of("java", start)
        assert [can_be_written(text, index) for text in texts] == [True, True, False]


def test_tidy_has_no_comments_and_no_endless_space():
    texts = {
        "class A {\n\n    int x;\n}": True,
        "class A { } // a": False,
        "class  A { }": False,
        "class A {\n\n\n\n}": False,
    }
    assert {text: can_be_written(text, index_of("java", tidy=True)) for text in texts} == texts
