"""``cfgguide compare``: what a mask and a description change, on data of one's own.

In: the parsed arguments. Out: an exit status; a table is printed.
"""

from __future__ import annotations

import argparse
from typing import Any

from cfgguide.errors import CfgGuideError, EvaluationError
from cfgguide.studio.cli.arguments import imported
from cfgguide.studio.cli.generating import loaded, positive
from cfgguide.studio.cli.parsing import FILES, FOLDERS, YES, Commands, completes

#: Those of `cfgguide.studio.evaluation.comparison`, which needs numpy.
WAYS = ("free", "free, described", "masked", "masked, described", "or unknown")


def add_compare(commands: Commands) -> None:
    """Add the command ``compare``."""
    command = commands.add(
        "compare",
        _compare,
        about="compare a model's answers, free and with a mask, on data of yours",
        examples=(
            ("compare data.jsonl --what my_models:Order", "a type of a module in this folder"),
            ("compare data.jsonl --what order.json --match price=0.01 --match tags=set", ""),
            ("compare data.jsonl --what sql --score my_models:has_same_rows", ""),
            ("compare data.jsonl --what order.json --output answers.jsonl", "can be interrupted"),
        ),
    )
    data = command.add_argument(
        "data",
        metavar="DATA",
        help='lines of JSON: {"prompt": TEXT or "messages": [...], "reference": ...}',
    )
    completes(data, FILES)
    command.add_argument(
        "--what",
        required=True,
        metavar="MODULE:NAME",
        help="a type, schema or grammar; or a file or a bundled name, as `generate` takes it",
    )
    model = command.add_argument(
        "--model", metavar="PATH", help="a local model; SmolLM2 by default"
    )
    completes(model, FOLDERS)
    command.add_argument(
        "--way",
        action="append",
        choices=WAYS,
        metavar="WAY",
        dest="ways",
        help=f"one of: {'; '.join(WAYS)} (more than one may be given; default: the first four)",
    )
    command.add_argument(
        "--match",
        action="append",
        default=[],
        metavar="FIELD=HOW",
        help="how a field is compared: exact, set, or by how much a number may be off",
    )
    command.add_argument(
        "--score", metavar="MODULE:NAME", help="a function of answer and reference that compares"
    )
    command.add_argument(
        "--max-new-tokens",
        type=positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="of each answer (default: 128)",
    )
    command.add_argument(
        "--temperature", type=float, default=argparse.SUPPRESS, metavar="T", help="0 is greedy"
    )
    command.add_argument(
        "--seed", type=int, default=argparse.SUPPRESS, metavar="N", help="0 by default"
    )
    output = command.add_argument(
        "--output",
        metavar="FILE",
        dest="file",
        help="write the answers here as they come; go on from there",
    )
    completes(output, FILES)
    picture = command.add_argument("--picture", metavar="FILE", help="write an .svg of the shares")
    completes(picture, FILES)


def _compare(options: argparse.Namespace) -> int:
    from cfgguide.studio.evaluation.comparison import DEFAULT_WAYS, compare, read_examples

    shown = options.output
    examples = read_examples(options.data)  # a mistake in them is told before a model is loaded
    what = options.what
    what = imported(what, "--what", "my_models:Order") if ":" in what else what
    names = ("max_new_tokens", "temperature", "seed")
    chosen: Any = {name: each for name, each in vars(options).items() if name in names}
    if options.score is not None:
        chosen["score"] = imported(options.score, "--score", "my_models:has_same_rows")
    found = compare(
        loaded(options),
        examples,
        what,
        ways=options.ways or DEFAULT_WAYS,
        match=dict(map(_match, options.match)),
        output=options.file,
        progress=shown.has_progress,
        **chosen,
    )
    if options.picture is not None:
        try:
            found.picture().save(options.picture)
        except OSError as error:
            raise CfgGuideError(f"cannot write {options.picture!r}: {error.strerror}") from None
    shown.say(str(found))
    shown.document({"what": options.what, "ways": found.ways, "measures": found.table()})
    return YES


def _match(given: str) -> tuple[str, Any]:
    field, _, how = given.rpartition("=")
    if how in ("exact", "set"):
        return field, how
    try:
        return field, float(how)
    except ValueError:
        raise EvaluationError(
            f"--match is FIELD=HOW, where HOW is exact, set or a number, not {given!r}"
        ) from None
