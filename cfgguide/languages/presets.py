r"""Presets for bundled grammars: what a model is told, where it starts and where it stops.

In: the name of a bundled grammar. Out: a :class:`Preset`. A mask says what a model may write; a
small model also has to be told what is wanted, and to be stopped: after a function it goes on with
comments, of which a file may have any number. ::

    def f(x):
        return x + 1

    #                 <- nothing else may come here, and nothing is lost without it
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """How a model is to write a grammar.

    Attributes
    ----------
    start : str
        The start rule of what a model writes, unless the user gives another.
    request : str
        What a model that can chat is told; ``{prompt}`` is what the user wrote.
    opening : str
        How the answer of a model that can chat begins: it writes better code inside a block of
        code.
    has_ended : callable, optional
        Whether a text from that start rule has all that it needs: the `until` of
        :func:`cfgguide.generate`.
    tail : re.Pattern, optional
        Matches the part at the end of a text that is worth showing only if more follows.
    """

    start: str = "start"
    request: str = "{prompt}"
    opening: str = ""
    has_ended: Callable[[str], bool] | None = None
    tail: re.Pattern[str] | None = None

    def messages(self, prompt: str) -> list[dict[str, str]]:
        """Return the chat that asks for what the user wrote.

        >>> preset_of("json").messages("A cat.")
        [{'role': 'user', 'content': 'A cat.'}]
        """
        messages = [{"role": "user", "content": self.request.format(prompt=prompt)}]
        if self.opening:
            messages.append({"role": "assistant", "content": self.opening})
        return messages


def is_past_block(text: str) -> bool:
    r"""Return whether the last line is a comment at the left margin, after an indented block.

    >>> is_past_block("def f():\n    return 1\n"), is_past_block("def f():\n    return 1\n\n#")
    (False, True)
    >>> is_past_block("# from here\n#"), is_past_block("def f():\n\n# here, too\n    return 1")
    (False, False)
    """
    *before, last = text.split("\n")
    has_block = any(line[:1] in (" ", "\t") and line.strip() for line in before)
    return has_block and last.startswith("#")


def is_past_statement(text: str) -> bool:
    r"""Return whether the last line ends in a semicolon, or a blank line follows the rest.

    >>> is_past_statement("SELECT 1;\n"), is_past_statement("SELECT 1\n\n")
    (True, True)
    >>> is_past_statement("SELECT 1\n"), is_past_statement("\n\n")
    (False, False)
    """
    said = text.rstrip()
    return said.endswith(";") or (bool(said) and text.endswith("\n\n"))


def is_past_braces(text: str) -> bool:
    r"""Return whether the last line is a closing brace at the left margin, or has ended.

    >>> is_past_braces("func f() {\n\tg()\n}"), is_past_braces("func f() { g() }\n")
    (True, True)
    >>> is_past_braces("func f() interface{}")  # a body may follow
    False
    """
    return text.endswith(("\n}", "\n"))


def _statement(start: str, dialect: str) -> Preset:
    request = f"{{prompt}}\nAnswer with one statement of SQL for {dialect}, and nothing else."
    return Preset(start, request, "```sql\n", is_past_statement)


_PYTHON = Preset(
    start="function",
    request="{prompt}\nAnswer with one function in Python, without examples of its use.",
    has_ended=is_past_block,
    tail=re.compile(r"\n[\n#]*\Z"),
)
# What models are asked for; the name of the grammar is the mark at a block of code.
_FUNCTIONS = {
    "c": "function in C",
    "go": "function in Go",
    "java": "method in Java",
    "javascript": "function in JavaScript",
    "lua": "function in Lua",
    "pascal": "function in Pascal",
    "rust": "function in Rust",
    "verilog": "module in Verilog",
}
_ENDINGS = {"go": is_past_braces}  # elsewhere nothing may follow a function
_STARTS = {"verilog": "module"}
_PRESETS = {
    "python": _PYTHON,
    "python312": _PYTHON,
    "sql": _statement("statement", "SQLite"),
    "sql_select": _statement("start", "SQLite"),
    "postgresql": _statement("statement", "PostgreSQL"),
    **{
        name: Preset(
            _STARTS.get(name, "function"),
            f"{{prompt}}\nAnswer with one {called}, and nothing else.",
            f"```{name}\n",
            _ENDINGS.get(name),
        )
        for name, called in _FUNCTIONS.items()
    },
}
_PRESETS["rust2021"] = _PRESETS["rust"]  # with the same mark at a block of code


def preset_of(name: str) -> Preset:
    """Return the preset of a bundled grammar, or the default for any other."""
    return _PRESETS.get(name, Preset())
