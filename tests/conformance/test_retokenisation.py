"""The mask depends on the text alone: other tokens for the same text have the same masks.

1,000 texts that Lark accepts, 100 of each of ten grammars, are spelled in five random ways by each
vocabulary. Every spelling must be allowed token by token and end in EOS, and wherever two spellings
have a cut at the same place, their masks there must be the same to the bit.

The folder comes from the environment variable CFGGUIDE_CONFORMANCE_DATA, which
`make conformance DATA=...` sets, and holds `tokenizers/<name>/` with `tokenizer.json` and
`tokenizer_config.json`. Grammars and texts are derived here from Lark's own rules; folders of
`tests/golden`, where there are any, add theirs.
"""

from __future__ import annotations

import functools
import json
import os
import random
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import lark
import numpy as np
import pytest
from fuzz.texts import Sampler
from tokenizers import Tokenizer

import cfgguide

FOLDER = os.environ.get("CFGGUIDE_CONFORMANCE_DATA")
if not FOLDER:
    pytest.skip("CFGGUIDE_CONFORMANCE_DATA names no folder", allow_module_level=True)
DATA = Path(FOLDER)
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
VOCABULARIES = [
    name for name in ("gpt2", "qwen2.5", "mistral-v1-spm") if (DATA / "tokenizers" / name).is_dir()
]
N_TEXTS = 100  # of each grammar
N_GOLDEN = 30
N_SPELLINGS = 5
LONGEST_TEXT = 60  # characters of a derived one
LONGEST_TOKEN = 24  # bytes
LETTERS = "abcxyzkeyname0123 ,;.-\né日"


class Source(NamedTuple):
    """A grammar, texts known to be sentences, and how many there shall be in all."""

    grammar: cfgguide.Grammar
    texts: tuple[str, ...] = ()
    n_texts: int = N_TEXTS


OWN = {
    "sums": """
        start: sum
        ?sum: product | sum ("+" | "-") product
        ?product: atom | product ("*" | "/") atom
        ?atom: NUMBER | NAME | "(" sum ")" | "-" atom
        NUMBER: /[0-9]+(\\.[0-9]*)?/
        NAME: /[a-z_]\\w*/
        %ignore /[ \\t]+/
    """,
    "settings": r"""
        start: (section | COMMENT? _NL)*
        section: "[" KEY "]" _NL (KEY "=" VALUE? _NL)*
        KEY: /[a-z][a-z0-9.]*/i
        VALUE: /[^\n#;\[\]=]+/
        COMMENT: /[#;][^\n]*/
        _NL: /\r?\n/
        %ignore " "
    """,
    "query": """
        start: "select"i columns "from"i NAME ["where"i condition] ["limit"i INT] ";"?
        columns: "*" | NAME ("," NAME)*
        ?condition: test (("and"i | "or"i) test)*
        test: NAME ("=" | "<" | "<=" | "<>") (INT | STRING) | "not"i test | "(" condition ")"
        NAME: /[a-z_]+/
        INT: /[0-9]+/
        STRING: /'([^']|'')*'/
        %ignore /[ \\n]+/
    """,
    "tags": """
        start: element
        element: "<" NAME (_SPACE NAME "=" QUOTED)* ("/>" | ">" content* "</" NAME ">")
        content: element | TEXT | "&" NAME ";"
        NAME: /[a-z]+/
        QUOTED: /"[^"<]*"/
        TEXT.-1: /[^<&]+/
        _SPACE: " "
    """,
    "lists": """
        start: form*
        form: "(" form* ")" | "'" form | ATOM | STRING
        ATOM: /[^\\s()'"]+/
        STRING: /"(\\\\.|[^"\\\\])*"/
        %ignore /\\s+/
        %ignore /;[^\\n]*/
    """,
    "rows": """
        start: row ("\\n" row)*
        row: [cell] ("," [cell])*
        cell: PLAIN | QUOTED
        PLAIN: /[^",\\n]+/
        QUOTED: /"(?:[^"]|"")*"/
    """,
    "dates": """
        start: date ("," date)*
        date: YEAR "-" MONTH "-" DAY ["T" HOUR ":" MINUTE]
        YEAR: /[12][0-9]{3}/
        MONTH: /0[1-9]|1[0-2]/
        DAY: /0[1-9]|[12][0-9]|3[01]/
        HOUR: /[01][0-9]|2[0-3]/
        MINUTE: /[0-5][0-9]/
        %ignore " "
    """,
    "keywords": """
        start: (statement ";")*
        statement: "if" NAME "then" statement ["else" statement] | NAME ":=" value | "pass"
        value: NAME | INT ".." INT | INT
        NAME: /[^\\W\\d]\\w*/
        INT: /[0-9]+/
        %ignore /[ \\n]+/
    """,
    "dots": """
        start: (DOT | ELLIPSIS NAME | NUMBER)+
        DOT: "."
        ELLIPSIS: "..."
        NUMBER: /[0-9]+(e[0-9]+)?/
        NAME: /[a-zé日]+/
    """,
}


