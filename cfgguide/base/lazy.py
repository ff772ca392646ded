"""Public names of a folder, imported when they are first used (PEP 562).

``import cfgguide`` must be quick and load neither torch nor transformers, so no ``__init__``
imports the names that it offers. It lists the module of each name for this module, and imports the
same names for type checkers under ``if TYPE_CHECKING:``. A test compares the two lists.

So a thread may import at any time, and whoever imports the same waits for it. A child of `fork`
would wait for ever: the thread is not there, and Python's lock of the module stays held. So a fork
waits until no other thread is in an import of ours, and none begins one meanwhile.
"""

from __future__ import annotations

import _imp
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

_OURS = __name__.partition(".")[0]
_bootstrap: Any = importlib.import_module("importlib._bootstrap")
#: Python is in this function as long as a thread holds the lock of a module.
_IMPORTING = _bootstrap._find_and_load.__code__
_ASKED_EVERY = 0.001  # seconds
_PATIENCE = 60.0  # seconds: an import that takes longer may be waiting for the thread that forks


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


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a thread imports a module of ours, or another one on our behalf."""
    is_in_import = False
    while frame is not None:
        if frame.f_code is _IMPORTING:
            is_in_import = True
            if _is_ours(frame.f_locals["name"]):
                return True
        elif is_in_import and _is_ours(frame.f_globals.get("__name__")):
            return True
        frame = frame.f_back
    return False


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _OURS


class _Imports:
    """Those of other threads, which a fork holds off."""

    def __init__(self) -> None:
        self._are_held = False

    def hold(self) -> None:
        """Wait for those that are under way, and let none begin: all of them take Python's lock."""
        end = time.monotonic() + _PATIENCE
        while True:
            _imp.acquire_lock()
            frames = sys._current_frames()
            frames.pop(threading.get_ident(), None)
            if time.monotonic() > end or not any(map(_is_importing, frames.values())):
                self._are_held = True
                return
            frames.clear()  # what their threads hold is theirs
            _imp.release_lock()
            time.sleep(_ASKED_EVERY)

    def release(self) -> None:
        """Let imports begin, in the parent and in the child."""
        if self._are_held:  # unless an interruption kept the fork from it
            self._are_held = False
            _imp.release_lock()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    _imports = _Imports()
    os.register_at_fork(
        before=_imports.hold,
        after_in_parent=_imports.release,
        after_in_child=_imports.release,
    )
