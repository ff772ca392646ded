"""The official test suite of JSON Schema: is each instance decided as it says?

``python tests/conformance/schema_suite.py FILE ...`` reads lines of JSON with "id", "schema",
"text" and "expected" ("accept" or "reject"). Each schema becomes a grammar, and Lark parses the
texts with it. Files of the suite named "format" want formats to be comments; elsewhere they are
conditions. Listed are the schemas that are refused, by reason, and the instances that are decided
wrongly; the exit status is 1 if there are any of the latter.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import lark
from tqdm import tqdm

import cfgguide
from cfgguide.schema.json_schema import json_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.lark_search import no_search_for_overlaps


def main() -> int:
    """Run the suite; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="only ids that begin so")
    options = parser.parse_args()
    schemas: dict[str, list[dict[str, Any]]] = {}
    for path in options.files:
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            case = json.loads(line)
            if case["id"].startswith(options.only):
                schemas.setdefault(f"{path.name}:{case['id'].rsplit('.', 1)[0]}", []).append(case)
    refused: Counter[str] = Counter()
    wrong, n_decided, times = [], 0, []
    for name, cases in tqdm(schemas.items(), disable=None):
        began = time.process_time()
        try:
            is_comment = (
                re.search(r":(?:format|optional/format-annotation)\.json", name) is not None
            )
            grammar = json_schema(cases[0]["schema"], formats=not is_comment)
        except cfgguide.CfgGuideError as error:
            if all(case["expected"] == "reject" for case in cases) and "no value is" in str(error):
                n_decided += len(cases)  # there is nothing to write
                continue
            refused[_reason(str(error))] += 1
            print(f"refused {name}: {error}")
            continue
        with no_search_for_overlaps():
            parse = lark.Lark(grammar.text, parser="lalr").parse
        times.append(time.process_time() - began)
        for case in cases:
            n_decided += 1
            if _accepts(parse, case["text"]) != (case["expected"] == "accept"):
                wrong.append(case)
                print(f"wrong {case['id']}: {case['text']} ({case['expected']}): {case['desc']}")
    n_refused = sum(refused.values())
    print(f"{len(schemas)} schemas, {n_refused} refused ({n_refused / len(schemas):.1%}):")
    for reason, n in refused.most_common():
        print(f"  {n:4} {reason}")
    times.sort()
    print(
        f"{n_decided} instances decided, {len(wrong)} wrongly; a grammar took "
        f"{1000 * times[len(times) // 2]:.0f} ms (p50), {1000 * times[-1]:.0f} ms (most)"
    )
    return int(bool(wrong))


def _accepts(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def _reason(message: str) -> str:
    """Return an error without what is special to one schema."""
    message = re.sub(r"^\[schema\] at \S*: ", "", message)
    return re.sub(r"'[^']*'|\d+|http\S+|/\S+", "...", message)[:90]


if __name__ == "__main__":
    raise SystemExit(main())
