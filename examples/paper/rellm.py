"""The examples of ReLLM's README (Rickard 2023), which Willard & Louf 2023 cite, and what it loses.

Each prompt and pattern of the README is completed by SmolLM2 under cfgguide, and `re` judges. Then
ReLLM's own step, four lines of it rewritten here, is shown what it cannot do. Run
``python examples/paper/rellm.py``.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import NamedTuple

import regex
from verdicts import Claims

import cfgguide
from cfgguide.models import load_model


class Example(NamedTuple):
    """A prompt and a pattern, and what the README shows for GPT-2."""

    prompt: str
    pattern: str
    shown: str


EXAMPLES = [
    Example(
        "ReLLM, the best way to get structured data out of LLMs, is an acronym for ",
        r"Re[a-z]+ L[a-z]+ L[a-z]+ M[a-z]+",
        "Realized Logistic Logistics Model",
    ),
    Example(
        "Return the first three letters of the alphabet in a json array:",
        r"\[\"[a-z]\", \"[a-z]\", \"[a-z]\"\]",
        '["a", "b", "c"]',
    ),
    Example(
        "Fill in the sentence with an interesting story about the dentist:",
        r"Today I\'m going to the [a-z]+ to [a-z]+ because ([a-z]+ )*\.",
        "Today I'm going to the dentist to see because it is a very important day for me",
    ),
    Example("Is this a good demo?", r"(Yes|No)", "No."),
    Example(
        "Convert the date May 4, 2023 to the format mm/dd/yyyy:",
        r"[0-9]{2}/[0-9]{2}/[0-9]{4}",
        "00/00/0045",
    ),
    Example("Jeff Dean is a", r"(Programmer|Computer Scientist|AGI)", "Computer Scientist"),
    Example("I can eat ", r"[0-9]{1,10} [a-z]* of [a-z]*", "800 calories of coffee"),
]


def allowed_by_rellm(pattern: str, text: str, decoded: dict[int, str]) -> set[int]:
    """Return ReLLM's set for a text: every token is matched anew, as text and from its start."""
    compiled = regex.compile(pattern)
    return {
        token_id
        for token_id, token in decoded.items()
        if compiled.fullmatch(text + token, partial=token != "")
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer prompts")
    quick = parser.parse_args().quick
    claims = Claims("ReLLM's examples")
    model, tokenizer = load_model()
    examples = [EXAMPLES[3]] if quick else EXAMPLES
    n_written = 0
    for example in examples:
        result = cfgguide.generate(
            (model, tokenizer), example.prompt, cfgguide.regex(example.pattern), max_new_tokens=30
        )
        judged = re.fullmatch(example.pattern, result.text) is not None
        n_written += judged and result.is_complete
        print(f"          {result.text!r}")
    fit = [re.fullmatch(each.pattern, each.shown) is not None for each in EXAMPLES]
    claims.judge(
        "README: 'Exact structure out of any language model completion'",
        f"cfgguide: re.fullmatch takes {n_written} of {len(examples)}; of the "
        f"README's own outputs, {sum(fit)} of {len(fit)}",
        "held in part",
        "here; of ReLLM's own outputs, one was cut by the number of tokens, and one goes on",
        shown=n_written == len(examples) and fit.count(False) == 2,
    )

    vocabulary = cfgguide.Vocabulary.of(tokenizer)
    decoded = {token_id: tokenizer.decode([token_id]) for token_id in range(vocabulary.size)}
    _characters(claims, vocabulary, decoded, tokenizer)
    _ends(claims, [decoded[i] for i in tokenizer("3 bowls of gooseberries")["input_ids"]])
    return claims.status()


def _characters(
    claims: Claims, vocabulary: cfgguide.Vocabulary, decoded: dict[int, str], tokenizer: object
) -> None:
    """Judge a character that no token spells whole."""
    assert callable(tokenizer)
    pattern = "(𝄞|𝄢)!"  # a treble or a bass clef
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.regex(pattern), vocabulary))
    there = allowed_by_rellm(pattern, "", decoded)
    token_ids = tokenizer("𝄞!")["input_ids"]
    for token_id in token_ids:
        guide.advance(token_id)  # raises if it is not allowed
    claims.judge(
        "README: it tests 'every possible completion against a partial regex'",
        f"pattern {pattern}: of {len(decoded):,} tokens ReLLM's step allows {len(there)}; cfgguide "
        f"lets all {len(token_ids)} tokens of '𝄞!' pass",
        "did not hold",
        "a token that is part of a character has no text of its own",
        shown=not there and guide.is_accepting,
    )


def _ends(claims: Claims, tokens: list[str]) -> None:
    """Judge where a completion ends: at the first match, which is the shortest."""
    compiled = regex.compile(EXAMPLES[-1].pattern)
    wanted = "".join(tokens)
    text = ""
    for token in tokens:  # as its loop goes, if the model wants to write just this
        text += token
        if compiled.match(text):
            break
    first = compiled.match(text)
    assert first is not None, "the text that is wanted matches"
    is_whole = re.fullmatch(EXAMPLES[-1].pattern, wanted) is not None
    claims.judge(
        "its loop ends as soon as the pattern matches, as the default `stop_after_match` has it",
        f"led token by token to {wanted!r}, it returns {first[0]!r}",
        "did not hold",
        "as a way to write what the model would: the first match is the shortest. Without it, its "
        "loop never allows the end, and runs until `max_new_tokens`",
        shown=first[0] != wanted and is_whole,
    )


if __name__ == "__main__":
    sys.exit(main())
