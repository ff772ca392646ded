"""SQL that knows a schema: a front end beside the engine.

It narrows the bundled SQL grammars to the names of a database. The engine does not know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.languages.sql.names import with_schema as with_schema
    from cfgguide.languages.sql.running import runs_on as runs_on
    from cfgguide.languages.sql.tables import Schema as Schema

_NAMES = {
    "Schema": "languages.sql.tables",
    "runs_on": "languages.sql.running",
    "with_schema": "languages.sql.names",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
