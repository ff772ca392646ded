"""``cfgguide generate``: a model writes a sentence on the screen.

In: the parsed arguments. Out: an exit status; the text is printed as it is written.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from cfgguide.languages.presets import Preset, preset_of
from cfgguide.studio.cli.arguments import (
    STANDARD_INPUT,
    add_grammar,
    check_standard_input,
    grammar_of,
    read_text,
    text_argument,
)
from cfgguide.studio.cli.output import Output, is_terminal
from cfgguide.studio.cli.parsing import FILES, FOLDERS, YES, Commands, completes

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary
    from cfgguide.models.transformers.streaming import Generation


def add_generate(commands: Commands) -> None:
    """Add the command ``generate``."""
    command = commands.add(
        "generate",
        _generate,
        about="let a model write a sentence",
        examples=(
            ("generate json --prompt 'A cat as JSON'", ""),
            ("generate sql --prompt - < question.txt", "the prompt from standard input"),
            ("generate my.lark --prompt 'Say hello' --model DIR --temperature 0.7 --seed 1", ""),
        ),
    )
    add_grammar(command, is_written=True)
    command.add_argument(
        "--prompt",
        type=text_argument,
        required=True,
        metavar="TEXT",
        help="what to write about; - for standard input",
    )
    model = command.add_argument(
        "--model", metavar="PATH", help="a local model; SmolLM2 by default"
    )
    completes(model, FOLDERS)
    index = command.add_argument("--index", metavar="FILE", help="use the masks that `index` made")
    completes(index, FILES)
    command.add_argument(
        "--max-new-tokens",
        type=positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="within these the sentence is finished",
    )
    command.add_argument(
        "--temperature", type=float, default=argparse.SUPPRESS, metavar="T", help="0 is greedy"
    )
    command.add_argument("--seed", type=int, metavar="N", help="makes sampling reproducible")
    command.add_argument(
        "--raw", action="store_true", help="continue the prompt even if the model can chat"
    )


def positive(text: str) -> int:
    """Return the number of an argument, which is 1 at least."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _generate(options: argparse.Namespace) -> int:
    from cfgguide.compiler import compile, compile_machine
    from cfgguide.models.transformers.generation import stream

    output = options.output
    check_standard_input([options.grammar, options.prompt])
    grammar = grammar_of(options)
    given = options.prompt
    if given == STANDARD_INPUT:
        given = read_text(given).removesuffix("\n")
    # A mistake in the grammar is told before a model is loaded.
    compile_machine(grammar, progress=output.progress)
    model, tokenizer = loaded(options)
    index = compile(grammar, model_vocabulary(tokenizer, model), progress=output.progress)
    if options.index is not None:
        index.add_file(options.index)
    preset = preset_of(options.grammar)
    screen = _Screen(preset, output)
    is_chat = bool(getattr(tokenizer, "chat_template", None)) and not options.raw
    prompt: Any = preset.messages(given) if is_chat else given
    is_seen = is_terminal(sys.stdout) and not output.is_json  # as it is written
    # What is not named is as `generate` has it.
    chosen: Any = {n: v for n, v in vars(options).items() if n in ("max_new_tokens", "temperature")}
    parts = stream(
        model,
        prompt,
        tokenizer=tokenizer,
        what=index,
        until=preset.has_ended if grammar.start == preset.start else None,
        seed=options.seed,
        progress=output.has_progress and not is_seen,
        **chosen,
    )
    for part in parts:
        screen.show(part.text)
    result = parts.result
    screen.end(is_cut=not _ends_with_eos(result, index))
    output.document(
        {
            "grammar": options.grammar,
            "text": screen.text,
            "token_ids": result.token_ids,
            "is_complete": result.is_complete,
            "n_model_calls": result.n_model_calls,
            "n_forced": result.n_forced,
        }
    )
    return YES


def loaded(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the model that the user named, and its tokenizer."""
    from cfgguide.models.load import load_model, prepare_smollm2

    path = options.model
    if path is None:
        path = prepare_smollm2(progress=options.output.progress)
    with options.output.working("loading the model"):
        return load_model(path)


def model_vocabulary(tokenizer: Any, model: Any) -> Vocabulary:
    """Return the vocabulary with all the EOS ids that the model was trained to stop at."""
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

    eos_token_ids = model.generation_config.eos_token_id  # None, a number or a list
    return Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos_token_ids)


def _ends_with_eos(result: Generation[Any], index: Index) -> bool:
    return result.token_ids[-1:] != () and result.token_ids[-1] in index.vocabulary.eos_token_ids


class _Screen:
    """Shows a text as it is written, but holds back what may turn out to be its unwanted end."""

    def __init__(self, preset: Preset, output: Output) -> None:
        self._tail = preset.tail
        self._output = output
        self._held = ""
        self.text = ""

    def show(self, piece: str) -> None:
        """Show a piece, and what was held back."""
        text = self._held + piece
        tail = self._tail.search(text) if self._tail is not None else None
        shown = text[: tail.start()] if tail is not None else text
        self._held = text[len(shown) :]
        self._add(shown, end="")

    def end(self, *, is_cut: bool) -> None:
        """Show what was held back, unless the text was cut there."""
        self._add("" if is_cut else self._held, end="\n")

    def _add(self, shown: str, *, end: str) -> None:
        self.text += shown
        self._output.data(shown, end=end)
