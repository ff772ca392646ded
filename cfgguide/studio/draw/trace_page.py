"""A page that shows how a grammar reads a text: ``cfgguide trace --html FILE``.

In: a :class:`~cfgguide.studio.draw.traced.Trace`. Out: HTML in one file, which loads nothing. Every
text of users and models in it is escaped, and a content security policy keeps the page off the
network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from html import escape

from cfgguide.base.numbered import Numbered
from cfgguide.base.replaced import replaced
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import DrawingError, shown
from cfgguide.studio.draw.byte_labels import shown_token
from cfgguide.studio.draw.texts import PALETTE, PLAIN, REFUSED, tone_of
from cfgguide.studio.draw.trace_page_style import SCRIPT, STYLE
from cfgguide.studio.draw.traced import Place, Step, Trace, tones

MAX_LISTED = 10_000  # tokens of a mask that the page lists
_WITHOUT_SCRIPT = 60  # of them where no script runs
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def save_trace_page(trace: Trace, path: str | os.PathLike[str], *, name: str = "") -> None:
    """Write the page of a text to a file; another file of the name is replaced once it is whole.

    Raises
    ------
    DrawingError
        If the file cannot be written.
    """
    page = trace_page(trace, name=name).encode()
    try:
        with replaced(path, is_durable=False) as file:
            file.write(page)
    except OSError as error:
        raise DrawingError(f"cannot write {shown(os.fspath(path))}: {error.strerror}") from None


def trace_page(trace: Trace, *, name: str = "") -> str:
    """Return the page of a text.

    Parameters
    ----------
    trace : Trace
        How it is read; with explanations, the page has them too.
    name : str
        What the grammar is called.
    """
    colours = tones(trace.steps, len(PALETTE))
    lists = _Lists(trace.vocabulary)
    sections = [*_sections(trace, lists)]
    title = f"How {name or 'the grammar'} reads a text"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}{_colour_rules()}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{_verdict(trace)}</p>",
            '<p id="keys" class="soft" hidden>Choose a token with the pointer or with '
            "<kbd>←</kbd> <kbd>→</kbd>; <kbd>/</kbd> searches.</p>",
            f'<nav class="text" aria-label="the tokens">{"".join(_tokens(trace, colours))}</nav>',
            f'<div class="legend" aria-label="the terminals">{_legend(trace, colours)}</div>',
            f"<main>{''.join(sections)}</main>",
            f'<script type="application/json" id="data">{_json(lists.value())}</script>',
            f"<script>{SCRIPT}</script>",
            "</body></html>\n",
        ]
    )


def _tokens(trace: Trace, colours: dict[str, int]) -> Iterator[str]:
    for number, step in enumerate(trace.steps):
        written = escape(shown_token(step.token, is_eos=not step.token))
        names = escape(" ".join(step.terminals) or "no terminal")
        yield (
            f'<a class="token {tone_of(step, colours)}" href="#step-{number}" '
            f'title="{names}">{written}</a>'
        )
    if trace.end is not None:
        yield f'<a class="token kx" href="#step-{len(trace.steps)}" title="the end">end</a>'
    if trace.rest:
        yield f'<span class="rest">{escape(shown_token(trace.rest))}</span>'


def _legend(trace: Trace, colours: dict[str, int]) -> str:
    marks = [
        f'<span><b class="k{tone}">{escape(name)}</b></span>' for name, tone in colours.items()
    ]
    if trace.end is None:
        marks.append('<span><b class="kr">refused</b></span>')
    return "".join(marks)


def _verdict(trace: Trace) -> str:
    n_tokens = f"{len(trace.steps):,} token{'s' * (len(trace.steps) != 1)}"
    if trace.end is None:
        return f'<span class="bad">The text is refused</span> at token {len(trace.steps):,}.'
    if trace.end.is_sentence:
        return f'<span class="good">The text is a sentence</span> of {n_tokens}.'
    return f"The text of {n_tokens} is not a sentence yet."


def _sections(trace: Trace, lists: _Lists) -> Iterator[str]:
    for number, step in enumerate(trace.steps):
        heading = (
            f"Token {number + 1}: <code>"
            f"{escape(shown_token(step.token, is_eos=not step.token))}</code> "
            f'<span class="soft">id {step.token_id}</span>'
        )
        # Where nothing is chosen yet, a refused token is shown, or else the first.
        is_first = number == (0 if trace.end is not None else len(trace.steps) - 1)
        yield _section(number, heading, _why(step), step.before, lists, is_first=is_first)
    if trace.end is not None:
        yield _section(
            len(trace.steps), "After the text", "", trace.end, lists, is_first=not trace.steps
        )


def _section(
    number: int, heading: str, why: str, place: Place, lists: _Lists, *, is_first: bool
) -> str:
    first = " first" if is_first else ""
    n_allowed = len(place.allowed)
    mask = lists.add(place)
    listed = lists.masks[mask]
    chips = "".join(
        f'<span class="chip">{escape(lists.texts[each])}</span>'
        for each in listed[:_WITHOUT_SCRIPT]
    )
    is_cut = n_allowed > _WITHOUT_SCRIPT
    said = f"The {_WITHOUT_SCRIPT} most readable of them:" if is_cut else ""
    stacks = "".join(f"<pre>{escape(stack)}</pre>" for stack in place.stacks)
    expected = "".join(f'<span class="chip">{escape(name)}</span>' for name in place.expected)
    return (
        f'<section class="step{first}" id="step-{number}" tabindex="-1"><h2>{heading}</h2>{why}'
        + (f"<h3>Parse stack</h3>{stacks}" if stacks else "")
        + f'<h3>Expected terminals</h3><div class="chips">{expected or "none"}</div>'
        + f"<h3>Allowed tokens</h3><p><b>{n_allowed:,}</b> of {lists.size:,} tokens may stand "
        f'here.</p><div class="allowed" data-mask="{mask}" data-n="{n_allowed}">'
        f'<p class="soft">{said}</p><div class="chips">{chips}</div>'
        "</div></section>"
    )


def _why(step: Step) -> str:
    names = escape(" ".join(step.terminals) or "no terminal yet")
    kind = "good" if step.is_allowed else "bad"
    why = f'<h3>Why</h3><pre class="{kind}">{escape(str(step.explanation))}</pre>'
    return f'<p class="soft">part of {names}</p>{why if step.explanation else ""}'


class _Lists:
    """The tokens that the page lists, each text and each mask once.

    Attributes
    ----------
    ids, texts : list of int, list of str
        The tokens, by their numbers here.
    masks : list of list of int
        The numbers of the tokens of each mask, the most readable first.
    size : int
        Of the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._numbers = Numbered[int]()
        self._known = Numbered[bytes]()
        self.size = vocabulary.size
        self.ids = self._numbers.order
        self.texts: list[str] = []
        self.masks: list[list[int]] = []

    def add(self, place: Place) -> int:
        """Return the number of the mask of a place."""
        number = self._known[place.allowed.tobytes()]
        if number == len(self.masks):
            chosen = most_readable(self._vocabulary, place.allowed.tolist(), MAX_LISTED)
            self.masks.append([self._numbers[token_id] for token_id in chosen])
            for token_id in self.ids[len(self.texts) :]:
                is_eos = token_id in self._vocabulary.eos_token_ids
                text = self._vocabulary.tokens[token_id] or b""
                self.texts.append(shown_token(text, is_eos=is_eos))
        return number

    def value(self) -> dict[str, object]:
        """Return what the script reads."""
        return {"ids": self.ids, "texts": self.texts, "masks": self.masks}


