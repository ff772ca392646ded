"""``cfgguide generate``: a model writes a sentence on the screen.

In: the parsed arguments. Out: an exit status; the text is printed as it is written.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cfgguide.cli.arguments import YES, grammar_of
from cfgguide.cli.presets import Preset, preset_of
from cfgguide.index.compiler import compile as compile_index
from cfgguide.index.compiler import compile_recognizer
from cfgguide.index.index import Index
from cfgguide.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from cfgguide.integrations.generation import Generation


def generate_command(options: argparse.Namespace) -> int:
    """Let a model write a sentence."""
    from cfgguide.integrations.generation import generate
    from cfgguide.models.load import load_model

    grammar = grammar_of(options)
    # A mistake in the grammar is told before a model is loaded.
    compile_recognizer(grammar, progress=None)
    model, tokenizer = load_model(options.model)
    index = compile_index(grammar, model_vocabulary(tokenizer, model), progress=None)
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
        what=index,
        max_new_tokens=options.max_new_tokens,
        until=preset.has_ended if grammar.start == preset.start else None,
        temperature=options.temperature,
        seed=options.seed,
        on_text=screen.show,
    )
    screen.end(is_cut=not _ends_with_eos(result, index))
    return YES


def model_vocabulary(tokenizer: Any, model: Any) -> Vocabulary:
    """Return the vocabulary with all the EOS ids that the model was trained to stop at."""
    eos_token_ids = model.generation_config.eos_token_id  # None, a number or a list
    return Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos_token_ids)


def _chat(preset: Preset, prompt: str) -> list[dict[str, str]]:
    messages = [{"role": "user", "content": preset.request.format(prompt=prompt)}]
    if preset.opening:
        messages.append({"role": "assistant", "content": preset.opening})
    return messages


def _ends_with_eos(result: Generation, index: Index) -> bool:
    return result.token_ids[-1:] != () and result.token_ids[-1] in index.vocabulary.eos_token_ids


class _Screen:
    """Shows a text as it is written, but holds back what may turn out to be its unwanted end."""

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
        """Show what was held back, unless the text was cut there."""
        print("" if is_cut else self._held, flush=True)
