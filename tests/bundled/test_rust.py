r"""The bundled grammar of Rust is Rust 2021's, as rustc's parser has it.

Verdicts were found by hand, in the Rust Reference; where rustc is installed it is asked as well.
"""

from __future__ import annotations

import pytest
from support import rust_judge
from support.languages import can_be_written, cases, index_of, judge_of, lark_parses, random_texts

CHAIN = "while a && let B = c {}"  # which 2024 has
#: Statements and expressions, which stand in a function.
BODIES = {
    "statements": [
        "",
        ";;",
        "let x;",
        "let (mut a, ref b): (u8, _) = c;",
        "fn g() {} struct S; use a::b; x",
        "let Some(x) = f() else { return };",
        "let x = &a.b[0] else { panic!() };",
        "#[a] let x = 1; #[b] x",
        "union U { x: u8 } union = 1; auto.raw(default, safe);",
    ],
    "blocks end statements": [
        "{1} -1; match x {} (a); if a {} [0]",
        "if a {}.b() + 1; match x {}?",
        "unsafe {} 1",
        "m!{} 1",
        "-{a} + 1;",
        "x = {a}(2);",
    ],
    "conditions": [
        "if x == S {} {}",
        "if (S {}) == x {}",
        "if let A | B = f(S {}) {} else if x {} else {}",
        "while let Some(x) = a.pop() {}",
        "for i in a.. {}",
        "for (i, x) in 0..=n {}",
        "match x = y {}",
        "if x as T {}",
    ],
    "operators": [
        "a + b * c << d & e | f ^ g % h / -!*i",
        "a < b && c == d || e >= f",
        "a = b = c; a += b; a >>= b",
        "&&a; & &mut b; &raw const c; &raw mut d; &raw",
        "a..; (..); a..=b; (..b)",
        "a as u8 as u16 + 1 > c",
        "x as usize <= y; x as Vec<u8> >> 2",
        "a - -1; a && &b; a & &&b",
    ],
    "postfix": [
        "a.b(c)[d]?.await.0.1.e::<f>()",
        "Vec::<Vec<u8>>::new(); <T as A<B>>::C::f(); <<T>::A>::B",
        "1.max(2); 1.0.sqrt(); 1.; 1..2",
        "x.01; x.1_0; x.00.0_1.f(); x.0.01; S { 01: 1, 0_1: 2 }; let S { 00: a } = b;",
        "Fn::(i32); A::(B)::C; A::(B, C,) { d }",
    ],
    "closures": [
        "|x| x + 1; || 1; move |(a, b): (u8, u8), _| -> u8 { a }; async move |x| x",
        "a = |x| b == c; a || |x| b; x == |y| y == z",
        "return |x| x; return; break; break 'a; break 'a 1; x || return y",
    ],
    "loops": [
        "'a: loop { break 'a; } 'b: { break 'b {} } while a {} x",
        "continue 'a",
        "'r#a: loop { break 'r#a; continue 'r#fn; }",
    ],
    "structs": ["S { a, b: 1, 0: c, ..d }", "a::S::<T> {}", "S { ..} = x", "(a, _) = b"],
    "arrays": ["[1, 2,]; [0; 3]; []; (a,); (); (a)"],
    "matches": [
        "match x { A | B if c => 1, 1..=9 => {} _ => m!(), }",
        "match x { | &mut A { b, ref c, .. } => unsafe {}.d, [a, .., b @ ..] => () }",
        "match x { a if let Some(b) = c => {}, -1 | i32::MIN..0 => 2 }",
        "match x { #![a] a if let B = c && d && let E = f => {}, b if c && let D = e => 1 }",
        "match x { a if b && c || d && e => 1, f if let G = h && i == j => 2 }",
    ],
    "blocks have attributes": [
        "{ #![a] b }",
        "|| { //! a\n x };",
        "unsafe { #![b] } while c { #![d] }",
    ],
    "white space": [
        "break\u200e'a; break\x85'b 1; &raw\u2029const a; a..\u200e{b}; fn\u200eg() {}",
        'union\u2028U { x: u8 } a\u200e.\u200fb; 1\u200e; "a"\u200e; \'a\u200e: loop {}',
    ],
    "macros": [
        'println!("{}", x); vec![1; 2]; a::b!{ $x:tt => # ? }',
        "m!(if else { [ ] } ~ @ 'a 'b');",
        "m!('fn 'static '_ 'r#a 'r#fn # #a);",
    ],
    "numbers": [
        f"{number};"
        for number in (
            "0xff_u8",
            "1_000",
            "0b1i8",
            "0o17",
            "1e10",
            "2.5E-3f32",
            "1f64",
            "0x_1_",
            "1.5f16",
        )
    ],
    "strings": [
        r"'\u{1F600}'; '\''; '\x7f'; 'é'; b'\xff'; b'a'; '\"'",
        r'"a\n\x41\u{e9}\0\\"; b"\xff"; c"\xff\u{e9}"',
        '"a\\\n   b"; "a\r\nb"',
        'r"\\"; r#"a"b"#; br##"a"#"##; cr"é"',
    ],
    "comments": ["// a\nx", "/* a /* b */ */ x", "//", "//// a\n/***/ /**/", "/// a\nx"],
}
NO_BODIES = {
    "statements": [
        "let x = 1",
        "let x = S {} else {};",
        "let x = a && b else {};",
        "let A | B = c;",
        "x y",
        "#[a];",
        "{ x /// a\n }",
        "m!() 1",
    ],
    "blocks end statements": ["-{a}(2);", "*{a}[0] = 1;", "async {} 1", "unsafe {} as u32;"],
    "conditions": [
        "if x == S { a: 1 } {}",
        CHAIN,
        "if (let a = b) {}",
        "for i in a..= {b} {}",
        "x = let a = b;",
        "if a {} else match b {}",
        "if a { #![b] }",
        "if a {} else { //! b\n }",
        "match x { a if b || let C = d => 1 }",
        "match x { a if let B = c || d => 1 }",
    ],
    "white space": ["break\xa0'a;", "break\x1c'a;", "&raw\u2003const a;"],
    "operators": [
        "a < b < c;",
        "a == b == c;",
        "x as usize < y;",
        "x as usize << y;",
        "x as dyn A + 1;",
        "a..=;",
        "a..b..c;",
        "a..b = c;",
        "a ** ;",
        "a <- b;",
        "a++;",
        "a ! = b;",
        "x::<A>==y;",
    ],
    "postfix": [
        "a.b::<c>;",
        "a.0u8;",
        "a.0b2;",
        "a::<b>::(c);",
        "x as u8.b;",
        "f(,);",
        "a::{};",
        "a . . b;",
    ],
    "closures": ["|x| -> u8 1;", "return == 1 == 2;", "|a, , b| 1;"],
    "loops": [
        "'r#self: loop {}",
        "m!('r#);",
        "m!('a#b);",
        "break 'a: loop {};",
        "'a: 1;",
        "'static: loop {}",
        "'a: if x {}",
    ],
    "structs": ["S { a, ..b, }", "S { 0 }", "S { , }"],
    "arrays": ["[1, 2; 3];", "(,);", "[;1];"],
    "matches": [
        "match x { a => m!{} b => 1 }",
        "match x { a => async {} b => 1 }",
        "match x { &0..=9 => 1 }",
        "match x { S { .., a } => 1 }",
        "match x { a => {}; }",
    ],
    "macros": ["m!(a];", "m!(\\);", 'm!(a"b");', "m!(a#b);", "m!('ab');"],
    "numbers": ["0x;", "0b12;", "1e;", "0x1.0;", "0o8;"],
    "strings": [
        r'"\x80";',
        r'"\u{110000}";',
        r'"\u{d800}";',
        r'b"\u{1}";',
        'b"é";',
        r'c"\0";',
        "'ab';",
        "'\t';",
        '"a\rb";',
        'return"a";',
    ],
    "comments": ["/* a", "/* /* */", "//! a\n x //! b\n"],
}
FILES = {
    "items": [
        "mod a; mod b { #![c] use d; }",
        "use a::{self, b as c, d::*, ::e}; pub(crate) use f; extern crate g as _;",
        "struct A; struct B(pub u8, pub(crate) C); pub struct D<'a, T: 'a = u8> where T: E {}",
        "enum E { A = 1, B(u8), C { x: u8 }, }",
        "union U { x: u8 } const _: u8 = 1; static mut X: u8 = 1; type A<T> = B where T: C;",
        "macro_rules! m { ($x:expr) => { $x }; } m!{} a::m!();",
        "pub\u200e(self) struct A; pub(\u200ein\x85a) struct B; auto\u2028trait C {}",
        "unsafe auto trait A {} default impl B for C {} macro d($x:tt) {}",
    ],
    "functions": [
        "pub const unsafe extern \"C\" fn f<'a, const N: usize = 3>(x: &'a [u8; N], ...) -> ! {}",
        "async fn f(self: &Self, (a, b): (u8, u8),) where for<'a> T: Fn(&'a u8) -> u8 + 'a {}",
        "fn f(x: impl A<B = C> + ?Sized, y: &mut (dyn D + 'static), z: *const fn(u8) -> u8);",
        "fn f(x: A<<B as C>::D>, y: A<-1, { N + 1 }, 'a'>, z: Vec<Vec<u8>>) {}",
        "fn r#fn(x: &&'a mut T) -> impl Fn() -> u8 + Send {}",
        "fn f() where for<'a> (F): A, for<'a> [F; 2]: B, for<'a> *const F: C + D {}",
        "fn f() where for<'a> dyn E: F, for<'a> (F, G): H {}",
        "fn f() where for<'a> fn(&'a F): A, for<'a> <F as B>::C: D, for<'a> !: E, for<'a> _: F {}",
        "fn f<'a: 'b +, 'c: 'd + 'e, T: A +>() where 'a: 'b + {}",
        "fn f(x: Fn::(i32) -> u8, y: dyn A::Fn::(u8)::B + Send, z: Fn(u8)::C) {}",
        "fn f(x: S<Item<'a> = T>, y: S<A, Item<'a, B, 3>: C + 'd, D<> = E, F:>, z: S<A<B>>) {}",
        'fn f(x: A<{}, b"c", { let d = 1; d }, 1.5>, y: self, z: crate) {}',
        "fn f<const N: u8 = M>(x: &'r#a u8) {}",
    ],
    "traits": [
        "trait A<T>: B + 'static { const C: u8; type D: E<F = G>; fn h(&mut self); m!(); }",
        "impl<T> !A<T> for [T] where T: B {} unsafe impl A for &B { default fn f() {} }",
        'extern "C" { fn f(x: u8, ...); static X: u8; type T; }',
    ],
    "attributes": [
        '#![a] //! b\n#[c = "d"] #[e(f, g = 1)] /// h\nfn i(#[j] x: u8) { #![k] }',
        "#[unsafe(no_mangle)] /** a */ struct S { /// b\n #[c] d: u8 }",
    ],
    "beginnings": ["", "\ufefffn f() {}", "#!/bin/sh\nfn f() {}", "#![a]", " \t\r\n\x0b\x0c\u2028"],
    "names": [
        "fn é() {}",
        "fn 名_1() {}",
        "struct default; struct raw; struct union_;",
        "struct iné; fn fnß() {} union é { a: u8 }",
    ],
}
NO_FILES = {
    "items": [
        "x",
        ";",
        "let x = 1;",
        "const X = 1;",
        "struct S(u8)",
        "m!()",
        "pub m!{}",
        "use a::<b>;",
        "enum E { A, , }",
        "pub(a) fn f() {}",
        "unsafe impl A {}",
        "pub\xa0(self) fn x() {}",
        "pub(self\xa0) fn x() {}",
        "pub\u2003(in a) fn x() {}",
        "auto\x1ctrait A {}",
    ],
    "functions": [
        "fn f(x) {}",
        "fn f(a: u8, self) {}",
        "unsafe async fn f() {}",
        "fn f(x: &A + B) {}",
        "fn f(x: fn() -> dyn A + B) {}",
        "fn f(x: A<B><C>) {}",
        "fn f<T: Fn() -> dyn A + B>() {}",
        "fn f<'fn>() {}",
        "fn f<'a: + 'b>() {}",
        "fn f(x: S<A::B<C> = D>) {}",
        "fn f(x: S<Item<'a> == T>) {}",
        "fn f() where for<'a> 'a: 'b {}",
        "use a::(b);",
    ],
    "traits": ["trait A { struct B; }", "impl (A) for B {}", 'extern "C" { const X: u8 = 1; }'],
    "attributes": ["#[] fn f() {}", "fn f() {} #![a]", "/// a\n", "struct S { a: u8, /// b\n }"],
    "beginnings": [" #!/bin/sh\nfn f() {}", "fn f() {} \ufeff"],
    "names": ["fn fn() {}", "fn r#self() {}", "fn a\u20ac() {}", "fn try() {}", "fn _() {}"],
}
LEFT_OUT = [
    "fn f<T: async A>() where for<'a> for<'b> fn(): B {}",
    "fn f(x: S<Item::<'a> = T>) {}",
    "fn f() { a.b::(c)(d); }",
    "fn f() { x = A::(B) -> C; }",
    "fn f() { x.1e3; }",
    "fn f() { x.0x1; }",
    "fn f() { match x { a if let B = |c| d => 1 } }",
    "fn f() { match x { a => .., } }",
    "fn f() { match x { ! } }",
    "fn f() { yield 1; }",
    "fn f() { m!(🦀); }",
    "fn f() { 'a: {} break 'a + 1; }",
    "fn f() { if |x| y {} }",
    "fn f() { x = 1 + ..2; }",
    "fn f() { ..a; }",
    "fn f() { a as Vec<u8> < b; }",
    "fn f() { x::<A>>b; }",
    "fn f<T: Fn() -> &dyn A>() {}",
    "fn f() { let A = b + c else { return }; }",
    "type A = Box<B + C>;",
    "fn f() { x = #[a] y; }",
    "fn f() { static || 1; }",
    "trait A = B;",
    "fn f() { 1px; }",
    r'fn f() { "\u{1_0}"; }',
    'fn f() { r#########"a"#########; }',
    "/* /* /* /* */ */ */ */",
    "fn f() { break /**/ 'a; }",
    "fn f() { a::<b>::c!(); }",
    "fn f() { match x { A => m!{} + 1 } }",
    "#! program\nfn f() {}",
]