def most_readable(vocabulary: Vocabulary, token_ids: Sequence[int], most: int) -> list[int]:
    r"""Return some tokens: EOS first, then printable ASCII, other characters, and other bytes.

    Within each of these the order of ids stays: tokenizers mostly begin with what is frequent.

    >>> vocabulary = Vocabulary([b"\xff", "é".encode(), b"a", None], eos_token_ids=3)
    >>> most_readable(vocabulary, [0, 1, 2, 3], 3)
    [3, 2, 1]
    """
    eos = frozenset(vocabulary.eos_token_ids)

    def kind(token_id: int) -> int:
        token = vocabulary.tokens[token_id]
        if token_id in eos:
            return 0
        if not token:
            return 5
        if token.isascii():
            return 1 if token.strip() and token.decode().isprintable() else 3
        try:
            return 2 if token.decode().isprintable() else 3
        except UnicodeDecodeError:
            return 4

    return sorted(token_ids, key=kind)[:most]


def _json(value: object) -> str:
    """Return a JSON text in which no tag can begin or end."""
    written = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _colour_rules() -> str:
    named = [(f"k{place}", colours) for place, colours in enumerate(PALETTE)]
    light, dark = [], []
    for name, (fill, ink, dark_fill, dark_ink) in [*named, ("kx", PLAIN), ("kr", REFUSED)]:
        light.append(f".{name}{{background:{fill};color:{ink}}}")
        dark.append(f".{name}{{background:{dark_fill};color:{dark_ink}}}")
    return f"{''.join(light)}@media (prefers-color-scheme:dark){{{''.join(dark)}}}"
