"""A real model writes JSON: SmolLM2-135M, its own vocabulary, and the bundled JSON grammar.

Every text that it finishes parses; at the end `json.loads` and Lark confirm it. Run it with
``make demo``, or with your own prompt: ``python examples/write_json.py "A bicycle"``.
"""

from __future__ import annotations

import json
import sys
import time

import lark

import cfgguide
from cfgguide.models import load_model

PROMPTS = [
    "Write a JSON object with the name, the age and the hobbies of a person. Answer in JSON only.",
    "List three European capitals as a JSON array of objects with city and country.",
    "Give the settings of a small web server as JSON.",
]


def main() -> int:
    prompts = sys.argv[1:] or PROMPTS
    model, tokenizer = load_model()
    # So small a model writes whitespace without end if it may: allow 16 characters at a time.
    grammar = cfgguide.Grammar.bundled("json", max_ignored=16)
    started = time.perf_counter()
    index = cfgguide.compile(grammar, tokenizer)
    print(f"compiled the grammar for {index.vocabulary.size} tokens ", end="")
    print(f"in {time.perf_counter() - started:.2f} s\n")
    parser = lark.Lark(grammar.text, parser="lalr")
    n_complete = 0
    for prompt in prompts:
        print(f"> {prompt}")
        stream = cfgguide.stream(
            model,
            [{"role": "user", "content": prompt}],
            tokenizer=tokenizer,
            what=index,
            max_new_tokens=200,
            temperature=0.7,
            seed=1,
        )
        for part in stream:
            print(part.text, end="", flush=True)
        result = stream.result
        if result.is_complete:
            n_complete += 1
            parser.parse(result.text)
            json.loads(result.text)
            print("\n-- complete: json.loads and Lark parse it\n")
        else:
            print("\n-- incomplete: the sentence did not end within the tokens\n")
    return 0 if n_complete else 1


if __name__ == "__main__":
    sys.exit(main())
