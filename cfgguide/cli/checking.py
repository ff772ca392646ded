"""``cfgguide check`` and ``cfgguide trace``: grammars, and texts read by them.

In: the parsed arguments. Out: an exit status; what was found is printed.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from cfgguide.cli.arguments import NO, YES, grammar_of
from cfgguide.diagnostics.diagnosis import diagnose, lexemes, refused_at
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.diagnostics.inspection import inspect
from cfgguide.errors import CfgGuideError
from cfgguide.grammar.grammar import Grammar
from cfgguide.guide.guide import Guide
from cfgguide.index.compiler import compile as compile_index
from cfgguide.index.compiler import compile_recognizer
from cfgguide.liveness.liveness import Liveness
from cfgguide.vocabulary.spelling import Spelling


def check_command(options: argparse.Namespace) -> int:
    """Report on a grammar or, with texts, say whether each is a sentence."""
    grammar = grammar_of(options)
    if not options.files and options.text is None:
        return _report(grammar, options.grammar, options.tokenizer)
    if options.tokenizer is not None:
        raise CfgGuideError("--tokenizer is for the report on a grammar; leave out the texts")
    recognizer = compile_recognizer(grammar, progress=None)
    liveness = Liveness(recognizer, Spelling.of_all_bytes())
    status = YES
    for name, text in _texts(options):
        diagnosis = diagnose(recognizer, liveness, text)
        print(f"{name}: {diagnosis}")
        if not diagnosis.is_sentence:
            status = NO
    return status


def _texts(options: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """Yield what the texts are called, and the texts."""
    if options.text is not None:
        yield "the text", options.text.encode()
    for name in options.files:
        try:
            yield name, sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise CfgGuideError(f"cannot read {name!r}: {error.strerror}") from None


def _report(grammar: Grammar, name: str, tokenizer: str | None) -> int:
    """Print a report on a grammar; what it warns of does not make the grammar unusable."""
    if tokenizer is None:
        report = inspect(grammar, progress=None)
    else:
        from cfgguide.models.load import load_tokenizer

        # A mistake in the grammar is told before a tokenizer is loaded.
        compile_recognizer(grammar, progress=None)
        report = inspect(grammar, load_tokenizer(tokenizer), progress=None)
    print(f"{name} is usable", report, sep="\n\n")
    return YES


def trace_command(options: argparse.Namespace) -> int:
    """Show a text token by token, as a grammar reads it."""
    from cfgguide.models.load import load_tokenizer

    grammar = grammar_of(options)
    # A mistake in the grammar is told before transformers is loaded.
    compile_recognizer(grammar, progress=None)
    tokenizer = load_tokenizer(options.tokenizer)
    index = compile_index(grammar, tokenizer, progress=None)
    if options.html is not None:
        from cfgguide.draw.page import save_trace_page

        named = {"tokenizer": tokenizer, "name": options.grammar}
        return YES if save_trace_page(index, options.text, options.html, **named) else NO
    guide, explainer = Guide(index), explainer_of(index)
    whole = options.text.encode()
    all_lexemes = lexemes(index.recognizer, whole)
    print(f"{'token':>7}  {'bytes':<24} {'allowed':>7}  terminals")
    end = 0
    text = {"add_special_tokens": False, "split_special_tokens": True}  # all of it is text
    for token_id in tokenizer.encode(options.text, **text):
        token = index.vocabulary.tokens[token_id] or b""
        start, end = end, end + len(token)
        names = [
            lexeme.terminal for lexeme in all_lexemes if lexeme.start < end and start < lexeme.end
        ]
        is_accepted = guide.accepts(token_id)
        shown = " ".join(names or ["..."]) if is_accepted else "REFUSED"
        n_allowed = len(guide.allowed_token_ids())
        print(f"{token_id:>7}  {str(token)[1:]:<24} {n_allowed:>7}  {shown}")
        if options.explain or not is_accepted:
            explanation = explainer.explain_token(token_id, is_allowed=is_accepted)
            if not is_accepted:
                position = refused_at(whole, start + (explanation.offset or 0), ())
                where = f"line {position.line}, column {position.column}"
                print(f"cfgguide: {where}: {explanation}\n{position.excerpt}", file=sys.stderr)
                return NO
            print(textwrap.indent(explanation.details, " " * 9))
        guide.advance(token_id)
        explainer.advance(token)
    verdict = "a sentence" if guide.is_accepting else "not a sentence yet"
    print(f"{verdict}; expected next: {', '.join(guide.expected())}")
    return YES if guide.is_accepting else NO
