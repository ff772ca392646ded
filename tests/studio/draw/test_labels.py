"""Labels of arrows are their bytes, for a reader that was written from their description."""

from __future__ import annotations

import re

import hypothesis.strategies as st
from hypothesis import given

from cfgguide.studio.draw.byte_labels import label_of

ESCAPES = {"t": 9, "n": 10, "r": 13, "\\": ord("\\"), "]": ord("]"), "^": ord("^"), "-": ord("-")}
GROUPS = {
    "ASCII": range(128),
    "continuation": range(0x80, 0xC0),
    "lead of 2": range(0xC2, 0xE0),
    "lead of 3": range(0xE0, 0xF0),
    "lead of 4": range(0xF0, 0xF5),
}


def one(text: str) -> int:
    """The byte that one character, or one escape, stands for."""
    if text == "␣":
        return 32
    if text.startswith("\\x"):
        return int(text[2:], 16)
    if len(text) == 2:
        return ESCAPES[text[1]]
    return ord(text)


def read_class(inside: str) -> set[int]:
    """The bytes of what stands between brackets."""
    is_others = inside.startswith("^")
    atoms = re.findall(r"\\x..|\\.|.", inside[is_others:], re.DOTALL)
    found: set[int] = set()
    while atoms:
        first = atoms.pop(0)
        if len(atoms) > 1 and atoms[0] == "-":
            found |= set(range(one(first), one(atoms[1]) + 1))
            del atoms[:2]
        else:
            found.add(one(first))
    return set(range(128)) - found if is_others else found


def read(label: str, others: frozenset[int]) -> set[int]:
    """The bytes of a label."""
    if label == "any byte":
        return set(range(256))
    if label == "any other byte":
        return set(range(256)) - others
    if label == "any other ASCII":
        return set(range(128)) - others
    found: set[int] = set()
    for word, group in GROUPS.items():
        if re.search(rf"(^| ){word}( |$)", label):
            found |= set(group)
            label = re.sub(rf"(^| ){word}(?= |$)", "", label).strip()
    for part in label.split(" ") if label else []:
        if match := re.fullmatch(r"\\x([89a-f].)-\\x(..)", part):
            found |= set(range(int(match[1], 16), int(match[2], 16) + 1))
        elif len(part) > 2 and part[0] == "[":
            found |= read_class(part[1:-1])
        else:
            found.add(one(part))
    return found


byte_sets = st.frozensets(st.integers(0, 255), min_size=1) | st.frozensets(
    st.integers(0, 255), max_size=20
).map(lambda few: frozenset(range(256)) - few)


@given(byte_sets, byte_sets)
def test_a_label_read_back_is_the_bytes(members, others):
    others -= members
    assert read(label_of(members, others), others) == members


def test_labels_as_people_write_them():
    """By hand."""
    digits = b"0123456789"
    assert label_of(digits) == "[0-9]"
    assert label_of(b"+-") == "[+-]"
    assert label_of(b"\\") == "\\"
    assert label_of(b" \t\n") == r"[\t\n␣]"
    assert label_of(set(range(128)) - set(b'"\\') - set(range(32))) == r'[^\x00-\x1f"\\]'
    assert label_of(range(0x80, 0xC0)) == "continuation"
    assert label_of(range(0xE1, 0xED)) == r"\xe1-\xec"
    assert label_of(set(range(256)) - set(digits[::2]), digits[::2]) == "any other byte"
