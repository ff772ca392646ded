"""Wrong calls, as users make them, and what each is told: what is wrong, and what to pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide import Grammar, Guide, Index, IndexPool, Limits, LogitsProcessor, Vocabulary
from cfgguide.errors import CfgGuideError
from cfgguide.notations import from_lark
from cfgguide.precompute import precompute_masks
from cfgguide.serving import Backend


class Review(pydantic.BaseModel):
    stars: int


class Nothing: ...


def named(name: str) -> str:
    return name


def adds(*x: int) -> int:
    return sum(x)


GRAMMAR = Grammar('start: "a" "b"')
VOCABULARY = Vocabulary.of_bytes()
INDEX = cfgguide.compile(GRAMMAR, VOCABULARY)
BITMASKS = np.zeros(3)
MODEL, TOKENIZER = random_model(N_SMALL + 5), small_tokenizer()
MESSAGE = {"role": "user", "content": "a"}


def wrote(what: object, *, prompt: Any = "a", **options: Any) -> Any:
    options = {"tokenizer": TOKENIZER, **options}
    return cfgguide.generate(MODEL, prompt, what, **options)


def tools(tools: Any, **options: Any) -> Any:
    return cfgguide.tools(tools, **{"format": "qwen", **options})


def server() -> Any:
    return cfgguide.client("http://localhost:1", "m", plugin=False)


def guide() -> Guide:
    return Guide(INDEX)


WRONG_CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    # A grammar
    "a file's name as a grammar": (
        lambda: Grammar("json.lark"), "'json.lark' is no grammar, but perhaps a name: Grammar.open"
    ),
    "a language's name as a grammar": (lambda: Grammar("json"), "Grammar.bundled('json')"),
    "bytes as a grammar": (lambda: Grammar(b'start: "a"'), "a grammar is a text, not bytes"),
    "a number as a grammar": (lambda: Grammar(5), "a grammar is a text, not int"),
    "a file that is not there": (lambda: Grammar.open("/no.lark"), "cannot read the grammar file"),
    "a bundled grammar that is not there": (
        lambda: Grammar.bundled("yaml"), "no bundled grammar is called 'yaml'; there is c, "
    ),
    "a start rule that is not there": (
        lambda: cfgguide.compile(Grammar('start: "a"\nword: "b"', start="words"), VOCABULARY),
        "there is no rule 'words' to start from; its rules are start, word",
    ),
    "a start rule that a bundled grammar lacks": (
        lambda: cfgguide.compile(Grammar.bundled("json", start="file"), VOCABULARY),
        "there is no rule 'file' to start from; its rules are start, value",
    ),
    "no rule at all": (
        lambda: cfgguide.compile(Grammar(""), VOCABULARY), "there is no rule 'start' to start from"
    ),
    "a rule without an end": (
        lambda: cfgguide.compile(Grammar('start: "a'), VOCABULARY), "Lark rejects the grammar"
    ),
    "Lark's dynamic lexer": (
        lambda: Grammar('start: "a"', lexer="dynamic"), "lexer is 'contextual' or 'basic'"
    ),
    "a postlex that is none": (
        lambda: Grammar('start: "a"', postlex=5), "postlex is a subclass of lark.indenter.Indenter"
    ),
    "a text to be written in another notation": (
        lambda: from_lark('start: "a"', "gbnf"), "expected a Grammar, not str"
    ),
    # Bounds
    "less than no bytes of masks": (
        lambda: cfgguide.compile(GRAMMAR, VOCABULARY, max_bytes=-1),
        "max_bytes is -1; it is a number of bytes",
    ),
    "less than no bytes of a service": (
        lambda: Backend(VOCABULARY, max_bytes=-100), "max_bytes is -100; it is a number of bytes"
    ),
    "less than no bytes ahead": (
        lambda: precompute_masks(INDEX, max_bytes=-1), "max_bytes is -1; it is a number of bytes"
    ),
    "no number of seconds ahead": (
        lambda: precompute_masks(INDEX, max_seconds=float("nan")), "max_seconds is nan; it is a"
    ),
    # What to write
    "a wrong name of what to write": (
        lambda: cfgguide.compile("yaml", VOCABULARY), "there is no bundled grammar 'yaml'"
    ),
    "a pattern's text as what to write": (
        lambda: cfgguide.compile("[0-9]+", VOCABULARY), "cfgguide.regex(pattern) a pattern"
    ),
    "the name of a file that is not there": (
        lambda: cfgguide.compile("no.lark", VOCABULARY), "there is no file 'no.lark'"
    ),
    "a path that is not there": (
        lambda: cfgguide.compile(Path("no.lark"), VOCABULARY), "cannot read the grammar file"
    ),
    "a schema's path that is not there": (
        lambda: cfgguide.compile(Path("no.json"), VOCABULARY), "cannot read the schema file"
    ),
    "JSON that is no schema": (
        lambda: cfgguide.compile('{"a": 1}', VOCABULARY), "has no keyword of JSON Schema"
    ),
    "two functions of one name": (
        lambda: cfgguide.compile([named, named], VOCABULARY), "have one name: named; rename one"
    ),
    "a number as what to write": (
        lambda: cfgguide.compile(5, VOCABULARY), "5 does not say what to write; give a type"
    ),
    "a function that makes a grammar of what is not given": (
        lambda: wrote(cfgguide.regex), "cfgguide.regex has to be called: give "
    ),
    "arguments in the wrong order": (
        lambda: cfgguide.compile(VOCABULARY, GRAMMAR), "does not say what to write; give a type"
    ),
    "no choices": (lambda: cfgguide.compile([], VOCABULARY), "a list is a choice among texts"),
    "choices that are numbers": (
        lambda: cfgguide.compile([1, 2], VOCABULARY), "a list is a choice among texts"
    ),
    "a schema that is a number": (lambda: cfgguide.json_schema(5), "a schema is an object"),
    "a schema that is no JSON": (lambda: cfgguide.json_schema("{"), "the schema is not JSON"),
    "a pattern that is none": (lambda: cfgguide.regex("("), "is not a regular expression"),
    "a number as a pattern": (lambda: cfgguide.regex(5), "a pattern is a text, not int"),
    "a text as choices": (lambda: cfgguide.choice("abc"), "choice takes a list of texts"),
    "an empty choice": (lambda: cfgguide.choice([]), "choice needs at least one text"),
    "a stop string that is a number": (
        lambda: cfgguide.free_text(until=5), "until is a stop string or several"
    ),
    "repeated less than never": (
        lambda: cfgguide.repeat("a", -1), "minimum is a number from 0 up, not -1"
    ),
    "a part that is a number": (lambda: cfgguide.concat(5), "a part is a text or a Grammar"),
    # A vocabulary
    "a tokenizer's name": (
        lambda: cfgguide.compile(GRAMMAR, "gpt2"), "expected a fast tokenizer of transformers"
    ),
    "no tokenizer": (
        lambda: cfgguide.compile(GRAMMAR, None), "expected a fast tokenizer of transformers"
    ),
    "a grammar as a tokenizer": (lambda: IndexPool(GRAMMAR), "expected a fast tokenizer"),
    "texts as tokens": (
        lambda: Vocabulary(["a"], eos_token_ids=0), "token 0 is 'a', a str: give its bytes"
    ),
    "EOS that is no id": (
        lambda: Vocabulary([b"a"], eos_token_ids=5), "EOS id 5 (int) is not one of the ids 0 to 0"
    ),
    "limits that are a number": (
        lambda: cfgguide.compile(GRAMMAR, VOCABULARY, limits=5), "limits is a cfgguide.Limits"
    ),
    "a limit that is a text": (
        lambda: Limits(max_seconds="a"), "max_seconds must be a number above 0"
    ),
    # A guide
    "a guide on a grammar": (lambda: Guide(GRAMMAR), "give the tokenizer too, or an index"),
    "a fraction as a token": (lambda: guide().advance(1.5), "a token id is an integer, not 1.5"),
    "a list as a token": (lambda: guide().advance([97]), "pass the tokens of a text one by one"),
    "a text as a token": (lambda: guide().advance("a"), "a token id is an integer, not 'a'"),
    "nothing as a token": (lambda: guide().advance(None), "a token id is an integer, not None"),
    "tokens in an array": (
        lambda: guide().advance(np.array([97, 98])), "a token id is an integer, not array([97, 98])"
    ),
    "an id below 0": (lambda: guide().advance(-1), "token -1 is not in the vocabulary of 257 ids"),
    "an id too high": (lambda: guide().advance(10**9), "is not in the vocabulary of 257 ids"),
    "a text, asked whether it may come": (
        lambda: guide().accepts("a"), "a token id is an integer, not 'a'"
    ),
    "more taken back than there is": (
        lambda: guide().rollback(1), "cannot roll back 1 tokens: 0 were consumed"
    ),
    "taken back to a text": (lambda: guide().rollback("a"), "rollback takes a number of tokens"),
    "a mask into a list": (lambda: guide().fill_bitmask([0]), "is a writeable int32 array"),
    "a mask into doubles": (lambda: guide().fill_bitmask(BITMASKS), "is a writeable int32 array"),
    "masks into too few rows": (
        lambda: cfgguide.fill_bitmasks([guide()], BITMASKS), "are a writeable int32 array of shape"
    ),
    "a budget that is a text": (
        lambda: guide().allowed_within("x"), "a budget is a number of tokens, not 'x'"
    ),
    "logits that are a number": (
        lambda: cfgguide.apply_bitmask(5, 5), "the logits must be a numpy array or a torch tensor"
    ),
    # A processor
    "a processor of a grammar": (
        lambda: LogitsProcessor(GRAMMAR), "give the tokenizer too, or an index"
    ),
    "a processor of nothing": (lambda: LogitsProcessor([]), "there is no index"),
    "a processor for no tokens": (
        lambda: LogitsProcessor(INDEX, max_new_tokens=0), "max_new_tokens is 0; at least 1"
    ),
    "a processor for a text of tokens": (
        lambda: LogitsProcessor(INDEX, max_new_tokens="9"), "max_new_tokens is a number of tokens"
    ),
    # A type, a schema
    "a value as its type": (lambda: wrote(Review(stars=1)), "does not say what to write; give a"),
    "a list of types": (lambda: wrote([Review, Review]), "for one of several types give `A | B`"),
    "nothing to write": (lambda: wrote(None), "None does not say what to write"),
    "a class without fields": (lambda: wrote(Nothing), "Pydantic makes no schema of"),
    "names with types": (lambda: wrote({"name": "string"}), "has no keyword of JSON Schema"),
    "a tool as a schema": (
        lambda: wrote({"name": "f", "input_schema": {"type": "object"}}),
        "it is a tool, not a schema: cfgguide.tools",
    ),
    "Python's name of a type": (
        lambda: cfgguide.json_schema({"type": "str"}), "did you mean 'string'?"
    ),
    "no type": (lambda: cfgguide.json_schema({"type": None}), "at /type: type is one or more of"),
    "a required name alone": (
        lambda: cfgguide.json_schema({"required": "a"}), "at /required: required is an array"
    ),
    "members in a list": (
        lambda: cfgguide.json_schema({"properties": ["a"]}), "at /properties: properties is an obj"
    ),
    "a bound that is a text": (
        lambda: cfgguide.json_schema({"minimum": "5"}), "at /minimum: minimum is a number"
    ),
    "bounds that exclude all": (
        lambda: cfgguide.json_schema({"type": "integer", "minimum": 5, "maximum": 1}),
        "no value is allowed",
    ),
    "a reference to nothing": (
        lambda: cfgguide.json_schema({"$ref": "#/$defs/a"}), "leads nowhere: there is no '$defs'"
    ),
    "a pattern in a schema that is none": (
        lambda: cfgguide.json_schema({"pattern": "("}), "at /pattern: the pattern '(' cannot be"
    ),
    "thinking before a number": (lambda: cfgguide.thinking(5), "an answer after thinking is"),
    # Tools
    "a function of arguments without names": (lambda: wrote(adds), "by its position, but a model"),
    "two tools of one name": (lambda: tools([named, named]), "2 tools are called 'named'"),
    "no tools": (lambda: tools([]), "there are no tools"),
    "a tool alone": (lambda: tools(named), "tools are a list of functions"),
    "a tool's name": (lambda: tools(["named"]), "a tool is a mapping, a function or"),
    "a tool without a name": (lambda: tools([{"parameters": {}}]), "the name of a tool has"),
    "parameters in a list": (lambda: tools([{"name": "f", "parameters": []}]), "are a JSON Schema"),
    "parameters that are no object": (
        lambda: tools([{"name": "f", "parameters": {"type": "integer"}}]), "a tool are an object"
    ),
    "a choice of no tool": (lambda: tools([named], choice="nmaed"), "did you mean named?"),
    "a choice that is a number": (lambda: tools([named], choice=5), "choice is 5; it is auto"),
    "a choice of OpenAI without a name": (
        lambda: tools([named], choice={"type": "function"}), "choice is {'type'"
    ),
    "a format of no model": (lambda: tools([named], format="gpt4"), "there is no format 'gpt4'"),
    "tools and a type": (
        lambda: wrote(Review, tools=[named]), "say what to write, or which tools may be called"
    ),
    # generate
    "a model's name": (
        lambda: cfgguide.generate("gpt2", "a", Review), "a model of transformers is needed"
    ),
    "a prompt and a model": (
        lambda: cfgguide.generate("a", cfgguide, Review), "a prompt is a text or a list of messages"
    ),
    "a message alone": (lambda: wrote(Review, prompt=MESSAGE), "a prompt is a text or a list of"),
    "bytes as a prompt": (lambda: wrote(Review, prompt=b"a"), "or a list of messages, not bytes"),
    "a chat without a template": (
        lambda: wrote(Review, prompt=[MESSAGE]), "the tokenizer has no chat template"
    ),
    "an option of OpenAI": (
        lambda: wrote(Review, max_tokens=5),
        "there is no option max_tokens; did you mean max_new_tokens?",
    ),
    "no text at all": (lambda: wrote(Review, n=0), "n is 0; it is a number from 1 up"),
    "texts of each prompt": (lambda: wrote(Review, prompt=["a"], n=2), "give a prompt as often as"),
    "fewer than no retries": (lambda: wrote(Review, retries=-1), "retries is -1; it is a number"),
    "a text for whether to finish": (
        lambda: wrote(Review, finish="x"), "finish is 'x'; it is True or False"
    ),
    "a text for whether samples finish": (
        lambda: cfgguide.sample(len, index=INDEX, max_new_tokens=5, finish="x"), "finish is 'x'; it"
    ),
    "a text for whether rows finish": (
        lambda: LogitsProcessor(INDEX, finish="x"), "finish is 'x'; it is True or False"
    ),
    "a stop of no letters": (lambda: wrote(Review, stop=""), "stop is ''; it is a text, or a list"),
    "a text for until": (lambda: wrote(Review, until="."), "it is a function of the text, and"),
    "a number as a prefix": (lambda: wrote(Review, prefix=5), "prefix is 5; it is how the text"),
    "a temperature as a text": (lambda: wrote(Review, temperature="1"), "temperature is '1'; it"),
    "a temperature below 0": (lambda: wrote(Review, temperature=-1), "temperature is -1; it is 0"),
    "a share above 1": (lambda: wrote(Review, top_p=2), "top_p is 2; it is above 0 and at most 1"),
    "a fraction of tokens": (lambda: wrote(Review, top_k=1.5), "top_k is 1.5; it is at least 1"),
    "a seed that is a text": (lambda: wrote(Review, temperature=1, seed="a"), "seed is 'a'"),
    "a tokenizer's name for a model": (
        lambda: wrote(Review, tokenizer="gpt2"), "a tokenizer of transformers is needed, not 'gpt2'"
    ),
    "a stream of a batch": (
        lambda: cfgguide.stream(MODEL, ["a"], Review, tokenizer=TOKENIZER), "a stream is of one"
    ),
    # A server
    "a server without http": (
        lambda: cfgguide.client("localhost", "m"), "a server has an address such as"
    ),
    "an option that a request has": (
        lambda: server().generate("a", Review, top_k=2),
        "there is no option top_k; did you mean top_p?; what else a request says goes into request",
    ),
    "a grammar for any server": (
        lambda: server().generate("a", GRAMMAR), "a grammar needs the plug-in in the server"
    ),
    "a stream of a batch of a server": (
        lambda: server().stream(["a"], Review), "a stream is of one prompt"
    ),
    # Files and texts
    "an index that is not there": (
        lambda: Index.load("/no", VOCABULARY), "it cannot be opened"
    ),
    "a file of something else": (
        lambda: Index.load(Path(__file__), VOCABULARY), "is not a usable file of kind 'index'"
    ),
    "a number, checked": (lambda: cfgguide.check(GRAMMAR, 5), "a text is a str or bytes, not int"),
    "checked against a wrong name": (
        lambda: cfgguide.check("yaml", "a: 1"), "there is no bundled grammar 'yaml'"
    ),
    "a pool of one name": (
        lambda: IndexPool(VOCABULARY).index("yaml"), "there is no bundled grammar 'yaml'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_is_told_what_to_pass(name: str) -> None:
    call, message = WRONG_CALLS[name]
    with pytest.raises(CfgGuideError, match=re.escape(message)):
        call()


def test_any_integer_is_a_token_and_leaves_nothing_behind() -> None:
    torch = pytest.importorskip("torch")
    index = cfgguide.compile(GRAMMAR, VOCABULARY)
    for _ in range(5):
        for token in (97, np.int64(97), torch.tensor(97)):
            one = Guide(index)
            one.advance(token)
            assert one.token_ids == (97,)
            assert all(type(token_id) is int for token_id in one.token_ids)
    assert index.start.after(97) is not None