#: What editions tell apart, or might: whether 2021 takes it, and 2024.
EDITIONS = {
    "fn gen(gen: u8) {}": (True, False),
    "fn r#gen(genet: u8, gené: u8) {}": (True, True),
    "fn f<'gen>() {}": (True, False),
    "fn f<'r#gen>(x: &'genet u8) {}": (True, True),
    "fn f() { 'gen: loop { break 'gen; } }": (True, False),
    "fn f() { 'r#gen: loop { break 'r#gen; } }": (True, True),
    "fn f() { m!(gen 'gen # # #a #'b' r#\"c\"##); }": (True, True),
    'fn f() { m!(#"a"#); }': (True, False),
    "fn f() { m!(##); }": (True, False),
    "fn f() { m!(+##); }": (True, False),
    "unsafe extern { safe fn f(); } #[unsafe(no_mangle)] fn g() {}": (True, True),
    "fn f() { async |x| x; async move || {}; }": (True, True),
    "fn f() -> impl A + use<'a, T> {}": (True, True),
    "fn f() { if let A = b && let C = d && e {} else if a && let B = c {} }": (False, True),
    "fn f() { while let A = b.c() && d == e && f < g {} }": (False, True),
    "fn f() { if a && b && let C | D = e as F && !g {} }": (False, True),
    "fn f() { if (a || b) && let C = S::d(S {}) {} }": (False, True),
    "fn f() { if let A = b {} }": (True, True),
    "fn f() { if a && b || c && d || e && f {} }": (True, True),
    "fn f() { if a || let B = c {} }": (False, False),
    "fn f() { if let A = b || c {} }": (False, False),
    "fn f() { if a || b && let C = d {} }": (False, False),
    "fn f() { if let A = b && c || d {} }": (False, False),
    "fn f() { if let A = b && c = d {} }": (False, False),
    "fn f() { if let A = b && c..d {} }": (False, False),
    "fn f() { if a && (let B = c) {} }": (False, False),
    "fn f() { x = a && let B = c; }": (False, False),
    "fn f() { match a && let B = c {} }": (False, False),
}


