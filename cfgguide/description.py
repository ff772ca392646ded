"""What a model is told of what it is to write.

In: what :func:`cfgguide.generate` takes. Out: a :class:`Description`, a text for the prompt. A mask
makes an answer valid; the model does not see it, nor the descriptions, units and names in a type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from cfgguide.compiler import compile_machine
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.protocol import AnyMachine
from cfgguide.errors import GenerationError, GrammarError, LimitError, shown
from cfgguide.grammar.combinators.parts import Composed
from cfgguide.grammar.grammar import Grammar
from cfgguide.guide.forced import encoder_of
from cfgguide.output_types import output_type, plain_schema
from cfgguide.quotes import QuoteGrammar
from cfgguide.schema.examples import shortest_sentence, typical_value
from cfgguide.schema.json_schema import json_schema
from cfgguide.schema.messages.grammar_tools import ToolGrammar
from cfgguide.schema.messages.message_grammar import MessageGrammar
from cfgguide.schema.messages.parts import (
    Choice,
    Exact,
    Joined,
    Part,
    Repeat,
    Sentence,
    Sequence,
    Token,
    Value,
)
from cfgguide.schema.minified import minified
from cfgguide.schema.quoted_strings import Quote
from cfgguide.schema.schema_grammar import SchemaGrammar
from cfgguide.schema.typescript import typescript

Style = Literal["typescript", "json_schema", "example"]

STYLES = ("typescript", "json_schema", "example")
_LEADS = {
    "typescript": "Answer with JSON of this type:",
    "json_schema": "Answer with JSON that this JSON Schema allows:",
    "example": "Answer with JSON such as this:",
}
_DEFINITION = re.compile(r"^[?!]*(_?[A-Za-z]\w*)(?:\{[^}]*\})?(?:\.\d+)?\s*::?=?", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(?://|#)[^\n]*\n?", re.MULTILINE)
_WORD = re.compile(r"\w+")
_MOST_OF_RULES = 1_500  # characters: a model that knows a language needs no more
_LETTERS = b"a0 "


class Description(str):
    """A text for a prompt: what is to be written.

    Attributes
    ----------
    lead : str
        What stands before it where a model is told what to do.
    """

    lead: str

    def __new__(cls, text: str, lead: str = "") -> Description:
        """Return a text with what stands before it."""
        made = super().__new__(cls, text)
        made.lead = lead
        return made

    @property
    def instruction(self) -> str:
        """What :func:`cfgguide.generate` tells the model: the lead, and the text."""
        return f"{self.lead}\n\n{self}"

    def n_tokens(self, tokenizer: Any) -> int:
        """Return the number of its tokens.

        Parameters
        ----------
        tokenizer : transformers fast tokenizer, tokenizers.Tokenizer or callable
            A callable makes tokens of a text.
        """
        return len(encoder_of(tokenizer)(str(self)))


def describe(
    what: object, style: Style = "typescript", *, max_characters: int = 12_000
) -> Description:
    r"""Return what a model can be told of what it is to write.

    Parameters
    ----------
    what : type, mapping, Grammar, Index, ...
        Anything that :func:`cfgguide.generate` takes.
    style : {"typescript", "json_schema", "example"}
        How JSON is described: as a type in TypeScript's notation, which takes the fewest tokens; as
        a JSON Schema, without what neither asks for anything nor tells anything; or by valid
        values, a typical one and the shortest. A pattern, a choice and a grammar have notations of
        their own, and examples.
    max_characters : int
        Of a type: in a longer one descriptions are cut, all alike, and then what is deepest inside.
        A first line says so. Other styles cannot be cut.

    Raises
    ------
    GrammarError, SchemaError
        If `what` does not say what to write.
    GenerationError
        If `style` is none of the three, or it has no JSON Schema.
    LimitError
        If it cannot be said in so many characters.

    Examples
    --------
    >>> schema = {"properties": {"name": {"type": "string", "description": "As in the passport"}}}
    >>> print(describe(schema).instruction)
    Answer with JSON of this type:
    <BLANKLINE>
    {
      name?: string, // As in the passport
    }
    >>> print(describe(["yes", "no"]))
    "yes" | "no"
    """
    if style not in STYLES:
        raise GenerationError(f"style is {shown(style)}; it is one of {', '.join(STYLES)}")
    if type(max_characters) is not int or max_characters < 100:
        raise GenerationError(f"max_characters is {shown(max_characters)}; it is 100 or more")
    made = _described(what, style, max_characters)
    if len(made) > max_characters:
        raise LimitError(
            f"the description has {len(made)} characters, and max_characters is {max_characters}; "
            'raise it, or take the style "typescript", which is shortened'
        )
    return made


def _described(what: object, style: Style, most: int) -> Description:
    if isinstance(what, Index):
        known = what.output_type
        if known is None:
            raise GrammarError("the index does not say what it is of; describe that instead")
        what = known.grammar
    schema = plain_schema(what)
    if schema is not None and style != "example":
        return _of_schema(_Schema(schema, {}), style, most)
    if isinstance(what, list | tuple) and all(isinstance(each, str) for each in what):
        texts = [json.dumps(each, ensure_ascii=False) for each in what]
        return _of_texts(" | ".join(texts), "Answer with one of these texts:", style)
    is_name = isinstance(what, str) and what in Grammar.bundled_names() and what != "json"
    if is_name and style != "example":
        told = Grammar.bundled(str(what)).text.partition("\n")[0].lstrip("/ ")
        return _of_texts(told, "Answer with a text of this language:", style)
    grammar = output_type(what).grammar
    if isinstance(grammar, QuoteGrammar) and style != "example":
        return _of_texts(Quote(*grammar.source[:3]).told, "Answer with", style)
    registry: Mapping[str, Any] = {}
    if isinstance(grammar, MessageGrammar):
        registry = json.loads(grammar.options.registry)
        return _of_message(grammar.part, registry, style, most)
    if isinstance(grammar, ToolGrammar):
        return _of_message(grammar.message, registry, style, most)
    if isinstance(grammar, SchemaGrammar):
        return _of_schema(_Schema.of(grammar), style, most)
    return _of_rules(grammar, style)


class _Schema(NamedTuple):
    """A schema, and the documents that it may refer to."""

    schema: Any
    registry: Mapping[str, Any]
    grammar: SchemaGrammar | None = None

    @classmethod
    def of(cls, grammar: SchemaGrammar) -> _Schema:
        """Return that of a grammar."""
        return cls(json.loads(grammar.schema), json.loads(grammar.options.registry), grammar)


def _of_schema(given: _Schema, style: Style, most: int) -> Description:
    schema, registry, grammar = given
    if style == "typescript":
        text = typescript(schema, registry, max_characters=most)
    elif style == "json_schema":
        text = minified(schema, registry)
    else:
        assert grammar is not None, "examples are made of grammars"
        machine = compile_machine(grammar)
        typical = typical_value(machine, schema, registry, grammar.options.layout)
        examples = dict.fromkeys(filter(None, (typical, shortest_sentence(machine))))
        text = "\n".join(examples) or _without_end()
    return Description(text, _LEADS[style])


def _of_message(message: Part, registry: Mapping[str, Any], style: Style, most: int) -> Description:
    """Return the description of a message: it, with a description in place of each value."""

    def written(part: Part) -> str:
        match part:
            case Exact():
                return part.text
            case Token():
                return str(part.token)
            case Sentence():
                return str(_of_rules(part.grammar, style))
            case Value():
                return value(json.loads(part.schema))
            case Sequence():
                return "".join(map(written, part.parts))
            case Choice():
                texts = list(dict.fromkeys(filter(None, map(written, part.parts))))
                return "\nor\n".join(texts[:1] if style == "example" else texts)
            case Repeat():
                return written(part.part)
            case Joined():
                return part.separator.join(written(each) for each, _ in part.parts)
        return "..."

    def value(schema: Any) -> str:
        grammar = None
        if style == "example":
            grammar = json_schema(schema, registry=registry, tidy=True)
        text = _of_schema(_Schema(schema, registry, grammar), style, most)
        if style == "example":
            return text.partition("\n")[0]
        return f"\n{text}" if text.startswith("//") else str(text)

    return Description(written(message), "Answer in this form:")


def _of_texts(text: str, lead: str, style: Style) -> Description:
    """Return the description of what is no JSON."""
    if style == "json_schema":
        raise GenerationError(
            'it is not JSON, and has no JSON Schema: take the style "typescript" or "example"'
        )
    return Description(text, lead)


def _of_rules(grammar: Grammar, style: Style) -> Description:
    """Return the description of a pattern, or of a grammar: its rules, and a sentence."""
    sample, pattern = _sample(compile_machine(grammar)), grammar.whole_pattern
    # The rules of what is made of parts have names that tell nothing.
    if style == "example" or (pattern is None and isinstance(grammar, Composed)):
        return _of_texts(sample, "Answer with a text such as this:", style)
    if pattern is not None:
        lead = "Answer with a text that matches this regular expression as a whole"
        return _of_texts(f"/{pattern}/", f"{lead}, such as {sample}", style)
    rules = "\n".join(_rules_of(grammar))
    lead = f"Answer with a sentence of this grammar, such as\n\n{sample}\n\nIts rules:"
    return _of_texts(rules, lead, style)


def _rules_of(grammar: Grammar) -> Iterator[str]:
    """Yield the definitions that matter: from the start rule on, as many as there is room for."""
    text = _COMMENT.sub("", grammar.text)
    found = list(_DEFINITION.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    defined = {
        each[1]: re.split(r"\n\s*(?:\n|%)", text[each.start() : end])[0].strip()
        for each, end in zip(found, ends, strict=True)
    }
    pending, seen, n_left = [grammar.start], {grammar.start}, _MOST_OF_RULES
    while pending:
        definition = defined.get(pending.pop(0), "")
        n_left -= len(definition)
        if n_left < 0:
            yield "..."
            return
        if definition:
            yield definition
        fresh = [name for name in _WORD.findall(definition) if name in defined and name not in seen]
        pending += dict.fromkeys(fresh)
        seen.update(fresh)


def _sample(machine: AnyMachine) -> str:
    """Return a sentence that is short, and not empty if it can be helped."""
    sample = shortest_sentence(machine)
    for byte in _LETTERS if sample == "" else b"":
        after = machine.read(machine.initial, bytes([byte]))
        rest = None if after is None else shortest_sentence(machine, after)
        if rest is not None:
            return chr(byte) + rest
    return _without_end() if sample is None else sample


def _without_end() -> str:
    raise LimitError("no short sentence is known; describe it in another style")
