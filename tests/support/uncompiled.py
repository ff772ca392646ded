"""Importing this module makes every kernel run as Python, from its source, in this process.

As a plugin of pytest: ``python -m pytest -p support.uncompiled``. It comes before cfgguide.
"""

from __future__ import annotations

import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader


def _finder(path: str) -> FileFinder:
    """Return a finder of `.py` files alone, for folders of cfgguide."""
    if "cfgguide" not in path:
        raise ImportError
    return FileFinder(path, (SourceFileLoader, SOURCE_SUFFIXES))


assert "cfgguide" not in sys.modules
sys.path_hooks.insert(0, _finder)
sys.path_importer_cache.clear()