def in_function(table: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: [f"fn f() {{ {body}\n}}" for body in bodies] for name, bodies in table.items()}


pytestmark = pytest.mark.slow  # a first mask takes seconds, as in all large languages

ACCEPTED = {**in_function(BODIES), **FILES}
REFUSED = {**in_function(NO_BODIES), **NO_FILES}


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_rust_has_is_accepted(text):
    assert lark_parses(text, "rust")


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_rust_has_not_is_refused(text):
    assert not lark_parses(text, "rust")


@pytest.mark.slow
def test_masks_say_the_same():
    index = index_of("rust")
    for table, verdict in ((ACCEPTED, True), (REFUSED, False)):
        for texts in table.values():
            assert [text for text in texts if can_be_written(text, index) != verdict] == []


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not lark_parses(text, "rust")


@pytest.mark.slow
def test_rust_says_the_same():
    errors = judge_of("rust").errors
    taken = [text for texts in (*ACCEPTED.values(), LEFT_OUT) for text in texts]
    refused = [text for texts in REFUSED.values() for text in texts]
    assert [text for text, said in zip(taken, errors(taken), strict=True) if said] == []
    assert [text for text, said in zip(refused, errors(refused), strict=True) if not said] == []


@pytest.mark.slow
@pytest.mark.parametrize("start", ["function", "statement", "expression"])
def test_other_start_rules(start):
    texts = {
        "function": ("/// a\npub fn f(x: u8) -> u8 { x }", "fn f();", "struct S;"),
        "statement": ("let x = 1;", "if a {} else {}", "x"),
        "expression": ("f(1)? + S { a }.b", "|x| x", "let x = 1;"),
    }[start]
    assert [lark_parses(text, "rust", start) for text in texts] == [True, True, False]


