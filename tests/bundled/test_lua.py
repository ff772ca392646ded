"""The bundled grammar of Lua is Lua 5.4's, as its reference manual and `luac -p` have it.

Verdicts were found by hand, in the manual; where Lua is installed it is asked as well.
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

ACCEPTED = {
    "blocks": ["", ";;", "do end", "return", "return;", "return 1, 2;", "x = 1; ; y = 2"],
    "assignments": ["a = 1", "a, b.c, d[1] = 1, 2", "f().x = 1", "(f)().x = 1", "a.b['c'].d = nil"],
    "calls": ["f()", "f{}", "f''", "f[[x]]", "a.b:c()", "f()()", "('x'):rep(2)", "f\n(g)()"],
    "calls that begin after a table or a string": [
        "local x = {}\n(a or b):c()",
        "x = 's'\n(f)()",
        "x = [[s]]\n(a)[1] = 2",
        "x = -{f{}} ^ {'s'} (g).x = 1",
        "repeat until {} ({}).x()",
        "x = f{}\n(g)()",
        "x = f's' (g)",
    ],
    "control": [
        "while a do b() end",
        "repeat local x = f() until x",
        "if a then elseif b then else end",
        "for i = 1, 2 do end",
        "for i = 1, 10, 2 do break end",
        "for k, v in pairs(t), nil do end",
        "goto x ::x::",
        "while a do if b then break end end",
    ],
    "functions": [
        "function f() end",
        "function a.b.c:d(x, y) return x end",
        "local function f(...) return ... end",
        "f = function(a, ...) local b = {...} end",
        "return ...",
    ],
    "attributes": [
        "local a",
        "local a <const> = 1",
        "local a <const>, b <close>, c = 1, nil",
        "local a < const > = 1",
        "local const, close = 1",
    ],
    "operators": [
        "x = not not a",
        "x = -a ^ -b",
        "x = a .. b .. c",
        "x = a // b % c << d >> e & f | g ~ ~h",
        "x = a < b == c ~= d",
        "x = #t - -1",
        "x = - - 1",
        "x = a or b and c",
    ],
    "tables": ["t = {}", "t = {1, 2; 3,}", "t = {a = 1, [2] = 3, f()}", "t = {{}, {{}}}"],
    "numbers": [
        f"x = {number}"
        for number in ("3", "3.", ".5", "3.0e-2", "0xff", "0xA.8p-3", "0x.1", "0X1P+4", "3e2")
    ],
    "strings": [
        r"x = 'a\n\x41\65\065\u{7FFFFFFF}\z   b'",
        'x = "\\\n"',
        'x = "\\\r\n"',
        "x = '\\255\\0'",
        "x = [==[ ]] ]=] ]==]",
        "x = [[\n]]",
        "x = '\u00e9'",
        "x = '--'",
    ],
    "comments": ["--", "-- a\nx = 1", "--[[ a\n]] x = 1", "--[==[ ]] ]==] x = 1", "--[ a\nx = 1"],
    "beginnings": [
        "#!/usr/bin/lua\nx = 1",
        "\ufeffx = 1",
        "\ufeff#!lua",
        "# anything",
        " \t\r\n\f\v",
    ],
    "words that begin like keywords": ["ending = 1", "inn = 2", "x = nott", "returned()"],
}
REFUSED = {
    "blocks": ["return 1 x = 1", "return;;", "do", "end", "x"],
    "assignments": ["f() = 1", "(a) = 1", "a:b = 1", "a, f() = 1", "1 = a", "x = "],
    "calls": ["f", "a:b", "'x':rep()", "{}()", "f(a,)", "f(", "a.1()"],
    "control": [
        "while a b() end",
        "if a end",
        "for i = 1 do end",
        "for i, j = 1, 2 do end",
        "for a.b in c do end",
        "for k inpairs(t) do end",
        "break",
        "while a do function f() break end end",
        "goto 1",
    ],
    "functions": [
        "function f(a, ) end",
        "function f(..., a) end",
        "function f.b[1]() end",
        "function f() return ... end",
        "function a:b.c() end",
        "local function a.b() end",
    ],
    "attributes": [
        "local a <other>",
        "local a <close>, b <close> = 1",
        "a <const> = 1",
        "local a <>",
        "local a <const>= 1",
        "local a <close>>",
    ],
    "calls that begin after a table or a string": [
        "x = {} (g)",
        "x = {} 's'",
        "x = 's' {}",
        "return {} (g)()",
        "x = {{} (a)}",
    ],
    "operators": ["x = a ++ b", "x = a...5", "x = a != b", "x = not", "x = a b", "x = 1..2"],
    "tables": ["t = {,}", "t = {a = }", "t = {[1] 2}", "t = {a.b = 1}"],
    "numbers": [f"x = {number}" for number in ("3a", "0x", "3e", "0xg", "3..4", "1.2.3", "0x1p")],
    "strings": [
        "x = 'a",
        "x = 'a\nb'",
        r"x = '\q'",
        r"x = '\256'",
        r"x = '\300'",
        r"x = '\xg0'",
        r"x = '\u{80000000}'",
        r"x = '\u{}'",
        "x = [[a]=]",
        "x = [=a]]",
    ],
    "comments": ["--[[ a", "--[==[ ]] x = 1", "/* a */"],
    "beginnings": [" #!lua", "x = 1\n#!lua", "x = 1 \ufeff"],
    "keywords": ["end = 1", "local function = 1", "x.end = 1", "f{and = 1}", "goto do"],
}
WORDS = (b" end", b" then", b" do", b" = 1", b" local ", b" function", b" return ", b" ...", b"--")
LEFT_OUT = ["x = [=========[ a ]=========]", "--[=========[ a ]=========]"]


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_what_lua_has_is_accepted(text):
    assert lark_parses(text, "lua")
    assert can_be_written(text, index_of("lua"))


@pytest.mark.parametrize("text", cases(REFUSED))
def test_what_lua_has_not_is_refused(text):
    assert not lark_parses(text, "lua")
    assert not can_be_written(text, index_of("lua"))


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text):
    assert not lark_parses(text, "lua")


def test_lua_says_the_same():
    error = judge_of("lua").error
    for texts in (*ACCEPTED.values(), LEFT_OUT):
        assert [text for text in texts if error(text)] == []
    for name, texts in REFUSED.items():
        if name not in ("control", "attributes"):
            assert [text for text in texts if not error(text)] == []


def test_what_the_compiler_refuses_later_is_refused_here():
    """`break` outside of loops, attributes that there are not, and two <close>."""
    error = judge_of("lua").error
    for name in ("control", "attributes"):
        assert [text for text in REFUSED[name] if error(text) == ""] == []


@pytest.mark.parametrize(
    "start",
    [
        "function",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("statement", "expression")),
    ],
)
def test_other_start_rules(start):
    texts = {
        "function": ("function f(a) return a end", "local function f() end", "x = 1"),
        "statement": ("x = 1", "for i = 1, 2 do end", "x = 1 y = 2"),
        "expression": ("f(1) + {2}", "function() end", "x = 1"),
    }[start]
    index = index_of("lua", start)
    assert [can_be_written(text, index) for text in texts] == [True, True, False]


@pytest.mark.slow
def test_texts_written_at_random_are_lua():
    error = judge_of("lua").error
    for text in random_texts(index_of("lua", words=WORDS), 100):
        assert not error(text), text


def test_tidy_has_no_comments_and_no_endless_space():
    texts = {
        "local x = 1\n\n  return x": True,
        "x = 1 -- a": False,
        "x  = 1": False,
        "x = 1\n\n\n\ny = 2": False,
    }
    index = index_of("lua", tidy=True)
    assert {text: can_be_written(text, index) for text in texts} == texts
