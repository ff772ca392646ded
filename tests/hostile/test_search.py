"""The search for hostile texts draws what mostly compiles, climbs, and what it finds can be run.

`make hostile` measures; here nothing depends on time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from math import inf

import pytest

import cfgguide
from cfgguide.errors import BudgetError, CfgGuideError, LimitError
from hostile import attack, engine
from hostile.__main__ import look
from hostile.derivations import MOST, Table, leaf
from hostile.run import DEAD_END, LIMIT, NO_ENDING, RAW, REFUSED, TOO_SLOW, WORKS, Step, watched
from hostile.search import SHORT, Find, Sample, Search, is_defect, measured, read, steps_of
from hostile.tables import TABLES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures with Linux's /proc")
N_TEXTS = 12  # of each kind, for what compiles each
N_CLIMBED = 300  # of each kind, where nothing is run

# --- Texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_drawn_texts_are_small_and_differ_and_so_do_changed_ones(kind):
    rng = random.Random(0)
    drawn = [TABLES[kind].draw(rng) for _ in range(200)]
    changed = [TABLES[kind].changed(rng, node, rng.choice(drawn)) for node in drawn]
    assert len({node.text for node in drawn}) > 150
    assert all(after.text != before.text for before, after in zip(drawn, changed, strict=True))
    assert sum(len(node.text) <= 300 for node in drawn) > 100
    assert all(len(node.text) <= MOST for node in changed)


@pytest.mark.parametrize("kind", TABLES)
def test_a_seed_draws_and_changes_the_same_texts(kind):
    def texts() -> Iterator[str]:
        rng = random.Random(7)
        first, second = (TABLES[kind].draw(rng) for _ in range(2))
        for _ in range(20):
            first, second = second, TABLES[kind].changed(rng, first, second)
            yield second.text

    assert list(texts()) == list(texts())


def compiles(kind: str, text: str) -> bool:
    try:
        engine.compiled(kind, text)
    except LimitError:
        return True  # a text of its kind it is
    except CfgGuideError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_many_drawn_and_changed_texts_compile(kind):
    rng = random.Random(3)
    node, n_drawn, n_changed = TABLES[kind].draw(rng), 0, 0
    for _ in range(N_TEXTS):
        n_drawn += compiles(kind, node.text)
        n_changed += compiles(kind, TABLES[kind].changed(rng, node, node).text)
        node = TABLES[kind].draw(rng)
    assert n_drawn >= N_TEXTS // 4
    assert n_changed >= N_TEXTS // 4


def test_each_way_to_change_a_text_is_there():
    table = Table({"start": ["x«n»", "«start»y«n»"], "n": ["1", "2"]})
    rng = random.Random(0)
    node = table.draw(rng, depth=3)
    found = {table.changed(rng, node, node).text for _ in range(300)}
    assert any(text.count("y") > node.text.count("y") for text in found)  # wrapped, or a part again
    assert any(text.count("y") < node.text.count("y") for text in found)  # a part alone
    assert any("10" in text for text in found)  # a larger number


def test_what_stands_in_a_string_of_json_is_escaped():
    table = Table({"start": ['"«json_p»"'], "json_p": ["«p»"], "p": ['\\"']})
    assert table.draw(random.Random(0)).text == '"\\\\\\""'


def test_a_table_without_an_end_is_refused():
    with pytest.raises(AssertionError, match="without an end"):
        Table({"start": ["a«start»"]})


def test_listed_texts_change_too():
    rng = random.Random(0)
    node = leaf("(a{3}b)*")
    found = {TABLES["pattern"].changed(rng, node, node).text for _ in range(200)}
    assert {"(a{4}b)*", "(a{30}b)*"} <= found


# --- Climbs --------------------------------------------------------------------------------------


def costs(score: Callable[[str], float]) -> Callable[[Sample], list[Step]]:
    """Return what measures a text without running it: one call of a walk, in seconds."""
    return lambda sample: [Step("walk: any", WORKS, seconds=score(sample.text))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pattern", "schema", "gbnf"])
def test_a_search_climbs(kind):
    """No text that is drawn afresh has as many letters `a` for its length."""
    search = Search(5, [kind], costs(lambda text: text.count("a") / 10_000))
    look(search, inf, 3 * N_CLIMBED)  # by three measures, of which one tells texts apart
    tops = search.best[kind, "seconds"].values()
    rng = random.Random(0)
    drawn = [TABLES[kind].draw(rng).text for _ in range(N_CLIMBED)]
    assert max(per_character(top.text) for top in tops) > max(map(per_character, drawn))


def per_character(text: str) -> float:
    return text.count("a") / (SHORT + len(text))


def test_a_search_keeps_what_is_over_a_limit_and_every_defect(tmp_path):
    def planted(sample: Sample) -> list[Step]:
        if "{40}" in sample.text:
            return [Step("compile", WORKS), Step("walk: any", DEAD_END, "after b'x'")]
        slow = 0.2 if "(?=" in sample.text else 0.0
        return [Step("compile", WORKS), Step("walk: long", WORKS, seconds=slow)]

    search = Search(1, ["pattern"], planted, tmp_path)
    look(search, inf, 200)
    assert {find.step.outcome for find in search.bad.values()} == {WORKS, DEAD_END}
    for found in search.bad.values():
        assert ("{40}" if found.step.outcome == DEAD_END else "(?=") in found.text
        assert str(found) in search.table()
    assert {str(read(path)) for path in tmp_path.iterdir()} == set(map(str, search.bad.values()))


def test_a_search_draws_the_same_for_a_seed():
    def texts() -> list[str]:
        seen: list[str] = []

        def noted(sample: Sample) -> list[Step]:
            seen.append(f"{sample.text} {sample.seed}")
            return [Step("compile", WORKS, seconds=len(sample.text) / 1000)]

        look(Search(11, measure=noted), inf, 40)
        return seen

    assert texts() == texts()


@pytest.mark.parametrize("text", ["a\nb", "=== text\n\r\n", "", "é\u2028\U0001f600\n\n"])
def test_a_find_is_read_as_it_was_written(tmp_path, text):
    found = Find("pattern", leaf(text), 5, "seconds", 1.5, Step("walk: any", WORKS, seconds=0.15))
    found.write(tmp_path / "f")
    assert read(tmp_path / "f") == found


def test_a_judge_that_runs_out_of_time_is_no_defect():
    assert not is_defect(Step("judge", TOO_SLOW))
    assert not is_defect(Step("compile", REFUSED))
    assert is_defect(Step("walk: any", LIMIT))


# --- What is done with a text --------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared():
    attack.prepare(["pattern", "schema"])


def test_a_text_goes_through_every_step_and_a_find_of_it_is_run_again(prepared):
    sample = Sample("pattern", leaf("a{2,4}(?=b)b+"), 3)
    steps = measured(sample)
    assert [step.outcome for step in steps] == [WORKS] * len(steps)
    assert {"compile", "walk: again", "walk: budget", "explain", "check", "judge"} <= {
        step.name for step in steps
    }
    again = steps_of(Find(sample.kind, sample.node, sample.seed, "seconds", 0.0, steps[0]))
    assert [step.name for step in again] == [step.name for step in steps]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(LimitError("x (max_seconds)"), LIMIT), (BudgetError("x"), NO_ENDING), (KeyError("x"), RAW)],
)
def test_what_goes_wrong_in_a_text_is_told(prepared, monkeypatch, error, outcome):
    def fails(guide: cfgguide.Guide) -> None:
        raise error

    monkeypatch.setattr(cfgguide.Guide, "shortest_completion", fails)
    steps = {step.name: step for step in measured(Sample("pattern", leaf("a+"), 0))}
    assert steps["walk: any"].outcome == outcome


def test_a_dead_end_is_told(prepared, monkeypatch):
    empty = cfgguide.Guide.allowed_token_ids

    def none(guide: cfgguide.Guide) -> object:
        return empty(guide)[:0]

    monkeypatch.setattr(cfgguide.Guide, "allowed_token_ids", none)
    steps = {step.name: step for step in measured(Sample("pattern", leaf("a+"), 0))}
    assert steps["walk: long"].outcome == DEAD_END


def test_a_text_that_a_judge_refuses_is_told(prepared, monkeypatch):
    monkeypatch.setattr(attack, "_is_valid", lambda schema, text: False)
    steps = measured(Sample("schema", leaf('{"enum": [1, 2]}'), 0))
    assert [step.name for step in steps if is_defect(step)] == ["judge"]


def test_steps_are_told_until_the_process_is_killed():
    def never_ends() -> tuple[str, str]:
        while True:
            pass

    def work(meter: object) -> None:
        meter.step("first", lambda: (WORKS, ""))
        meter.step("second", never_ends)

    steps = watched(work, most_seconds=1).steps
    assert [(step.name, step.outcome) for step in steps] == [("first", WORKS), ("second", TOO_SLOW)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_random_texts_come_to_no_harm(kind):
    """What takes long passes: a test does not depend on the machine that it runs on.

    So does what exceeds `max_hypotheses`, a documented limit: SECURITY.md says where it is met. And
    an ending of more than 20,000 lexemes is not looked for: a hundred in each of a hundred is more.
    """
    attack.prepare([kind])
    rng = random.Random(1)
    for _ in range(N_TEXTS):
        sample = Sample(kind, TABLES[kind].draw(rng), rng.getrandbits(16))
        for step in measured(sample):
            is_known = step.outcome == NO_ENDING or (step.outcome == LIMIT and "max_" in step.more)
            assert is_known or not is_defect(step), f"{sample.text}\n{step}"
