"""The bytes of every token of five real tokenizers, against a table made without this code.

The folder comes from the environment variable CFGGUIDE_CONFORMANCE_DATA, which
`make conformance DATA=...` sets. It holds `tokenizers/<name>/` with `tokenizer.json`,
`tokenizer_config.json` and `token_bytes.tsv`, and `corpora/*/*.jsonl` whose lines have a `text`.
"""

from __future__ import annotations

import functools
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tokenizers import Tokenizer

from cfgguide.engine.vocabulary.vocabulary import Vocabulary

FOLDER = os.environ.get("CFGGUIDE_CONFORMANCE_DATA")
if not FOLDER:
    pytest.skip("CFGGUIDE_CONFORMANCE_DATA names no folder", allow_module_level=True)
DATA = Path(FOLDER)
NAMES = sorted(path.parent.name for path in DATA.glob("tokenizers/*/token_bytes.tsv"))
LINES_PER_CORPUS = 150

TEXTS = [
    "Hello, world!",
    " one space in front",
    "   three in front and two behind  ",
    "tabs\tand\t\tmore\t \t",
    "line\nline\r\nline\n\n\n    indented\n\t\tmore\n",
    " ",
    "\n",
    "                                        forty spaces",
    "3.14159e-10 0x1F 1234567890 1,000,000 007",
    '{"key": [1, 2.5, -3e8, true, null, "a\\u00e9\\n"]}',
    "def f(x: int = 0) -> str:\n    return f'{x!r:>10}'  # comment\n",
    "SELECT \"a b\", 'it''s' FROM t WHERE x <> 3 AND y LIKE '%_';",
    "#include <stdio.h>\nint main(void) { return (a->b != c) ? ~0 : *p++; }",
    "if=1; 1..2 x:=y !== <<= >>> ||= ?? ${}",
    "café naïve Ångström Straße œuvre đem",
    "e\u0301 o\u0308 decomposed, and \u212b \u2126 that NFC replaces",
    "日本語のテキストと漢字、カタカナ。",
    "Русский, Ελληνικά, עברית, العربية, हिन्दी, ไทย, 한국어",
    "mixed русскийenglish日本123العربية",
    "\U0001f600\U0001f469\u200d\U0001f4bb\U0001f1e9\U0001f1ea\U0001f44d\U0001f3fd emoji",
    "\U00010348 \U0001d54f \U0002070e outside the basic plane",
    "quotes “curly” ‘single’ «guillemets» „low“ — dash … dots",
    "no-break\u00a0space, thin\u2009space, ideographic\u3000space, zero\u200bwidth, \ufeffBOM",
    "control \x01\x02\x04\x06\x07\x08\x0b\x0c\x1b\x7f\x80\x9f characters \x00",
    "<0x41> ▁ Ġ Ċ literal marks of the tokenizers",
]


class Case(NamedTuple):
    """A real tokenizer, its vocabulary and the table that it must equal."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    table: list[tuple[str, bytes]]  # of each id, its kind and its bytes


@functools.cache
def case(name: str) -> Case:
    folder = DATA / "tokenizers" / name
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))["eos_token"]
    rows = [line.split("\t") for line in (folder / "token_bytes.tsv").read_text().splitlines()]
    table = {int(index): (kind, bytes.fromhex(digits)) for index, kind, digits in rows}
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=tokenizer.token_to_id(end))
    return Case(tokenizer, vocabulary, [table[index] for index in range(len(table))])


def mismatches(vocabulary: Vocabulary, table: list[tuple[str, bytes]]) -> list[Any]:
    """Ids whose bytes are not those of the table: kinds n, b and a are text, s and h are not."""
    return [
        (index, kind, expected, found)
        for index, ((kind, expected), found) in enumerate(
            zip(table, vocabulary.tokens, strict=True)
        )
        if found != (expected if kind in "nba" else None)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_id_has_the_bytes_of_the_table(name):
    assert mismatches(case(name).vocabulary, case(name).table) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_id_has_the_bytes_of_the_table_when_transformers_loads_it(name):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(DATA / "tokenizers" / name)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary == case(name).vocabulary
    assert vocabulary.digest == case(name).vocabulary.digest


def normalised(text: str, normalizer: Mapping[str, Any] | None) -> str:
    """What the tokenizer's declared normaliser makes of a text, step by step."""
    match normalizer:
        case None:
            return text
        case {"type": "Sequence", "normalizers": steps}:
            return functools.reduce(normalised, steps, text)
        case {"type": "NFC"}:
            return unicodedata.normalize("NFC", text)
        case {"type": "Prepend", "prepend": first}:
            return first + text if text else text
        case {"type": "Replace", "pattern": {"String": old}, "content": new}:
            return text.replace(old, new)
    raise AssertionError(f"the test does not know this normaliser: {normalizer}")


def spelled_by_encoding(text: str, name: str) -> bytes:
    """What the tokens that encode a text must spell.

    1. The text after the declared normaliser: NFC for qwen2.5; for sentencepiece "▁" in front and
       instead of each space.
    2. For sentencepiece "▁" is then read as a space: one space comes in front of the text, and a
       "▁" of the text itself becomes a space too (its decoder says the same).
    3. A byte-level tokenizer drops bytes that it has no token for (smollm2 lacks 21).
    """
    description = description_of(name)
    expected = normalised(text, description["normalizer"]).encode()
    if description["decoder"]["type"] == "ByteLevel":
        single = {expected for _, expected in case(name).table if len(expected) == 1}
        missing = bytes(byte for byte in range(256) if bytes([byte]) not in single)
        return expected.translate(None, delete=missing)
    return expected.replace("▁".encode(), b" ")


@functools.cache
def description_of(name: str) -> dict[str, Any]:
    return json.loads(case(name).tokenizer.to_str())


def assert_encoding_spells(text: str, name: str) -> None:
    tokenizer, vocabulary, _ = case(name)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    spelled = vocabulary.spell(ids)
    assert spelled == spelled_by_encoding(text, name)
    shown = spelled.decode(errors="replace")
    if description_of(name)["decoder"]["type"] == "Sequence":
        shown = shown.removeprefix(" ")  # Strip, of the whole text
    assert tokenizer.decode(ids) == shown


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_tokens_of_an_encoding_spell_the_text(text, name):
    assert_encoding_spells(text, name)


@pytest.mark.parametrize("name", NAMES)
def test_added_tokens_that_are_not_special_spell_themselves_in_a_text(name):
    contents = [text.decode() for kind, text in case(name).table if kind == "a"]
    assert_encoding_spells("a" + "".join(f" {content}." for content in contents), name)


def corpus_texts(path: Path) -> Iterator[str]:
    """At most LINES_PER_CORPUS texts of a corpus, evenly spaced (some lines have bytes instead)."""
    texts = [json.loads(line).get("text") for line in path.open(encoding="utf-8")]
    texts = [text for text in texts if isinstance(text, str)]
    yield from texts[:: -(-len(texts) // LINES_PER_CORPUS)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "path", sorted(DATA.glob("corpora/*/*.jsonl")), ids=lambda p: p.parent.name
)
def test_tokens_of_encoded_corpora_spell_them(path, name):
    special = [added["content"] for added in description_of(name)["added_tokens"]]
    is_special = re.compile("|".join(map(re.escape, special))).search
    texts = [text for text in corpus_texts(path) if not is_special(text)]
    assert len(texts) >= 50
    for text in texts:
        assert_encoding_spells(text, name)
