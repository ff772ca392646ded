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
    tokenizer_for,
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
    text = "the text (- is a hyphen here)"
    command.add_argument("--text", type=text_argument, metavar="TEXT", help=text)
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
    if (options.text is None) == (not options.files) or len(options.files) > 1:
        options.commands.parsers["trace"].error("trace takes one text: --text TEXT, or one FILE")
    check_standard_input([options.grammar, *options.files])
    text: str = options.text
    return read_text(options.files[0]) if options.files else text


def _trace(options: argparse.Namespace) -> int:
    from cfgguide.compiler import compile
    from cfgguide.diagnostics.diagnosis import refused_at
    from cfgguide.studio.draw.traced import Step, traced

    output, given = options.output, _text_of(options)
    grammar = grammar_of(options)
    tokenizer = tokenizer_for(grammar, options)
    index = compile(grammar, tokenizer, progress=output.progress)
    if options.html is not None:
        from cfgguide.studio.draw.trace_page import save_trace_page

        with output.working("writing the page"):
            trace = traced(index, given, tokenizer=tokenizer, explains=True)
            save_trace_page(trace, options.html, name=options.grammar)
        is_sentence = trace.is_sentence
        output.say(f"{options.html}: {'a sentence' if is_sentence else 'not a sentence'}")
        document = {"grammar": options.grammar, "file": options.html}
        output.document(document | {"is_sentence": is_sentence})
        return YES if is_sentence else NO
    rows: list[dict[str, object]] = []
    document = {"grammar": options.grammar, "tokens": rows}

    def show(step: Step) -> None:
        n_allowed, names = len(step.before.allowed), step.terminals
        shown = name(" ".join(names or ["..."])) if step.is_allowed else bad("REFUSED")
        output.say(f"{step.token_id:>7}  {str(step.token)[1:]:<24} {n_allowed:>7}  ", shown)
        row = {"id": step.token_id, "bytes": step.token, "n_allowed": n_allowed}
        row |= {"is_allowed": step.is_allowed, "terminals": names if step.is_allowed else ()}
        rows.append(row if step.explanation is None else row | {"explanation": step.explanation})
        if step.is_allowed and step.explanation is not None:
            output.say(textwrap.indent(step.explanation.details, " " * 9))

    output.say(f"{'token':>7}  {'bytes':<24} {'allowed':>7}  terminals")
    trace = traced(index, given, tokenizer=tokenizer, explains=options.explain, shows=show)
    if trace.end is None:
        refused = trace.steps[-1]
        explanation = refused.explanation
        assert explanation is not None, "a token that is refused is explained"
        # Bytes of the token before the offset were still fine: that is where people have to look.
        position = refused_at(given.encode(), refused.start + (explanation.offset or 0), ())
        where = f"line {position.line}, column {position.column}"
        output.note("cfgguide: ", bad(where), f": {explanation}\n{position.excerpt}")
        at = {"offset": position.offset, "line": position.line, "column": position.column}
        output.document(document | {"is_sentence": False, "refused": at})
        return NO
    expected, is_sentence = trace.end.expected, trace.is_sentence
    verdict = good("a sentence") if is_sentence else bad("not a sentence yet")
    output.say(verdict, f"; expected next: {', '.join(expected)}")
    output.document(document | {"is_sentence": is_sentence, "refused": None, "expected": expected})
    return YES if is_sentence else NO
