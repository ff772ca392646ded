"""What holds of the values of all beginnings of a text, given the value of the whole.

Nothing that was shown is taken back or changed: a string only gets longer, lists and objects only
get more, and what is said to be complete equals its part of the final value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pydantic

from cfgguide.engine.machine.partial import Partial

Path = tuple[str | int, ...]


def members_of(value: Any) -> dict[str | int, Any] | None:
    """The parts of a value by names and numbers; None of a scalar."""
    if isinstance(value, pydantic.RootModel):
        return members_of(value.root)
    if isinstance(value, pydantic.BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return None


def follows(value: Any, later: Any, *, is_last: bool = True) -> bool:
    """Whether a value may have become a later one; only what is last in its list may grow."""
    if value is None:
        return True  # or nothing has come yet
    if type(value) is not type(later):
        return False
    if isinstance(value, str):
        return later.startswith(value) if is_last else bool(value == later)
    if isinstance(value, set | frozenset):
        return value <= later
    members, others = members_of(value), members_of(later)
    if members is None or others is None:
        return bool(value == later)
    is_list = isinstance(value, list | tuple)
    return all(
        step in others
        and follows(part, others[step], is_last=not is_list or step == len(members) - 1)
        for step, part in members.items()
    )


def paths_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each part of a value with the way to it."""
    yield path, value
    for step, part in (members_of(value) or {}).items():
        yield from paths_in(part, (*path, step))


def check(partials: Iterable[Partial[Any]], final: Any, read: Any = None) -> int:
    """Check the values of all beginnings of a text; return how many there were.

    `read` is the final value by the names that stand in the text, if `final` has others.
    """
    before: Any = None
    n = 0
    partial: Partial[Any] | None = None
    expected = dict(paths_in(final if read is None else read))
    for partial in partials:
        assert follows(before, partial.value), (before, partial)
        assert follows(partial.value, final), (partial, final)
        shown = partial.value if partial.read is None else partial.read
        if partial.growing is None:
            shown = None  # it is compared as a whole below
        for path, part in paths_in(shown):
            if path and partial.is_complete(*path):
                assert part == expected[path], (path, partial)
                assert type(part) is type(expected[path]), (path, partial)
        before = partial.value
        n += 1
    assert partial is not None, "a text"
    assert (partial.value, partial.growing, partial.is_complete()) == (final, None, True)
    return n
