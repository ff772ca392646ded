"""``cfgguide trace``: a text token by token, as a grammar reads it.

In: the parsed arguments. Out: an exit status; a table is printed.
"""

from __future__ import annotations

import argparse
import textwrap

from cfgguide.studio.cli.arguments import (
    add_files,
    add_grammar,
    add_tokenizer,
    check_standard_input,
    grammar_of,
    read_text,
    text_argument,
)
from cfgguide.studio.cli.output import bad, good, name
from cfgguide.studio.cli.parsing import FILES, NO, YES, Commands, completes


def add_trace(commands: Commands) -> None:
    """Add the command ``trace``."""
    command = commands.add(
        "trace",
        _trace,
        about="show a text token by token",
        examples=(
            ("trace json --text '[1, true]'", "the tokens, and how many were allowed"),
            ("trace json settings.json --explain", "how each token is read, and what may follow"),
            ("trace my.lark --text hello --tokenizer DIR", ""),
            ("trace json --text '[1, true]' --html a.html", "a page with all that is allowed"),
        ),
        no="the text is not a sentence",
    )
    add_grammar(command)
    command.add_argument("--text", type=text_argument, metavar="TEXT", help="the text")
    add_files(command, "a file with the text, instead of --text; - for standard input")
    add_tokenizer(command, "a folder or tokenizer.json; SmolLM2's by default")
    command.add_argument(
        "--explain", action="store_true", help="say of each token how it is read, and what follows"
    )
    page = command.add_argument(
        "--html", metavar="FILE", help="write a page instead, with all that is allowed and why"
    )
    completes(page, FILES)


def _text_of(options: argparse.Namespace) -> str:
    """Return the text that the user named."""
    if (options.text is None) == (not options.files) or len(options.files) > 1:
        options.commands.parsers["trace"].error("trace takes one text: --text TEXT, or one FILE")
    check_standard_input([options.grammar, *options.files])
    text: str = options.text
    return read_text(options.files[0]) if options.files else text


def _trace(options: argparse.Namespace) -> int:
    """Show a text token by token, as a grammar reads it."""
    from cfgguide.compiler import compile, compile_recognizer
    from cfgguide.diagnostics.diagnosis import lexemes, refused_at
    from cfgguide.diagnostics.explainers import explainer_of
    from cfgguide.guide.guide import Guide
    from cfgguide.models.load import load_tokenizer

    output, given = options.output, _text_of(options)
    grammar = grammar_of(options)
    # A mistake in the grammar is told before transformers is loaded.
    compile_recognizer(grammar, progress=output.progress)
    with output.working("loading the tokenizer"):
        tokenizer = load_tokenizer(options.tokenizer)
    index = compile(grammar, tokenizer, progress=output.progress)
    if options.html is not None:
        from cfgguide.studio.draw.trace_page import save_trace_page

        named = {"tokenizer": tokenizer, "name": options.grammar}
        with output.working("writing the page"):
            is_sentence = save_trace_page(index, given, options.html, **named)
        output.say(f"{options.html}: {'a sentence' if is_sentence else 'not a sentence'}")
        output.document(
            {"grammar": options.grammar, "file": options.html, "is_sentence": is_sentence}
        )
        return YES if is_sentence else NO
    guide, explainer = Guide(index), explainer_of(index)
    whole = given.encode()
    all_lexemes = lexemes(index.recognizer, whole)
    output.say(f"{'token':>7}  {'bytes':<24} {'allowed':>7}  terminals")
    found: list[dict[str, object]] = []
    document: dict[str, object] = {"grammar": options.grammar, "tokens": found}
    end = 0
    text = {"add_special_tokens": False, "split_special_tokens": True}  # all of it is text
    for token_id in tokenizer.encode(given, **text):
        token = index.vocabulary.tokens[token_id] or b""
        start, end = end, end + len(token)
        names = [
            lexeme.terminal for lexeme in all_lexemes if lexeme.start < end and start < lexeme.end
        ]
        is_accepted = guide.accepts(token_id)
        n_allowed = len(guide.allowed_token_ids())
        shown = name(" ".join(names or ["..."])) if is_accepted else bad("REFUSED")
        output.say(f"{token_id:>7}  {str(token)[1:]:<24} {n_allowed:>7}  ", shown)
        found.append(
            {
                "id": token_id,
                "bytes": token,
                "n_allowed": n_allowed,
                "is_allowed": is_accepted,
                "terminals": names if is_accepted else [],
            }
        )
        if options.explain or not is_accepted:
            explanation = explainer.explain_token(token_id, is_allowed=is_accepted)
            found[-1]["explanation"] = explanation
            if not is_accepted:
                position = refused_at(whole, start + (explanation.offset or 0), ())
                where = f"line {position.line}, column {position.column}"
                output.note("cfgguide: ", bad(where), f": {explanation}\n{position.excerpt}")
                refused = {"offset": position.offset, "line": position.line}
                refused |= {"column": position.column}
                output.document(document | {"is_sentence": False, "refused": refused})
                return NO
            output.say(textwrap.indent(explanation.details, " " * 9))
        guide.advance(token_id)
        explainer.advance(token)
    expected = guide.expected()
    is_sentence = guide.is_accepting
    verdict = good("a sentence") if is_sentence else bad("not a sentence yet")
    output.say(verdict, f"; expected next: {', '.join(expected)}")
    document |= {"is_sentence": is_sentence, "refused": None, "expected": expected}
    output.document(document)
    return YES if is_sentence else NO