@pytest.mark.slow
def test_texts_written_at_random_are_rust():
    texts = list(random_texts(index_of("rust"), 100))
    said = judge_of("rust").errors(texts)
    assert [text for text, error in zip(texts, said, strict=True) if error] == []


@pytest.mark.parametrize("text", EDITIONS)
def test_an_edition_has_what_is_its_own(text):
    assert tuple(lark_parses(text, name) for name in ("rust", "rust2024")) == EDITIONS[text]


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_rust_2024_has_what_2021_has(text):
    assert lark_parses(text, "rust2024")


@pytest.mark.parametrize("text", cases(REFUSED))
def test_rust_2024_has_little_that_2021_has_not(text):
    assert not lark_parses(text, "rust2024") or CHAIN in text


def test_masks_of_rust_2024_say_the_same():
    index = index_of("rust2024")
    for text, (_, verdict) in EDITIONS.items():
        assert can_be_written(text, index) == verdict, text


def test_rust_says_the_same_of_both_editions():
    for place, name in enumerate(("rust", "rust2024")):
        said = judge_of(name).errors(list(EDITIONS))
        assert [not error for error in said] == [each[place] for each in EDITIONS.values()]


def test_rust_2024_says_the_same_of_what_2021_has():
    taken = [text for texts in (*ACCEPTED.values(), LEFT_OUT) for text in texts]
    said = judge_of("rust2024").errors(taken)
    assert [text for text, error in zip(taken, said, strict=True) if error] == []


