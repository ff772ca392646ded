"""The example of parserLLM's README (Rickard 2023), cited by the paper, and what it loses.

The README's grammar of JSON is completed by SmolLM2 under cfgguide; Lark and `json` judge. Then
parserLLM's own step, rewritten here, is put beside it: Lark says which terminals may follow, and a
token has to match one of their patterns. Run ``python examples/paper/parserllm.py``.
"""

from __future__ import annotations

import argparse
import json
import sys

import lark
import regex
from verdicts import Claims

import cfgguide
from cfgguide.models import load_model

GRAMMAR = r"""
?start: value
?value: object
      | array
      | string
      | "true"  -> true
      | "false" -> false
      | "null"  -> null
array  : "[" [value ("," value)*] "]"
object : "{" [pair ("," pair)*] "}"
pair   : string ":" value
string : ESCAPED_STRING
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
"""
PROMPT = "Write the first three letters of the alphabet in valid JSON format\n"
VALUES = ["a", ["a", "b", "c"], {"a": True, "b": [None]}, {"name": {"first": "Ada", "last": "L."}}]


def next_terminals(parser: lark.Lark, text: str) -> set[str]:
    """Return what Lark's parser takes after a text of whole lexemes."""
    interactive = parser.parse_interactive(text)
    interactive.exhaust_lexer()
    return set(interactive.accepts())


def parserllm_writes(parser: lark.Lark, tokens: list[str]) -> bool:
    """Return whether parserLLM's steps may choose these tokens, one after another.

    Between two lexemes Lark names the terminals; inside of one, a token has to keep the match of
    one of their patterns. The lexeme ends as soon as a pattern matches.
    """
    patterns = {each.name: regex.compile(each.pattern.to_regexp()) for each in parser.terminals}
    whole, lexeme = "", ""
    for token in tokens:
        fitting = [patterns[name] for name in next_terminals(parser, whole) - {"$END"}]
        lexeme += token
        if not any(each.fullmatch(lexeme, partial=True) for each in fitting):
            return False
        ended = [match[0] for each in fitting if (match := each.match(lexeme))]
        if ended:
            whole, lexeme = whole + ended[0], ""
    return not lexeme


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer tokens")
    quick = parser.parse_args().quick
    claims = Claims("parserLLM's example")
    model, tokenizer = load_model()
    # As in the README's example, but for Lark's own choice of the lexer.
    judge = lark.Lark(GRAMMAR, parser="lalr", lexer="basic", regex=True)
    vocabulary = cfgguide.Vocabulary.of(tokenizer)
    index = cfgguide.compile(cfgguide.Grammar(GRAMMAR), vocabulary)

    start = next_terminals(judge, "")
    guide = cfgguide.Guide(index)
    firsts = {(vocabulary.tokens[i] or b" ")[:1] for i in guide.allowed_token_ids()}
    firsts = {each for each in firsts if not each.isspace()}
    claims.judge(
        "README: the valid starting tokens are '{', '[', '\"', 'true', 'false' and 'null'",
        f"Lark: {' '.join(sorted(start))}; first bytes in cfgguide's mask: "
        f"{b' '.join(sorted(firsts)).decode()}, or white space",
        "held in part",
        "the grammar ignores white space, so a text may begin with it too",
        shown=start == {"LBRACE", "LSQB", "ESCAPED_STRING", "TRUE", "FALSE", "NULL"}
        and firsts == {b"{", b"[", b'"', b"t", b"f", b"n"},
    )

    n_complete = 0
    budgets = (8,) if quick else (8, 15, 40)
    for max_new_tokens in budgets:
        result = cfgguide.generate(
            (model, tokenizer), PROMPT, cfgguide.Grammar(GRAMMAR), max_new_tokens=max_new_tokens
        )
        judge.parse(result.text)
        json.loads(result.text)
        n_complete += result.is_complete
        print(f"          {max_new_tokens:2} tokens: {result.text!r}")
    claims.judge(
        "README: it 'won't produce an invalid result, but there's no guarantee it will finish'",
        f"cfgguide finished {n_complete} of {len(budgets)} texts within their tokens; Lark and "
        "json parse them",
        "held",
        "and here it does finish: a token is allowed only if a sentence still fits",
        shown=n_complete == len(budgets),
    )

    texts = [json.dumps(value, separators=(",", ":")) for value in VALUES]
    spellings = [[tokenizer.decode([i]) for i in tokenizer(text)["input_ids"]] for text in texts]
    theirs = [parserllm_writes(judge, tokens) for tokens in spellings]
    single = [parserllm_writes(judge, list(text)) for text in texts]
    ours = [_writes(index, tokenizer(text)["input_ids"]) for text in texts]
    claims.judge(
        "blog: an equivalent problem to ReLLM's, with the union of the terminals' patterns",
        f"{len(texts)} texts in the tokenizer's own tokens: parserLLM's step writes {sum(theirs)}, "
        f"cfgguide {sum(ours)}; letter by letter, parserLLM's writes {sum(single)}. "
        f"It stops, for one, at {spellings[1][0]!r} of {texts[1]}",
        "did not hold",
        "a token that ends one lexeme and begins the next matches no pattern",
        shown=all(ours) and sum(theirs) < len(texts),
    )

    spaced = '["a", "b"]'
    judge.parse(spaced)
    claims.judge(
        "blog: it runs the partial output through Lark, which names all possible next tokens",
        f"{spaced!r}, letter by letter: parserLLM's step "
        f"{'writes' if parserllm_writes(judge, list(spaced)) else 'refuses'} it, Lark parses it",
        "did not hold",
        "ignored terminals, such as white space, are not among those that Lark names",
        shown=not parserllm_writes(judge, list(spaced))
        and _writes(index, tokenizer(spaced)["input_ids"]),
    )
    return claims.status()


def _writes(index: cfgguide.Index, token_ids: list[int]) -> bool:
    """Return whether a guide lets all of these tokens pass, and a sentence end there."""
    guide = cfgguide.Guide(index)
    for token_id in token_ids:
        if not guide.accepts(token_id):
            return False
        guide.advance(token_id)
    return guide.is_accepting


if __name__ == "__main__":
    sys.exit(main())
