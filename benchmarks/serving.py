"""Rows of vLLM's bitmask: what each backend takes for them, through vLLM's own interface.

No model: each request writes a text of its own, token by token, and the manager of vLLM fills the
rows of a batch before each token. Cold is the first time that the requests of a batch come, in one
pass; warm is the same batch again. Runs where vLLM is: `make serve-test` makes such an environment.

    .venv-vllm/bin/python benchmarks/serving.py TOKENIZER_FOLDER --batches 1 16 256
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoTokenizer
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_guidance import GuidanceBackend
from vllm.v1.structured_output.backend_types import StructuredOutputOptions
from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

import cfgguide
from cfgguide.models.serving.vllm_parts import VllmGrammar
from cfgguide.serving import Backend

SQL = ["SELECT name, id FROM users WHERE id = 12 ORDER BY name LIMIT 3"]
PYTHON = ["def area(w, h):\n    if w < 0:\n        return None\n    return w * h\n"]


def schema_of(number: int) -> tuple[str, list[str]]:
    """Return a schema and texts that it allows; each number has others."""
    names = [f"field_{number}_{each}" for each in range(4)]
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"enum": ["a", "b"]}]
    rng = random.Random(number)
    schema = {
        "type": "object",
        "properties": dict(zip(names, kinds, strict=True)),
        "required": names,
        "additionalProperties": False,
    }
    texts = []
    for _ in range(4):
        words = " ".join(rng.choice(["red", "green", "a quick", "fox"]) for _ in range(5))
        values = [words, rng.randrange(10**6), rng.random() < 0.5, rng.choice("ab")]
        texts.append(json.dumps(dict(zip(names, values, strict=True))))
    return json.dumps(schema), texts


def tool_of(number: int) -> tuple[str, list[str]]:
    """Return a structural tag of one tool, and messages that call it."""
    schema, texts = schema_of(number)
    begin, end = f'<tool_call>\n{{"name": "tool_{number}", "arguments": ', "}\n</tool_call>"
    content = {"type": "json_schema", "json_schema": json.loads(schema)}
    tag = {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [{"begin": begin, "content": content, "end": end}],
    }
    said = [f"Let me see.{begin}{text}{end}" for text in texts]
    return json.dumps({"type": "structural_tag", "format": tag}), said


def mixed(n: int, *, what: str) -> list[tuple[str, str, str]]:
    """Return kind, text and document of `n` requests; 20 different grammars."""
    found = []
    is_all = what == "all"
    for number in range(n):
        if what == "tools":
            tag, texts = tool_of(number % 20)
            found.append(("structural_tag", tag, texts[number // 20 % 4]))
        elif is_all and number % 4 == 1:
            found.append(("grammar", "cfgguide:sql_select", SQL[0]))
        elif is_all and number % 4 == 3:
            found.append(("grammar", "cfgguide:python", PYTHON[0]))
        else:
            schema, texts = schema_of(number % 20)
            found.append(("json", schema, texts[number // 20 % 4]))
    return found


def pass_over(
    make: Callable[[str, str], Any], asked: list[tuple[str, str, str]], tokenizer: Any, width: int
) -> tuple[float, list[float], list[float]]:
    """Return seconds of compiling, and microseconds a row of filling and of accepting."""
    started = time.perf_counter()
    grammars = [make(kind, text) for kind, text, _ in asked]
    compiling = time.perf_counter() - started
    documents = [tokenizer.encode(document, add_special_tokens=False) for _, _, document in asked]
    manager = SimpleNamespace(
        _grammar_bitmask=torch.full((len(asked), width), -1, dtype=torch.int32),
        _full_mask=torch.tensor(-1, dtype=torch.int32),
    )
    filling, accepting = [], []
    for step in range(max(map(len, documents))):
        batch = [(grammar, row, True) for row, grammar in enumerate(grammars)]
        started = time.perf_counter()
        StructuredOutputManager._fill_bitmasks(manager, batch)
        filled = time.perf_counter()
        for grammar, document in zip(grammars, documents, strict=True):
            if step < len(document):
                assert grammar.accept_tokens("", [document[step]]), "the text is a sentence"
        accepted = time.perf_counter()
        filling.append((filled - started) / len(asked) * 1e6)
        accepting.append((accepted - filled) / len(asked) * 1e6)
    return compiling, filling, accepting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", help="a folder")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 64, 256, 1024])
    arguments = parser.parse_args()
    os.environ["CFGGUIDE_CACHE"] = tempfile.mkdtemp()  # empty, as a new node has it
    tokenizer = AutoTokenizer.from_pretrained(arguments.tokenizer)
    size = len(tokenizer)
    width = (size + 31) // 32
    config: Any = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False, disable_additional_properties=False
        ),
        model_config=None,
        speculative_config=None,
    )
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)

    def of_cfgguide() -> Callable[[str, str], Any]:
        backend = Backend(vocabulary)
        return lambda kind, text: VllmGrammar(backend.matcher(kind, text))

    def of_vllm(backend_class: Any) -> Callable[[], Callable[[str, str], Any]]:
        def begin() -> Callable[[str, str], Any]:
            backend = backend_class(config, tokenizer, size)
            return lambda kind, text: backend.compile_grammar(
                StructuredOutputOptions[kind.upper()], text
            )

        return begin

    engines: dict[str, tuple[str, Callable[[], Callable[[str, str], Any]]]] = {
        "cfgguide": ("schemas", of_cfgguide),
        "XGrammar": ("schemas", of_vllm(XgrammarBackend)),
        "llguidance": ("schemas", of_vllm(GuidanceBackend)),
        "cfgguide, tool calls": ("tools", of_cfgguide),
        "XGrammar, tool calls": ("tools", of_vllm(XgrammarBackend)),
        "cfgguide, with SQL and Python": ("all", of_cfgguide),
    }
    print("| | batch | pass | compiling, ms | us a row: mean | p99 step | accepting |")
    print("|---|---|---|---|---|---|---|")
    for batch in arguments.batches:
        for name, (what, begin) in engines.items():
            make = begin()
            asked = mixed(batch, what=what)
            for which in ("cold", "warm", "warm again"):
                compiling, filling, accepting = pass_over(make, asked, tokenizer, width)
                worst = sorted(filling)[int(0.99 * (len(filling) - 1))]
                print(
                    f"| {name} | {batch} | {which} | {1000 * compiling:.1f} | "
                    f"{statistics.mean(filling):.2f} | {worst:.1f} | "
                    f"{statistics.mean(accepting):.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
