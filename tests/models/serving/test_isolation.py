"""What strangers ask of a backend is tried in a process that may die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time

import pytest

import cfgguide
from cfgguide.errors import GrammarError, LimitError, PatternError, SchemaError
from cfgguide.models.serving import isolation as isolation_module
from cfgguide.models.serving.isolation import Isolation, Passed, Verdicts, key_of
from cfgguide.models.serving.matcher import Allowance, Matcher
from cfgguide.schema.messages.parts import UnsupportedTagError
from cfgguide.serving import Backend

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")

VOCABULARY = cfgguide.Vocabulary.of_bytes()
STRANGERS = cfgguide.Limits(max_seconds=2, max_memory=200_000_000, allows_imports=False)


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Backend(VOCABULARY, limits=STRANGERS, use_cache=False, isolate=True)


@pytest.fixture(scope="module")
def isolation() -> Isolation:
    return Isolation(VOCABULARY, STRANGERS, use_cache=False)


def slow_choice(n: int) -> str:
    """Takes seconds."""
    return json.dumps(["a" * length for length in range(1, n)])


def nursery_of(isolation: Isolation) -> int:
    return isolation._nursery._process.pid


def children_of(process: int) -> list[int]:
    with open(f"/proc/{process}/task/{process}/children") as file:
        return [int(each) for each in file.read().split()]


def seconds_of(process: int) -> float:
    """Return the processor time that it has used."""
    with open(f"/proc/{process}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_until_alone(process: int) -> None:
    deadline = time.monotonic() + 60
    while children_of(process):
        assert time.monotonic() < deadline, "a child has to end"
        time.sleep(0.01)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", '{"type": "integer"}'),
        ("json_object", ""),
        ("regex", "[0-9]{2}"),
        ("choice", '["yes", "no"]'),
        ("grammar", 'start: "a"+'),
        ("grammar", "cfgguide:json"),
        ("grammar", 'cfgguide:llguidance\nstart: "a"{2} %json {"const": 1}'),
    ],
)
def test_what_passes_is_compiled_as_without(backend, kind, text):
    alone = Backend(VOCABULARY, limits=STRANGERS, use_cache=False).index(kind, text)
    index = backend.index(kind, text)
    assert index.machine.digest == alone.machine.digest
    assert (
        index.allowed(index.start).bitmask.tolist() == alone.allowed(alone.start).bitmask.tolist()
    )


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        ("json", '{"type": "x"}', SchemaError),
        ("json", "[", SchemaError),
        ("regex", "(a", PatternError),
        ("grammar", 'start: "a', GrammarError),
        ("choice", "{}", GrammarError),
        ("other", "x", GrammarError),
        (
            "structural_tag",
            '{"type": "structural_tag", "format": {"type": "unheard_of"}}',
            UnsupportedTagError,
        ),
    ],
)
def test_what_is_refused_is_refused_as_without(backend, kind, text, error):
    with pytest.raises(error) as alone:
        Backend(VOCABULARY, limits=STRANGERS, use_cache=False).index(kind, text)
    with pytest.raises(error) as isolated:
        backend.index(kind, text)
    assert type(isolated.value) is type(alone.value)
    assert str(isolated.value) == str(alone.value)


def test_a_child_that_is_killed_is_an_error_and_the_next_request_is_tried(isolation):
    """As the system kills what takes too much memory."""
    isolation.try_request("regex", "a")
    nursery = nursery_of(isolation)
    wait_until_alone(nursery)

    def kill() -> None:
        while not (found := children_of(nursery)):
            time.sleep(0.001)
        while seconds_of(found[0]) < 0.1:  # a child says first which process it is
            time.sleep(0.001)
        os.kill(found[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(LimitError, match="max_memory"):
        isolation.try_request("choice", slow_choice(1000))
    killer.join()
    isolation.try_request("regex", "b")
    assert nursery_of(isolation) == nursery


def test_more_files_are_open_than_select_can_tell(isolation):
    import resource

    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        isolation.try_request("regex", "f")
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))


def test_children_give_way_to_those_whose_texts_are_written(isolation):
    isolation.try_request("regex", "give way")
    ours, theirs = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, nursery_of(isolation)))
    assert theirs >= min(ours + 10, 19)


def test_a_child_that_takes_long_gives_way_to_those_that_do_not(isolation):
    isolation.try_request("regex", "a moment")
    nursery, priorities = nursery_of(isolation), set()
    wait_until_alone(nursery)
    trying = threading.Thread(target=_tried, args=(isolation, "choice", slow_choice(2000)))
    trying.start()
    while trying.is_alive():
        with contextlib.suppress(OSError):  # it has ended
            priorities |= {os.getpriority(os.PRIO_PROCESS, each) for each in children_of(nursery)}
        time.sleep(0.001)
    first = os.getpriority(os.PRIO_PROCESS, nursery)
    assert priorities == {first, min(first + 9, 19)}


def _tried(isolation: Isolation, *asked: str) -> None:
    with contextlib.suppress(LimitError):
        isolation.try_request(*asked)


def test_a_nursery_that_is_killed_is_begun_again(isolation):
    isolation.try_request("regex", "c")
    before = nursery_of(isolation)
    os.kill(before, signal.SIGKILL)
    isolation._nursery._process.wait()
    isolation.try_request("regex", "d")
    assert nursery_of(isolation) != before


def test_nobody_waits_for_a_request_whose_client_has_left(isolation):
    left = threading.Event()
    threading.Timer(0.1, left.set).start()
    with pytest.raises(LimitError, match="cancelled"):
        isolation.try_request("choice", slow_choice(1001), left.is_set)
    wait_until_alone(nursery_of(isolation))


def test_a_verdict_is_remembered(isolation):
    for _ in range(2):
        with pytest.raises(PatternError, match="not a regular expression"):
            isolation.try_request("regex", "(once")
    isolation.try_request("regex", "e")
    os.kill(nursery_of(isolation), signal.SIGSTOP)  # nobody answers any more
    try:
        isolation.try_request("regex", "e")
        with pytest.raises(PatternError):
            isolation.try_request("regex", "(once")
    finally:
        os.kill(nursery_of(isolation), signal.SIGCONT)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"type": "string", "maxlength": 3}', ["/maxlength"]),
        ('{"type": "string", "maxLength": 3}', []),
        (
            json.dumps({"properties": {"a": {"requird": [], "\u00e9\n": 1}}}),
            ["/properties/a/requird"],
        ),
        (json.dumps({"allOf": [{f"min{n}Length": 1} for n in range(30)]}), None),
    ],
)
def test_what_is_left_out_is_told_by_the_process_that_tries_it(backend, text, paths):
    alone = Backend(VOCABULARY, limits=STRANGERS, use_cache=False)
    alone.index("json", text)
    backend.check("json", text)
    told = backend.left_out("json", text)
    assert told == alone.left_out("json", text)
    if paths is not None:
        assert [path for path, _ in told] == paths
    else:
        assert len(told) == 17
        assert told[-1] == ("/", "and 14 more")


@pytest.mark.slow
def test_a_defect_is_not_told_as_a_limit(monkeypatch):
    def broken(*_):
        raise KeyError("x")

    backend = Backend(VOCABULARY, limits=STRANGERS, use_cache=False)
    monkeypatch.setattr(backend, "index", broken)
    seconds, name, message = isolation_module._told(backend, "json", "{}")
    assert (seconds, name) == (0.0, "CfgGuideError")
    assert message == "trying the request failed, please report it: KeyError: 'x'"


def test_what_fails_in_the_middle_of_a_text_is_refused():
    """Each a may or may not have a b behind it: nobody knows for five characters."""
    text = "start: A+\nA: /(?:a(?=.{5}b)c?|ad?)+/"
    few = cfgguide.Limits(max_hypotheses=6, max_seconds=60)
    assert Backend(VOCABULARY, limits=few, use_cache=False).index("grammar", text)
    with pytest.raises(LimitError, match="ways to read the text"):
        Backend(VOCABULARY, limits=few, use_cache=False, isolate=True).index("grammar", text)


def test_a_mask_that_takes_long_is_refused_but_for_the_first():
    index = cfgguide.compile(cfgguide.json_schema({}), VOCABULARY, use_cache=False)
    isolation_module.walk(index, 1, most_seconds=60)
    with pytest.raises(
        LimitError, match="a mask takes more than 0 seconds of the processor, and a"
    ):
        isolation_module.walk(index, most_seconds=0)


@pytest.mark.parametrize("n", [10, 50, 90])
def test_no_word_hides_what_comes_after_it_from_a_trial(n):
    """A mask is known after the word, though a walk of chance is over before."""
    index = cfgguide.compile(cfgguide.regex("x" * n + "[ab]{2}"), VOCABULARY, use_cache=False)
    isolation_module.walk(index)
    guide = cfgguide.Guide(index)
    for token_id in b"x" * n + b"a":
        guide.advance(token_id)
    assert guide.is_ready


def test_verdicts_are_bounded_and_those_that_are_asked_for_stay():
    verdicts = Verdicts()
    refusal = LimitError("it takes too long")
    verdicts.note(b"first", refusal)
    for number in range(20_000):
        verdicts.note(b"%d" % number, Passed(0.0))
        verdict = verdicts.of(b"first")
        assert isinstance(verdict, LimitError)
        assert str(verdict) == str(refusal)
    assert len(verdicts) <= 5_000
    assert verdicts.of(b"19999") == Passed(0.0)
    assert verdicts.of(b"0") is None


def test_names_are_not_tried_but_what_follows_them_is(tmp_path):
    (tmp_path / "mine.lark").write_text('start: "a"\n', encoding="utf-8")
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False, isolate=True)
    os.kill(nursery_of(backend._isolation), signal.SIGSTOP)
    try:
        for name in ("cfgguide:json", "cfgguide:json {}", "cfgguide:mine"):
            assert backend.index("grammar", name)
        for options in (
            'cfgguide:sql_select {"tables": {"users": ["id"]}}',
            'cfgguide:json {"max_ignored": 1}',
            'cfgguide:json {"start": "value"}',
            'cfgguide:json {"tidy": false}',
            'cfgguide:mine {"max_ignored": 1}',
        ):
            with pytest.raises(LimitError, match="cancelled"):
                backend.index("grammar", options, cancelled=lambda: True)
    finally:
        os.kill(nursery_of(backend._isolation), signal.SIGCONT)


def test_what_failed_amid_a_text_is_not_tried_again():
    backend = Backend(VOCABULARY, limits=STRANGERS, use_cache=False, isolate=True)
    matcher = backend.matcher("regex", "abc[0-9]+")
    slow = cfgguide.Limits(max_seconds=1e-9)
    allowance = Allowance(slow, backend._verdicts, key_of("regex", "abc[0-9]+"))
    with pytest.raises(LimitError, match="a mask takes more"):
        Matcher(matcher.index, allowance=allowance).accept(list(b"abc"))
    os.kill(nursery_of(backend._isolation), signal.SIGSTOP)  # nobody answers any more
    try:
        for asked in (backend.index, backend.check, lambda *each: backend.checked(*each).result()):
            with pytest.raises(LimitError, match="a mask takes more"):
                asked("regex", "abc[0-9]+")
    finally:
        os.kill(nursery_of(backend._isolation), signal.SIGCONT)
    assert backend.index("regex", "abc[0-9]*")


def test_a_nursery_ends_with_its_backend():
    isolation = Isolation(VOCABULARY, STRANGERS, use_cache=False)
    process = isolation._nursery._process
    del isolation
    assert process.wait(60) == 0


def test_who_hands_requests_on_compiles_nothing_here():
    backend = Backend(VOCABULARY, limits=STRANGERS, use_cache=False, isolate=True)
    for _ in range(2):
        backend.check("regex", "[0-9]+")
        assert backend.checked("regex", "[0-9]+").result() is None
        with pytest.raises(PatternError):
            backend.check("regex", "(")
        assert isinstance(backend.checked("regex", "(").exception(), PatternError)
    metrics = backend.metrics
    assert (metrics.n_compiled, metrics.n_hits, metrics.n_refused) == (1, 3, 4)
    assert metrics.n_indexes == 0
    assert backend.ready("regex", "[0-9]+") is None
    backend.check("grammar", "cfgguide:json")  # ours
    assert backend.ready("grammar", "cfgguide:json") is not None


def test_without_another_process_what_is_checked_is_compiled():
    backend = Backend(VOCABULARY, limits=STRANGERS, use_cache=False)
    backend.check("regex", "[0-9]+")
    assert backend.checked("regex", "[0-9]+").result() is backend.ready("regex", "[0-9]+")
