"""Every bundled programming language: files as they come from other machines and other people.

The judge of each language says what is right. Engine and Lark must say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.languages import JUDGES, can_be_written, index_of, judge_of, lark_parses

import cfgguide


@dataclass(frozen=True)
class Sample:
    """A small program.

    Attributes
    ----------
    text : str
        It has several lines, and ends with a line break. ``NAME`` stands for a name in it.
    opening, middle, closing : str
        A program of a nesting of any depth: `opening` n times, `middle`, `closing` n times.
    before, after : str
        What stands around that nesting.
    """

    text: str
    opening: str = "("
    middle: str = "1"
    closing: str = ")"
    before: str = ""
    after: str = ""

    def nested(self, depth: int) -> str:
        """Return the program that nests so deep."""
        return "".join(
            (self.before, self.opening * depth, self.middle, self.closing * depth, self.after)
        )


SAMPLES = {
    "lua": Sample("-- a\nlocal NAME = {1, 'b'}\nif NAME then\n  f(NAME)\nend\n", before="x = "),
    "go": Sample(
        'package p\n\n// a\nfunc f(NAME int) string {\n\tif NAME > 1 {\n\t\treturn "b"\n\t}\n'
        '\treturn ""\n}\n',
        before="package p\nvar x = ",
        after="\n",
    ),
    "java": Sample(
        'class A {\n  // a\n  int f(int NAME) {\n    return NAME + g("b");\n  }\n}\n',
        before="class A { int x = ",
        after="; }\n",
    ),
    "rust2021": Sample(
        '// a\nfn f(NAME: i32) -> i32 {\n    let x = "b";\n    NAME + 1\n}\n',
        before="const X: i32 = ",
        after=";\n",
    ),
    "rust": Sample(
        '// a\nfn f(NAME: i32) -> i32 {\n    if let x = "b" && NAME > 1 {\n        1\n'
        "    } else {\n        2\n    }\n}\n",
        before="const X: i32 = ",
        after=";\n",
    ),
    "c": Sample(
        'int f(int x)\n{\n  int y = x;\n  return g(y, "b");\n}\n', before="int x = ", after=";\n"
    ),
    "javascript": Sample(
        "// a\nfunction f(NAME) {\n  return NAME + 'b'\n}\nlet x = f(1)\n",
        before="x = ",
        after="\n",
    ),
    "verilog": Sample(
        "// a\nmodule m(input a, output b);\n  assign b = ~a;\nendmodule\n",
        before="module m; assign a = ",
        after="; endmodule\n",
    ),
    "pascal": Sample(
        "program p;\n{ a }\nvar x: integer;\nbegin\n  x := 1;\n  writeln(x, 'b')\nend.\n",
        before="program p; var x: integer; begin x := ",
        after=" end.\n",
    ),
}
LANGUAGES = [pytest.param(name, marks=pytest.mark.slow) for name in JUDGES]


def test_a_program_is_written_and_half_of_it_is_none():
    text = SAMPLES["lua"].text.replace("NAME", "a_1")
    index = index_of("lua")
    assert lark_parses(text, "lua")
    assert can_be_written(text, index)
    assert not can_be_written(text[: len(text) * 2 // 3], index)


def variants(sample: Sample) -> dict[str, str]:
    """Return the program as other editors write it, and with other names."""
    text = sample.text.replace("NAME", "a_1")
    return {
        "nothing odd": text,
        "a byte-order mark": "\ufeff" + text,
        "a byte-order mark in the middle": text.replace("\n", "\n\ufeff", 1),
        "CRLF": text.replace("\n", "\r\n"),
        "CR": text.replace("\n", "\r"),
        "no final line break": text.rstrip("\n"),
        "a NUL": text.replace("\n", "\n\0", 1),
        "a form feed": text.replace("\n", "\n\f", 1),
        "a no-break space": text.replace("\n", "\n\u00a0", 1),
        "a line separator": text.replace("\n", "\n\u2028", 1),
        **{f"{name!r} as a name": sample.text.replace("NAME", name) for name in NAMES},
        "an emoji in a string": text.replace("b", "\U0001f600"),
        "a Ctrl-Z": text + "\x1a",
        "nothing": "",
        "a line break": "\n",
    }


# A letter with an accent, of another script, beyond U+FFFF, no letter; a digit of another script.
NAMES = ("n\u00e9", "\u540d", "\U00010400", "a\u20ac", "a\u0663", "a$b")


@pytest.mark.parametrize("name", LANGUAGES)
def test_bad_input_is_taken_as_the_judge_takes_it(name):
    """Never more is accepted; what is left out is listed in `LEFT_OUT`."""
    error = judge_of(name).error
    index = index_of(name)
    lost = []
    for title, text in variants(SAMPLES[name]).items():
        is_accepted = lark_parses(text, name)
        assert can_be_written(text, index) == is_accepted, title
        if is_accepted:
            assert not error(text), title
        elif error(text) == "":
            lost.append(title)
        assert is_accepted or title != "nothing odd"
    assert lost == LEFT_OUT.get(name, [])


LEFT_OUT = {
    "java": ["a Ctrl-Z"],
    "javascript": ["'\U00010400' as a name", "'a\u0663' as a name"],
    "pascal": ["a NUL", "a Ctrl-Z"],
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_nesting_of_ten_thousand_is_read(name):
    guide = cfgguide.Guide(index_of(name))
    text = SAMPLES[name].nested(10_000)
    for byte in text[:-1].encode():
        guide.advance(byte)
    assert guide.accepts(ord(text[-1]))
    assert lark_parses(text, name)
    assert not lark_parses(text.replace(SAMPLES[name].closing, "", 1), name)