def golden(folder: Path) -> Source:
    """Return the grammar and the sentences of a golden folder."""
    cases = tomllib.loads((folder / "cases.toml").read_text(encoding="utf-8"))
    files = sorted(folder.glob("accept/*.txt"))
    texts = [*cases.get("accept", ()), *(path.read_bytes().decode() for path in files)]
    path = folder / "grammar.lark"
    if "installed" in cases:
        path = Path(lark.__file__).parent / "grammars" / cases["installed"]
    grammar = cfgguide.Grammar.open(path, start=cases.get("start", "start"))
    return Source(grammar, tuple(texts), N_GOLDEN)


SOURCES: dict[str, Callable[[], Source]] = {
    "json": lambda: Source(cfgguide.Grammar.bundled("json")),
    **{name: functools.partial(Source, cfgguide.Grammar(text)) for name, text in OWN.items()},
    **{
        f"golden {path.parent.name}": functools.partial(golden, path.parent)
        for path in sorted(GOLDEN.glob("*/cases.toml"))
    },
}


@functools.cache
def parser_of(name: str) -> lark.Lark:
    grammar = SOURCES[name]().grammar
    return lark.Lark(
        grammar.text, start=grammar.start, parser="lalr", source_path=grammar.source_path
    )


@functools.cache
def sentences(name: str) -> list[bytes]:
    """Return texts that Lark accepts: the known ones, and the longest of those derived."""
    source, parser = SOURCES[name](), parser_of(name)
    assert all(is_sentence(parser, text) for text in source.texts), "a golden text is none"
    sampler = Sampler(parser, LETTERS, random.Random(name), source.grammar.start, LONGEST_TEXT)
    derived: dict[str, None] = {}
    for _ in range(200 * source.n_texts):
        text = sampler.text()
        if text not in source.texts and is_sentence(parser, text):
            derived[text] = None
        if len(derived) >= 4 * source.n_texts:
            break
    n_wanted = max(0, source.n_texts - len(source.texts))
    longest = sorted(derived, key=len, reverse=True)[:n_wanted]
    return [text.encode() for text in (*source.texts, *longest)]


def is_sentence(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except (lark.exceptions.LarkError, EOFError):
        return False
    return True


@functools.cache
def vocabulary(name: str) -> cfgguide.Vocabulary:
    folder = DATA / "tokenizers" / name
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))["eos_token"]
    return cfgguide.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=tokenizer.token_to_id(end))


@functools.cache
def ids_by_bytes(name: str) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary(name).tokens):
        if token:
            found.setdefault(token, []).append(token_id)
    return found


def spelling(name: str, text: bytes, rng: random.Random) -> list[int]:
    """Return random tokens that spell a text; each of the three vocabularies has every byte."""
    by_bytes, ids, start = ids_by_bytes(name), [], 0
    while start < len(text):
        ends = range(start + 1, min(len(text), start + LONGEST_TOKEN) + 1)
        end = rng.choice([end for end in ends if text[start:end] in by_bytes])
        ids.append(rng.choice(by_bytes[text[start:end]]))
        start = end
    return ids


def masks(index: cfgguide.Index, ids: list[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the place of each cut and the mask there; fails where a token is not allowed."""
    guide = cfgguide.Guide(index)
    mask = np.empty(index.vocabulary.n_words, dtype=np.int32)
    for token_id in [*ids, index.vocabulary.eos_token_ids[0]]:
        guide.fill_bitmask(mask)
        yield len(guide.text), mask.tobytes()
        assert mask[token_id // 32] >> (token_id % 32) & 1, (guide.text, token_id)
        guide.advance(token_id)
    assert guide.is_finished


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("vocabulary_name", VOCABULARIES)
def test_every_spelling_of_a_sentence_is_allowed_and_has_the_same_masks(name, vocabulary_name):
    source, texts = SOURCES[name](), sentences(name)
    assert len(texts) >= source.n_texts
    index = cfgguide.compile(source.grammar, vocabulary(vocabulary_name))
    n_compared = 0
    for number, text in enumerate(texts):
        at: dict[int, bytes] = {}
        for seed in range(N_SPELLINGS):
            ids = spelling(vocabulary_name, text, random.Random(f"{number} {seed}"))
            for place, mask in masks(index, ids):
                n_compared += place in at
                assert at.setdefault(place, mask) == mask, (text[:place], ids)
    assert n_compared > len(texts) * N_SPELLINGS


def test_there_are_a_thousand_sentences_of_ten_grammars():
    names = [name for name in SOURCES if not name.startswith("golden ")]
    assert len(names) == 10
    assert sum(len(set(sentences(name))) for name in names) == 1000