def test_texts_written_at_random_are_rust_2024():
    texts = list(random_texts(index_of("rust2024"), 50))
    said = judge_of("rust2024").errors(texts)
    assert [text for text, error in zip(texts, said, strict=True) if error] == []


MORE = "error: aborting due to 1 previous error\n"  # the last line of rustc


@pytest.mark.parametrize(
    ("status", "said", "verdict"),
    [
        (0, "", ""),
        (0, "<anon>:1:1: warning: unused\n", ""),
        (1, f"<anon>:1:4: error: expected item\n{MORE}", "expected item"),
        (1, f"<anon>:1:4: error[E0765]: unterminated\n{MORE}", "unterminated"),
        (1, "error: couldn't read from stdin\n", "couldn't read from stdin"),
        (1, MORE, "an error without a text"),
        (101, "error: internal compiler error: unexpected panic\n", None),
        (-11, "error: rustc interrupted by SIGSEGV, printing backtrace\n", None),
    ],
)
def test_the_judge_takes_an_error_without_a_place_for_one(status, said, verdict):
    assert rust_judge.verdict(status, said) == verdict


@pytest.mark.slow
def test_tidy_has_no_comments_no_unstable_syntax_and_no_endless_space():
    texts = {
        "fn f() {\n    x\n}\n\nfn g() {}": True,
        "fn f() {} // a": False,
        "/// a\nfn f() {}": False,
        "fn  f() {}": False,
        "fn f() {}\n\n\n\nfn g() {}": False,
        "macro m() {}": False,
        "fn f() { try {} }": False,
    }
    index = index_of("rust", tidy=True)
    assert {text: can_be_written(text, index) for text in texts} == texts
