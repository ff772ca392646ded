"""Grammars for Lark's LALR or Earley parser whose short texts can all be tried."""

from __future__ import annotations

DYNAMIC, COMPLETE, BASIC = "dynamic", "dynamic_complete", "basic"
LEXERS = (DYNAMIC, COMPLETE, BASIC)  # of Earley's parser

#: Grammars, each with the letters of its texts.
LANGUAGES = {
    "sums": ('start: start "a" start | start start | "b"', "ab"),
    "palindromes": ('start: "a" start "a" | "b" start "b" | "a" | "b" |', "ab"),
    "a cycle": ('start: start | p\np: start | "a" | p "b"', "ab"),
    "hidden left recursion": ('start: p start "a" | "b"\np: "a"?', "ab"),
    "nullable": ("start: p p p\np: start A |\nA: /a/", "a"),
    "keywords and names": ('start: ("if" NAME | NAME)+\nNAME: /[fia]+/', "fia"),
    "shared beginnings": ("start: A | A B | B A C\nA: /ab?/\nB: /ba?b?/\nC: /[ab]/", "ab"),
    "a name that is longer": ("start: A B\nA: /a+/\nB: /ab/", "ab"),
    "ignored at both ends": ('start: "a" start | "b"\n%ignore " "', "ab "),
    "ignored and used": ('start: A ("b" A)*\nA: /a+/\n%ignore A', "ab"),
    "ignored in two ways": ('start: "b" | "b" "b"\n%ignore /a/\n%ignore /aa/', "ab"),
    "nothing but ignored": ('start: "b"?\n%ignore /a+b?/', "ab"),
    "lazy": ("start: (A | B)+\nA: /a+?b/\nB: /[ab]b??/", "ab"),
    "ordered choice": ("start: A B?\nA: /a|ab|abb/\nB: /(?:b|ba)a?/", "ab"),
    "any case": ('start: "ab"i A\nA.2: /b/i', "aAb"),
    "priorities": ("start: p+ | A\np.2: B B\nA.-1: /aa/\nB.3: /a/", "a"),
    "one group in two terminals": ("start: (A | B)+\nA: /(?P<x>a)b/\nB: /(?P<x>b)a?/", "ab"),
    "flags of a pattern": ("start: A+ B\nA: /(?i)ab/\nB: /(?s)./", "aAb"),
}
#: Lark's basic lexer joins its terminals.
NOT_BASIC = ("one group in two terminals", "flags of a pattern")
