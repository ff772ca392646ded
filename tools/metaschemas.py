"""Writes the metaschemas of all drafts to one file of the package.

``python tools/metaschemas.py`` takes them from the package jsonschema-specifications, which the
environment of the tests has. They are the documents of json-schema.org, under the BSD licence.
"""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema_specifications import REGISTRY

_FILE = Path(__file__).resolve().parents[1] / "cfgguide" / "schema" / "metaschemas.json"


def main() -> None:
    """Write the file."""
    found = {uri.rstrip("#"): REGISTRY.contents(uri) for uri in REGISTRY}
    text = json.dumps(dict(sorted(found.items())), separators=(",", ":"))
    _FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
