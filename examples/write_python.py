"""A real model completes Python functions: SmolLM2-135M and the bundled grammar of Python.

The model gets the first lines of each function, as in the HumanEval benchmark, and writes the
rest. At the end `ast.parse` confirms that it parses. It need not do what it says: the model is
small. Run it with ``make demo``.
"""

from __future__ import annotations

import ast
import sys
import time

import cfgguide
from cfgguide.models import load_model

REQUEST = "Complete this function in Python.\n"
# None ends with a line break, because the model's next token begins with one.
SIGNATURES = [
    '''\
def longest_word(sentence: str) -> str:
    """Return the longest word of a sentence.

    >>> longest_word("a quiet evening")
    'evening'
    """''',
    '''\
def is_leap_year(year: int) -> bool:
    """Return whether a year of the Gregorian calendar has 366 days.

    >>> is_leap_year(1900), is_leap_year(2000)
    (False, True)
    """''',
    '''\
def count_vowels(text: str) -> dict[str, int]:
    """Return how often each vowel occurs in a text.

    >>> count_vowels("banana")
    {'a': 3}
    """''',
]


def main() -> int:
    model, tokenizer = load_model()
    started = time.perf_counter()
    grammar = cfgguide.Grammar.bundled("python", start="function", tidy=True)
    index = cfgguide.compile(grammar, tokenizer)
    print(f"compiled the grammar for {index.vocabulary.size} tokens ", end="")
    print(f"in {time.perf_counter() - started:.2f} s\n")
    n_complete = 0
    for signature in SIGNATURES:
        print(signature, end="", flush=True)
        stream = cfgguide.stream(
            model,
            [{"role": "user", "content": REQUEST + signature}],
            tokenizer=tokenizer,
            what=index,
            prefix=signature,
            max_new_tokens=120,
        )
        for part in stream:
            print(part.text, end="", flush=True)
        result = stream.result
        if result.is_complete:
            n_complete += 1
            (function,) = ast.parse(result.text).body  # which raises if it does not parse
            print(f"\n-- complete: ast.parse finds {ast.dump(function)[:40]}...\n")
        else:
            print("\n-- incomplete: the function did not end within the tokens\n")
    return 0 if n_complete else 1


if __name__ == "__main__":
    sys.exit(main())
