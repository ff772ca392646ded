"""Requests that come by the clock, with strangers among them: each gets an answer, and in time.

Runs in an environment that has vLLM: `make serve-test`. `make soak ARRIVALS=4` measures more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

from engines.arrivals import KINDS, measured, warm
from engines.running import Running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFGGUIDE_CLIENT", "authorization")
        running = Running(tmp_path_factory.mktemp("server"))
    yield running
    running.kill()


def test_each_request_has_an_answer_and_none_that_is_known_waits_for_strangers(server):
    warm(server.port)
    outcomes = measured(server.port, 2.0, 30.0, attacked=True)
    statuses = {kind: Counter() for kind in (*KINDS, "stranger")}
    for each in outcomes:
        statuses[each.kind][each.status] += 1
    assert statuses["unguided"].keys() == statuses["hit"].keys() == {"200"}
    assert statuses["new"].keys() <= {"200", "429"}
    assert statuses["stranger"].keys() <= {"200", "400", "429"}
    slowest = {
        kind: max(each.seconds for each in outcomes if each.kind == kind)
        for kind in ("unguided", "hit")
    }
    assert slowest["hit"] < slowest["unguided"] + 2.0  # on a machine that does other things, too
