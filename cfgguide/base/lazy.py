"""Public names of a folder, imported when they are first used (PEP 562).

``import cfgguide`` must be quick and load neither torch nor transformers, so no ``__init__``
imports the names that it offers. It lists the module of each name for this module, and imports the
same names for type checkers under ``if TYPE_CHECKING:``. A test compares the two lists.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    package: str, names: Mapping[str, str], folders: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    names : mapping of str to str
        Public names, and the modules below `cfgguide` that define them.
    folders : tuple of str
        Public folders below `package`.
    """

    def find(name: str) -> object:
        if name in folders:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"cfgguide.{names[name]}"), name)
        setattr(sys.modules[package], name, value)  # so Python finds it there from now on
        return value

    def list_names() -> list[str]:
        return sorted([*names, *folders, *vars(sys.modules[package])])

    return find, list_names
