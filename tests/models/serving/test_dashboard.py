"""The dashboard in examples/ shows metrics that there are, all of those that the docs list."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD = json.loads((ROOT / "examples" / "grafana.json").read_text(encoding="utf-8"))
PANELS = DASHBOARD["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]


def named_in_the_docs() -> set[str]:
    """The metrics of docs/production.md, which `make serve-test` finds in a running server."""
    text = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    return set(re.findall(r"`(cfgguide_\w+)`", text))


def test_each_expression_is_of_metrics_that_there_are():
    for expression in EXPRESSIONS:
        found = set(re.findall(r"\bcfgguide_\w+", expression))
        assert found
        assert found <= named_in_the_docs(), expression
        assert expression.count("(") == expression.count(")")


def test_all_metrics_are_shown():
    assert {name for each in EXPRESSIONS for name in re.findall(r"cfgguide_\w+", each)} == (
        named_in_the_docs()
    )


def test_counters_are_rates_and_gauges_are_not():
    for expression in EXPRESSIONS:
        for name in re.findall(r"cfgguide_\w+", expression):
            counts = name.endswith(("_total", "_sum", "_bucket"))
            assert (f"rate({name}[$__rate_interval])" in expression) == counts, expression


def test_panels_stand_beside_each_other():
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    places = [panel["gridPos"] for panel in PANELS]
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def test_the_source_of_the_data_is_chosen_by_who_looks():
    (source,) = DASHBOARD["templating"]["list"]
    assert source["type"] == "datasource"
    for panel in PANELS:
        assert panel["datasource"]["uid"] == f"${{{source['name']}}}"
