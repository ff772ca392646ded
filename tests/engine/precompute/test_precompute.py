"""Masks made ahead are those that would be made when first asked for, and then none is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import lark
import numpy as np
import pytest
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
import cfgguide.studio.cli.generating
import cfgguide.studio.cli.main
from cfgguide.engine.index.configuration_trie import Path as EntryPath
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.precompute.ahead import Precomputed, precompute_masks
from cfgguide.errors import IndexFormatError, LimitError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import START_STATE

ROOT = Path(cfgguide.__file__).parent.parent
LARK_GRAMMAR = Path(lark.__file__).parent / "grammars" / "lark.lark"
PYTHON_GRAMMAR = LARK_GRAMMAR.with_name("python.lark")  # takes minutes to build


def words(alphabet: str, longest: int, n: int) -> list[bytes]:
    rng = random.Random(0)
    longer = {"".join(rng.choices(alphabet, k=rng.randint(2, longest))) for _ in range(n)}
    return [word.encode() for word in (*alphabet, *sorted(longer))]


GRAMMARS = {
    "brackets": (
        'start: "(" start? ")" | "[" start? "]"',
        [b"(", b"[", b")", b"]", b"))", b")]", b"]]", b")])"],
    ),
    "json": (
        cfgguide.Grammar.bundled("json").text,
        [*cfgguide.Vocabulary.of_bytes().tokens[:256], *b'": ", "} true [{ "a"'.split()],
    ),
    "keywords": (
        """
        start: (stmt ";")*
        stmt: "if" NAME "then" stmt ["else" stmt] | NAME "=" (NAME | INT | "(" NAME ")")
        NAME: /[a-z]+/
        INT: /[0-9]+/
        %ignore /[ \\n]+/
        """,
        [*words("ifthenels x=1;() \n", 4, 150), b"if x then", b" else", b"x=1;"],
    ),
    # Behind a word no other word can start: `<((w` is a dead end, `{((w` is none.
    "what only the lexer knows, of what lies deep": (
        """
        start: "<" b WORD ">" | "{" b "}"
        b: "(" b | WORD | "!"
        WORD: /[a-z]+/
        """,
        [b"<", b"{", b"(", b"w", b"!", b">", b"}"],  # no token itself reads on to what decides
    ),
    "fall-backs, with more than one reading": (
        """
        start: (A | AB | ABABC | "(" start ")")+
        A: "a" | "b"
        AB: "ab"
        ABABC: /(ab)+c/
        """,
        words("abc()", 4, 60),
    ),
    "look-around, with contexts": (
        r"""
        start: (NAME | DOT | BACK | "(" start ")")+
        NAME: /[a-z]+(?=[.!()])/
        DOT: /\.(?!\.)/
        BACK: /(?<=[.(])![a-z]?/
        """,
        words("a.!()", 4, 80),
    ),
}


def compiled(name: str, **options) -> cfgguide.Index:
    text, tokens = GRAMMARS[name]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):  # some tokens are of no use to some grammars
        return cfgguide.compile(cfgguide.Grammar(text), vocabulary, **options)


def entries(index: cfgguide.Index) -> dict[EntryPath, bytes]:
    return {path: each.bitmask.tobytes() for path, each in index.entries().items()}


def known_part(path: EntryPath) -> tuple[int, int, list[int]]:
    """The scanner state, the context and the parse states of an entry with one hypothesis."""
    if isinstance(path[0], int):
        return path[0], 0, list(path[1:])
    (((state, obligations),), context), *levels = path
    assert obligations == NO_OBLIGATIONS
    return state, context, [state for (state,) in levels]


def whole_stacks(index: cfgguide.Index, states: list[int], n: int) -> Iterator[Stack]:
    """Some stacks that begin so at the top, by random steps down; short ones more often."""
    rng, liveness = random.Random(len(states)), index.machine.liveness
    tops = list(range(index.machine.recognizer.parse_table.n_states))
    for _ in range(n):
        stack = list(states) or [rng.choice([s for s in tops if liveness.predecessors(s)])]
        while stack[-1] != START_STATE:
            below = liveness.predecessors(stack[-1])
            stack.append(min(below) if len(stack) > 20 else rng.choice(below))
            if len(stack) > 200:
                break
        else:
            yield Stack.of(reversed(stack))


def is_plain(configuration: Configuration) -> bool:
    return len(configuration.hypotheses) == 1 and not configuration.hypotheses[0].obligations


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_mask_made_ahead_is_that_of_every_stack_that_begins_so(name):
    index, lazy = compiled(name), compiled(name)
    precompute_masks(index, max_bytes=200_000)
    rng = random.Random(0)
    made = entries(index)
    n_compared = 0
    for path in rng.sample(sorted(made, key=repr), min(len(made), 400)):
        state, context, states = known_part(path)
        for stack in whole_stacks(index, states, 3):
            whole = Configuration((Hypothesis(state, NO_OBLIGATIONS, stack),), context)
            mask = lazy.mask_of(whole)
            assert (mask.bitmask.tobytes(), mask.depth) == (made[path], len(path) - 1)
            n_compared += 1
    assert n_compared > len(made) / 2


#: Those in which no stack must be read to a depth without bound.
COMPLETE = [
    "brackets",
    "json",
    "what only the lexer knows, of what lies deep",  # the `(` are dropped: nothing closes them
    "fall-backs, with more than one reading",
    "look-around, with contexts",
]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", GRAMMARS)
def test_guides_find_the_masks_that_they_would_have_made(name):
    index, lazy = compiled(name), compiled(name)
    built = precompute_masks(index, max_bytes=3_500_000)
    assert built.is_complete == (built.share == 1.0)
    assert built.is_complete == (name in COMPLETE)
    rng, n_found = random.Random(1), 0
    for _ in range(40):
        guide = cfgguide.Guide(lazy)
        configuration = index.machine.initial
        for _ in range(25):
            allowed = guide.allowed_token_ids()
            n_made = index.n_made
            assert index.subset(configuration).token_ids().tolist() == allowed.tolist()
            if is_plain(configuration):
                n_found += index.n_made == n_made
                assert index.n_made == n_made or not built.is_complete
            texts = [token for token in allowed.tolist() if lazy.vocabulary.tokens[token]]
            if not texts:
                break
            guide.advance(token := rng.choice(texts))
            configuration = lazy.machine.advance(configuration, lazy.vocabulary.tokens[token])
    assert n_found > 50


def test_what_is_built_is_told():
    built = precompute_masks(compiled("brackets"))
    assert (built.is_complete, built.n_left, built.n_given_up) == (True, 0, 0)
    assert built.n_entries <= built.n_decided
    assert str(built).startswith(f"100.0% covered: {built.n_decided} pairs")
    bounded = precompute_masks(compiled("json"), max_bytes=15_000)
    assert 0 < bounded.share < 1
    assert not bounded.is_complete
    assert f"{bounded.n_left:,} left" in str(bounded)
    nearly = Precomputed(1, 0, 2, 0.99999, 1, 1, 1, 1.0, 3)
    assert "99.9% covered: 1 pairs" in str(nearly)
    assert "2 given up, 3 workers lost" in str(nearly)


def test_a_bound_on_bytes_holds():
    index = compiled("json")
    for most in (0, 14_000, 20_000):
        built = precompute_masks(index, max_bytes=most)
        assert built.n_bytes <= most
        assert (built.n_entries > 0) == (most > 0)
        assert not built.is_complete


def test_parts_that_shortened_stacks_never_have_are_not_tried():
    """An ambiguous grammar, whose stacks grow with each operator until they are shortened."""
    grammar = cfgguide.Grammar('start: e\ne: e "+" e | e "*" e | "(" e ")" | "n"')
    index = cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes())
    built = precompute_masks(index)
    assert built.n_entries < 100
    n_ahead = index.n_made
    guide = cfgguide.Guide(index)
    for byte in b"n+(n*(n+n)*n)+n*((n)+n)":
        guide.allowed_token_ids()
        guide.advance(byte)
    assert index.n_made == n_ahead


def test_a_bound_on_seconds_holds():
    index = compiled("json")
    built = precompute_masks(index, max_seconds=0)
    assert (built.n_entries, built.share) == (0, 0)
    assert built.n_left


def test_a_bounded_index_is_filled_and_nothing_dropped():
    index = compiled("json", max_bytes=22_000)
    assert not precompute_masks(index).is_complete
    assert index._entries.n_dropped == 0
    assert index.n_entries > 30


def test_stacks_that_never_decide_end_at_the_bound():
    grammar = cfgguide.Grammar('start: "a" start | "b" start | "(" start ")" | "a"')
    vocabulary = cfgguide.Vocabulary([*words("ab()", 3, 20), None], eos_token_ids=0)
    built = precompute_masks(cfgguide.compile(grammar, vocabulary), max_bytes=1_000_000)
    assert 0 < built.share < 1


@pytest.mark.parametrize("n_processes", [0, -1])
def test_there_is_at_least_one_process(n_processes):
    with pytest.raises(
        LimitError, match=f"n_processes must be a number above 0, not {n_processes}"
    ):
        precompute_masks(compiled("brackets"), n_processes=n_processes)


@pytest.mark.parametrize("name", ["json", "look-around, with contexts"])
def test_a_saved_index_is_built_further_without_doing_anything_twice(name, tmp_path):
    whole = compiled(name)
    precompute_masks(whole, max_bytes=3_500_000)
    some = compiled(name)
    n_some = precompute_masks(some, max_bytes=12_000).n_entries
    assert 0 < n_some < whole.n_entries
    some.save(tmp_path / "index")
    rest = cfgguide.Index.load(tmp_path / "index", some.vocabulary)
    precompute_masks(rest, max_bytes=3_500_000)
    if name in COMPLETE:
        assert rest.n_made == whole.n_entries - n_some
        assert entries(rest) == entries(whole)
    rest.save(tmp_path / "index")
    again = cfgguide.Index.load(tmp_path / "index", some.vocabulary)
    precompute_masks(again, max_bytes=12_000)  # full from the beginning
    assert again.n_made == 0
    assert entries(again) == entries(rest)


def test_masks_made_lazily_before_are_kept():
    index, ahead = compiled("json"), compiled("json")
    guide = cfgguide.Guide(index)
    for _ in range(30):
        guide.advance(int(guide.allowed_token_ids()[0]))
    n_lazy = index.n_made
    precompute_masks(ahead)
    precompute_masks(index)
    assert n_lazy
    assert entries(index).items() >= entries(ahead).items()
    assert index.n_made == index.n_entries  # nothing twice


def test_an_interrupted_build_keeps_what_was_made():
    index = compiled("json")
    seen: list[Precomputed] = []

    def interrupt(precomputed: Precomputed) -> None:
        seen.append(precomputed)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        precompute_masks(index, max_bytes=100_000, progress=interrupt)
    assert index.n_entries == seen[0].n_entries > 0
    assert precompute_masks(index).is_complete
    whole = compiled("json")
    precompute_masks(whole)
    assert entries(index) == entries(whole)


def test_progress_is_shown_if_wanted(capsys):
    precompute_masks(compiled("brackets"), progress=True)
    assert "100%" in capsys.readouterr().err
    precompute_masks(compiled("brackets"), progress=False)
    precompute_masks(compiled("brackets"))  # standard error is no terminal
    assert capsys.readouterr().err == ""


# --- Other processes -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> cfgguide.Index:
    """An index of which a whole build takes more than seconds."""
    grammar = cfgguide.Grammar(LARK_GRAMMAR.read_text())
    return cfgguide.compile(grammar, standard_library_vocabulary())


def workers() -> list[int]:
    """The ids of the processes that this one has started here: other tests may have judges."""
    tasks = Path("/proc/self/task").glob("*/children")
    found = [int(number) for task in tasks for number in task.read_text().split()]
    return [number for number in found if number not in OTHERS]


OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.update(workers() if Path("/proc/self/task").exists() else ())


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", "look-around, with contexts"])
def test_other_processes_make_the_same_masks(name):
    alone, together = compiled(name), compiled(name)
    told = precompute_masks(alone, n_processes=1, max_bytes=3_000_000)
    found = precompute_masks(together, n_processes=2, max_bytes=3_000_000)
    if told.is_complete:
        assert entries(together) == entries(alone)
        assert (found.n_decided, found.share) == (told.n_decided, told.share)
    both = entries(together).keys() & entries(alone).keys()
    assert len(both) > 100
    assert all(
        entries(together)[path] == entries(alone)[path] for path in sorted(both, key=repr)[::20]
    )


@pytest.mark.slow
def test_bounds_hold_with_other_processes():
    index = compiled("json", max_bytes=20_000)
    built = precompute_masks(index, n_processes=2)
    assert built.n_bytes <= 20_000
    assert built.n_left
    assert index._entries.n_dropped == 0
    assert precompute_masks(compiled("json"), n_processes=2, max_seconds=0).n_entries == 0


@needs_proc
@pytest.mark.slow
def test_a_killed_worker_is_no_loss():
    index, whole = compiled("json"), compiled("json")
    killed = []

    def kill(precomputed: Precomputed) -> None:
        if not killed and precomputed.n_entries:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    built = precompute_masks(index, n_processes=3, progress=kill)
    assert killed
    assert built.is_complete
    precompute_masks(whole)
    assert entries(index) == entries(whole)


@needs_proc
@pytest.mark.slow
def test_without_workers_the_rest_stays_lazy(large):
    def kill(precomputed: Precomputed) -> None:
        for worker in workers() if precomputed.n_entries else ():
            os.kill(worker, signal.SIGKILL)

    n_before = large.n_entries
    built = precompute_masks(large, n_processes=2, progress=kill)
    assert built.n_lost_workers == 2
    assert built.n_left
    assert "2 workers lost" in str(built)
    assert large.n_entries > n_before
    assert large.subset(large.machine.initial).n_tokens
    assert workers() == []


@pytest.mark.slow
def test_an_interrupted_build_ends_its_processes(large):
    def interrupt(precomputed: Precomputed) -> None:
        if precomputed.n_entries > n_before:
            raise KeyboardInterrupt

    n_before = large.n_entries
    with pytest.raises(KeyboardInterrupt):
        precompute_masks(large, n_processes=2, progress=interrupt)
    assert large.n_entries > n_before
    assert workers() == []


@pytest.mark.slow
def test_json_is_covered_with_a_vocabulary_of_realistic_size():
    vocabulary = standard_library_vocabulary()
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary)
    lazy = cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary)
    assert precompute_masks(index).is_complete
    documents = sorted((ROOT / "tests" / "golden").glob("*/accept/*.json"))
    texts = [document.read_text() for document in documents]
    texts += ['{"a": [1.5e-3, true, {"b\\u00e9": null}], "c": [[], [[{}]]]}', "[" * 9 + "]" * 9]
    for text in texts:
        guide, other = cfgguide.Guide(index), cfgguide.Guide(lazy)
        for token in standard_library_tokenizer().encode(text, add_special_tokens=False).ids:
            assert np.array_equal(guide.allowed_token_ids(), other.allowed_token_ids())
            guide.advance(token)
            other.advance(token)
        assert guide.is_accepting
    assert index.n_made == index.n_entries == len(entries(index))
    plain = [path for path in entries(lazy) if isinstance(path[0], int)]
    assert len(plain) > 20
    assert entries(index).keys() >= set(plain)


# --- On the command line -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_tokenizer().save_pretrained(tmp_path / "tokenizer")
    Path("my.lark").write_text(GRAMMARS["brackets"][0])
    return tmp_path


def command(grammar: str, *options: str) -> list[str]:
    return ["index", grammar, "--tokenizer", "tokenizer", "--output", "index", *options]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = cfgguide.studio.cli.main.main(list(arguments))
    return status, *capsys.readouterr()


def test_index_writes_a_file_and_says_what_is_in_it(folder, capsys):
    status, out, err = run(capsys, *command("my.lark"))
    assert (status, err) == (0, "")
    covered, size = out.splitlines()
    assert covered.startswith("100.0% covered: ")
    assert size == f"index: {os.path.getsize('index'):,} bytes"
    index = cfgguide.Index.load("index", small_tokenizer())
    assert f" {precompute_masks(index).n_entries} entries" in covered
    assert index.n_made == 0


def test_index_goes_on_from_its_own_file_and_no_other(folder, capsys):
    bounded = run(capsys, *command("my.lark", "--max-bytes", "12000"))
    assert bounded[0] == 0
    assert " left; " in bounded[1]
    status, out, _ = run(capsys, *command("my.lark", "--processes", "1"))
    assert status == 0
    assert out.startswith("100.0% covered: ")
    before = Path("index").read_bytes()
    status, out, err = run(capsys, *command("json"))
    assert (status, out) == (2, "")
    assert "it was made from something else" in err
    assert Path("index").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output", "nowhere/index"], "[error] cannot write 'nowhere/index': No such file"),
        (["--eos", "</nothing>"], "[vocabulary] the tokenizer has no token '</nothing>' for --eos"),
        (["--processes", "0"], "[limit] n_processes must be a number above 0, not 0"),
    ],
)
def test_what_index_cannot_do_is_an_error(folder, capsys, options, said):
    status, out, err = run(capsys, *command("my.lark", *options))
    assert (status, out) == (2, "")
    assert err.startswith(f"cfgguide: {said}")


def test_the_end_of_a_text_can_be_named(folder, capsys):
    tokenizer = small_tokenizer()
    name = tokenizer.convert_ids_to_tokens(5)
    assert run(capsys, *command("my.lark", "--eos", name))[0] == 0
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=5)
    assert cfgguide.Index.load("index", vocabulary).n_entries == 0  # until it is asked
    with pytest.raises(IndexFormatError):
        cfgguide.Index.load("index", tokenizer)


def test_generate_uses_the_file(folder, capsys, monkeypatch):
    loaded = random_model(N_SMALL + 5), small_tokenizer()
    monkeypatch.setattr("cfgguide.models.load.prepare_smollm2", lambda progress: Path("smollm2"))
    monkeypatch.setattr("cfgguide.models.load.load_model", lambda path: loaded)
    prompt = ["generate", "my.lark", "--prompt", "x", "--seed", "1", "--temperature", "1"]
    lazily = run(capsys, *prompt)
    eos = cfgguide.studio.cli.generating.model_vocabulary(loaded[1], loaded[0]).eos_token_ids
    names = loaded[1].convert_ids_to_tokens(list(eos))
    assert run(capsys, *command("my.lark", *(f"--eos={name}" for name in names)))[0] == 0
    assert run(capsys, *prompt, "--index", "index") == lazily
    assert run(capsys, *command("json", "--output", "other", "--max-bytes", "0"))[0] == 1
    status, out, err = run(capsys, *prompt, "--index", "other")
    assert (status, out) == (2, "")
    assert "it was made from something else" in err


def started(*arguments: str) -> subprocess.Popen:
    """Start a command that saves very often, in a session of its own."""
    program = (
        "import sys; from cfgguide.studio.cli import indexing, main; indexing.SAVE_SECONDS = 0.1; "
        "sys.exit(main.main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def n_saved() -> int:
    return len(cfgguide.Index.load("index", small_tokenizer()).entries())


def wait_until_saved(ran: subprocess.Popen, n_more_than: int) -> None:
    for _ in range(3_000):  # on a busy machine
        assert ran.poll() is None, ran.communicate()
        if os.path.exists("index") and n_saved() > n_more_than:
            return
        time.sleep(0.1)
    raise AssertionError("nothing was saved")


@pytest.mark.slow
def test_a_build_whose_processes_are_all_killed_is_gone_on_with(folder, capsys):
    grammar = [str(PYTHON_GRAMMAR), "--start", "file_input"]
    ran = started(*command(*grammar, "--processes", "2"))
    wait_until_saved(ran, 100)
    os.killpg(ran.pid, signal.SIGKILL)
    ran.communicate()
    n_before = n_saved()
    for _ in range(10):  # a busy machine may need more than one
        status, out, _ = run(capsys, *command(*grammar, "--max-seconds", "20"))
        assert status == 0
        if n_saved() > n_before:
            break
    assert n_saved() > n_before > 100
    assert f" {n_saved():,} entries" in out


@pytest.mark.slow
def test_ctrl_c_saves_what_was_made(folder):
    grammar = [str(PYTHON_GRAMMAR), "--start", "file_input"]
    ran = started(*command(*grammar, "--processes", "2"))
    wait_until_saved(ran, 100)
    os.killpg(ran.pid, signal.SIGINT)  # as a terminal does: to all of its processes
    out, err = ran.communicate(timeout=240)
    assert (ran.returncode, out) == (130, b"")
    assert err.endswith(b"cfgguide: interrupted\n")
    assert b"Traceback" not in err
    assert n_saved() > 100
