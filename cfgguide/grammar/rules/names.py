"""Names for Lark's language that are not taken yet.

Names of the dialect may have a hyphen, which Lark's do not know, and parts of a grammar may use the
same names for different rules.
"""

from __future__ import annotations

_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789"


class NameAllocator:
    """The names that are taken.

    Examples
    --------
    >>> names = NameAllocator()
    >>> names.new("json_text"), names.prefix("json")
    ('json_text', 'json2')
    >>> names.new("tool-call"), names.new("tool_call"), names.new("A"), names.new("A")
    ('tool_call', 'tool_call_2', 'A', 'A_2')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        """Return a name like the one that is wanted, and take it."""
        plain = wanted.replace("-", "_")
        name = plain
        while name in self._taken:
            self._numbers[plain] = self._numbers.get(plain, 1) + 1
            name = f"{plain}_{self._numbers[plain]}"
        self._taken.add(name)
        return name

    def prefix(self, wanted: str) -> str:
        """Return a name in lower case that no other one begins with, and take it."""
        letters = "".join(each if each in _PLAIN else "_" for each in wanted.lower())
        plain = letters if letters[:1].isalpha() else f"grammar{letters}"
        taken = {name.lower() for name in self._taken}
        name, number = plain, 1
        while any(each == name or each.startswith(f"{name}_") for each in taken):
            number += 1
            name = f"{plain}{number}"
        self._taken.add(name)
        return name
