"""The command line: ``cfgguide grammars | check | generate | trace | index | model | cache``.

``check`` without files reports on a grammar; what it warns of leaves the grammar usable.
Exit status: 0 yes, 1 no (a text is no sentence), 2 wrong usage, or a grammar, tokenizer or model
that cannot be used, or too few tokens for any sentence.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from cfgguide.cli.arguments import add_grammar, grammar_of
from cfgguide.cli.presets import Preset, preset_of
from cfgguide.diagnostics.diagnosis import diagnose, lexemes, refused_at
from cfgguide.diagnostics.explain import Explainer
from cfgguide.diagnostics.inspection import inspect
from cfgguide.errors import CfgGuideError, VocabularyError
from cfgguide.grammar.grammar import Grammar
from cfgguide.guide.guide import Guide
from cfgguide.index.compiler import compile as compile_index
from cfgguide.index.compiler import compile_recognizer
from cfgguide.index.index import Index
from cfgguide.index.precompute import DEFAULT_MAX_BYTES, Precomputed, precompute_masks, shown
from cfgguide.liveness.liveness import Liveness
from cfgguide.storage.cache import user_cache
from cfgguide.vocabulary.spelling import Spelling
from cfgguide.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from cfgguide.integrations.generation import Generation

YES, NO, UNUSABLE = 0, 1, 2
INTERRUPTED = 130
SAVE_SECONDS = 30.0  # between two times that a long build is saved
GENERATED_WHITESPACE = 16  # small models write whitespace for ever if they may


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _options(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()  # a closed pipe is to be noticed here, not when Python exits
    except CfgGuideError as error:
        print(f"cfgguide: {error}", file=sys.stderr)
        return UNUSABLE
    except UnicodeEncodeError as error:
        print(
            f"\ncfgguide: standard output, in {error.encoding}, cannot show "
            f"{error.object[error.start]!r}; set PYTHONIOENCODING=utf-8",
            file=sys.stderr,
        )
        return UNUSABLE
    except KeyboardInterrupt:
        print("\ncfgguide: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has stopped. Python flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed arguments; files may also stand after an option."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest:
        is_option = any(word.startswith("-") and word != "-" for word in rest)
        if is_option or not hasattr(options, "files"):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        options.files += rest
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cfgguide", description="Make a language model write only sentences of a grammar."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("grammars", help="list the bundled grammars")
    command.set_defaults(run=_grammars)

    command = commands.add_parser(
        "check", help="a report on a grammar; or, with files, is each a sentence?"
    )
    add_grammar(command)
    command.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="report what it can't spell: a folder, or a tokenizer.json",
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a text; - for standard input")
    command.set_defaults(run=_check)

    command = commands.add_parser("generate", help="let a model write a sentence")
    add_grammar(command, whitespace=GENERATED_WHITESPACE, is_written=True)
    command.add_argument(
        "--prompt", type=_text, required=True, metavar="TEXT", help="what to write about"
    )
    command.add_argument("--model", metavar="PATH", help="a local model; SmolLM2 by default")
    command.add_argument("--index", metavar="FILE", help="use the masks that `index` made")
    command.add_argument(
        "--max-new-tokens",
        type=int,
        default=256,
        metavar="N",
        help="within these the sentence is finished",
    )
    command.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy")
    command.add_argument("--seed", type=int, metavar="N", help="makes sampling reproducible")
    command.add_argument(
        "--raw", action="store_true", help="continue the prompt even if the model can chat"
    )
    command.set_defaults(run=_generate)

    command = commands.add_parser("trace", help="show a text token by token")
    add_grammar(command)
    command.add_argument("--text", type=_text, required=True)
    command.add_argument(
        "--tokenizer", metavar="PATH", help="a folder or tokenizer.json; SmolLM2's by default"
    )
    command.add_argument(
        "--explain", action="store_true", help="say of each token how it is read, and what follows"
    )
    command.set_defaults(run=_trace)

    command = commands.add_parser("index", help="make the masks of a grammar ahead, into a file")
    add_grammar(command, whitespace=GENERATED_WHITESPACE, is_written=True)
    command.add_argument(
        "--tokenizer", metavar="PATH", help="a folder or tokenizer.json; SmolLM2's by default"
    )
    command.add_argument(
        "--eos",
        action="append",
        metavar="TOKEN",
        help="a token that ends a text, if the tokenizer does not say; may be given several times",
    )
    command.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="where to; a build that was interrupted goes on from what is there",
    )
    command.add_argument("--max-bytes", type=int, metavar="N", help="most memory (default: 500 MB)")
    command.add_argument("--max-seconds", type=float, metavar="S", help="most time")
    command.add_argument("--processes", type=int, metavar="N", help="default: one for each core")
    command.set_defaults(run=_index)

    command = commands.add_parser("model", help="prepare the default model")
    command.add_argument("name", choices=["smollm2"])
    command.set_defaults(run=_model)

    command = commands.add_parser("cache", help="what is kept between runs, and where")
    command.add_argument("--clear", action="store_true", help="remove it")
    command.set_defaults(run=_cache)
    return parser


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("the text is not valid UTF-8") from None
    return text


def _grammars(options: argparse.Namespace) -> int:
    for name in Grammar.bundled_names():
        print(name)
    return YES


def _check(options: argparse.Namespace) -> int:
    grammar = grammar_of(options)
    if not options.files:
        return _report(grammar, options.grammar, options.tokenizer)
    if options.tokenizer is not None:
        raise CfgGuideError("--tokenizer is for the report on a grammar; leave out the files")
    recognizer = compile_recognizer(grammar)
    liveness = Liveness(recognizer, Spelling.of_all_bytes())
    status = YES
    for name in options.files:
        try:
            text = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise CfgGuideError(f"cannot read {name!r}: {error.strerror}") from None
        diagnosis = diagnose(recognizer, liveness, text)
        print(f"{name}: {diagnosis}")
        if not diagnosis.is_sentence:
            status = NO
    return status


def _report(grammar: Grammar, name: str, tokenizer: str | None) -> int:
    """Print a report on a grammar; what it warns of does not make the grammar unusable."""
    if tokenizer is None:
        report = inspect(grammar)
    else:
        from cfgguide.models.load import load_tokenizer

        compile_recognizer(grammar)  # a mistake in the grammar is told before a tokenizer
        report = inspect(grammar, load_tokenizer(tokenizer))
    print(f"{name} is usable", report, sep="\n\n")
    return YES


def _generate(options: argparse.Namespace) -> int:
    from cfgguide.integrations.generation import generate
    from cfgguide.models.load import load_model

    grammar = grammar_of(options)
    compile_recognizer(grammar)  # a mistake in the grammar is told before a model is loaded
    model, tokenizer = load_model(options.model)
    index = compile_index(grammar, _vocabulary(tokenizer, model))
    if options.index is not None:
        index.add_file(options.index)
    preset = preset_of(options.grammar)
    screen = _Screen(preset)
    is_chat = bool(getattr(tokenizer, "chat_template", None)) and not options.raw
    prompt: Any = _chat(preset, options.prompt) if is_chat else options.prompt
    result = generate(
        model,
        prompt,
        tokenizer=tokenizer,
        index=index,
        max_new_tokens=options.max_new_tokens,
        until=preset.has_ended if grammar.start == preset.start else None,
        temperature=options.temperature,
        seed=options.seed,
        on_text=screen.show,
    )
    screen.end(is_cut=not _ends_with_eos(result, index))
    return YES


def _chat(preset: Preset, prompt: str) -> list[dict[str, str]]:
    messages = [{"role": "user", "content": preset.request.format(prompt=prompt)}]
    if preset.opening:
        messages.append({"role": "assistant", "content": preset.opening})
    return messages


def _ends_with_eos(result: Generation, index: Index) -> bool:
    return result.token_ids[-1:] != () and result.token_ids[-1] in index.vocabulary.eos_token_ids


class _Screen:
    """Shows a text as it is written, without what may turn out to be nothing but its end."""

    def __init__(self, preset: Preset) -> None:
        self._tail = preset.tail
        self._held = ""

    def show(self, piece: str) -> None:
        """Show a piece, and what was held back."""
        text = self._held + piece
        tail = self._tail.search(text) if self._tail is not None else None
        shown = text[: tail.start()] if tail is not None else text
        self._held = text[len(shown) :]
        print(shown, end="", flush=True)

    def end(self, *, is_cut: bool) -> None:
        """Show the rest, but what is behind the end."""
        print("" if is_cut else self._held, flush=True)


def _trace(options: argparse.Namespace) -> int:
    from cfgguide.models.load import load_tokenizer

    grammar = grammar_of(options)
    compile_recognizer(grammar)  # a mistake in the grammar is told before transformers is loaded
    tokenizer = load_tokenizer(options.tokenizer)
    index = compile_index(grammar, tokenizer)
    guide, explainer = Guide(index), Explainer(index)
    whole = options.text.encode()
    found = lexemes(index.recognizer, whole)
    print(f"{'token':>7}  {'bytes':<24} {'allowed':>7}  terminals")
    end = 0
    text = {"add_special_tokens": False, "split_special_tokens": True}  # all of it is text
    for token_id in tokenizer.encode(options.text, **text):
        token = index.vocabulary.tokens[token_id] or b""
        start, end = end, end + len(token)
        names = [lexeme.terminal for lexeme in found if lexeme.start < end and start < lexeme.end]
        is_accepted = guide.accepts(token_id)
        shown = " ".join(names or ["..."]) if is_accepted else "REFUSED"
        n_allowed = len(guide.allowed_token_ids())
        print(f"{token_id:>7}  {str(token)[1:]:<24} {n_allowed:>7}  {shown}")
        if options.explain or not is_accepted:
            explanation = explainer.explain_token(token_id, is_allowed=is_accepted)
            if not is_accepted:
                place = refused_at(whole, start + (explanation.offset or 0), ())
                where = f"line {place.line}, column {place.column}"
                print(f"cfgguide: {where}: {explanation}\n{place.excerpt}", file=sys.stderr)
                return NO
            print(textwrap.indent(explanation.details, " " * 9))
        guide.advance(token_id)
        explainer.advance(token)
    verdict = "a sentence" if guide.is_accepting else "not a sentence yet"
    print(f"{verdict}; expected next: {', '.join(guide.expected())}")
    return YES if guide.is_accepting else NO


def _index(options: argparse.Namespace) -> int:
    from cfgguide.models.load import load_tokenizer

    grammar = grammar_of(options)
    compile_recognizer(grammar)  # a mistake in the grammar is told before transformers is loaded
    tokenizer = load_tokenizer(options.tokenizer)
    eos = None if options.eos is None else [_token_id(tokenizer, name) for name in options.eos]
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos)
    index = compile_index(grammar, vocabulary)
    file = _IndexFile(index, options.output)
    max_bytes = DEFAULT_MAX_BYTES if options.max_bytes is None else options.max_bytes
    with shown(None) as show, _interruptions() as check:

        def note(precomputed: Precomputed) -> None:
            check()
            show(precomputed)
            file.save_now_and_then()

        try:
            precomputed = precompute_masks(
                index,
                n_processes=options.processes,
                max_bytes=max_bytes,
                max_seconds=options.max_seconds,
                progress=note,
            )
        finally:
            file.save()
    print(precomputed)
    print(f"{options.output}: {os.path.getsize(options.output):,} bytes")
    return YES


@contextmanager
def _interruptions() -> Iterator[Callable[[], None]]:
    """Yield what raises `KeyboardInterrupt` if one was asked for.

    Python raises it at once by itself, but drops it where that is within a finaliser.
    """
    is_asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal is_asked
        is_asked = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if is_asked:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


class _IndexFile:
    """The file of an index that is being built."""

    def __init__(self, index: Index, path: str) -> None:
        self._index = index
        self._path = path
        if os.path.exists(path):
            index.add_file(path)
        self.save()  # if that is impossible it is better known now

    def save_now_and_then(self) -> None:
        """Save if the last time was long ago, beside what that took."""
        if time.monotonic() > self._next:
            self.save()

    def save(self) -> None:
        """Save."""
        started = time.monotonic()
        try:
            self._index.save(self._path)
        except OSError as error:
            raise CfgGuideError(f"cannot write {self._path!r}: {error.strerror}") from None
        ended = time.monotonic()
        self._next = ended + max(SAVE_SECONDS, 20 * (ended - started))


def _token_id(tokenizer: Any, name: str) -> int:
    """Return the id of a token by its name."""
    found: int | None = tokenizer.get_vocab().get(name)
    if found is None:
        raise VocabularyError(f"the tokenizer has no token {name!r} for --eos")
    return found


def _vocabulary(tokenizer: Any, model: Any) -> Vocabulary:
    """Return the vocabulary with all the EOS ids that the model was trained to stop at."""
    eos_token_ids = model.generation_config.eos_token_id  # None, a number or a list
    return Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos_token_ids)


def _model(options: argparse.Namespace) -> int:
    from cfgguide.models.load import prepare_smollm2

    print(prepare_smollm2())
    return YES


def _cache(options: argparse.Namespace) -> int:
    cache = user_cache()
    if cache is None:
        print("off (the environment variable CFGGUIDE_CACHE)")
        return YES
    if options.clear:
        n_removed = cache.clear()
        print(f"{n_removed} removed")
    entries = cache.entries()
    n_bytes = sum(entry.n_bytes for entry in entries)
    print(f"{cache.folder}: {len(entries)} entries, {n_bytes:,} of {cache.max_bytes:,} bytes")
    return YES


if __name__ == "__main__":
    sys.exit(main())
