"""A real model writes short recipes, in a language that ten lines define.

Lark reads the same grammar and returns each recipe as a tree. Run
``python examples/own_grammar.py``, or name your own dishes as arguments.
"""

from __future__ import annotations

import sys

import lark

import cfgguide
from cfgguide.models import load_model

# Every repetition is bounded, so every recipe ends.
GRAMMAR = r"""
start: "Recipe:" WORDS "\n" ingredient~2..4 step~2..4
ingredient: "-" INT UNIT WORDS "\n"
step: INT "." ACTION WORDS ["," WAIT] "\n"
UNIT: " g of" | " ml of" | " spoons of"
ACTION: " Mix" | " Heat" | " Bake" | " Add" | " Serve"
WAIT: / [1-9][0-9]? minutes/
WORDS: /( [a-z]+){1,4}/
INT: / ?[1-9][0-9]{0,2}/
"""
EXAMPLE = """Recipe: pea soup
- 300 g of green peas
- 500 ml of water
1. Heat the water, 5 minutes
2. Add the peas, 10 minutes
3. Serve the soup

"""
DISHES = ["pancakes", "tomato sauce"]


def main() -> int:
    model, tokenizer = load_model()
    index = cfgguide.compile(cfgguide.Grammar(GRAMMAR), tokenizer)
    parser = lark.Lark(GRAMMAR, parser="lalr")
    n_complete = 0
    for dish in sys.argv[1:] or DISHES:
        result = cfgguide.generate(
            model,
            f"Three short recipes.\n\n{EXAMPLE}Now the recipe for {dish}:\n",
            tokenizer=tokenizer,
            what=index,
            max_new_tokens=200,
        )
        print(result.text)
        if result.is_complete:
            n_complete += 1
            tree = parser.parse(result.text)
            for ingredient in tree.find_data("ingredient"):
                amount, unit, name = (str(part).strip() for part in ingredient.children)
                print(f"  {name:<24} {amount:>4} {unit.removesuffix(' of')}")
        print()
    return 0 if n_complete else 1


if __name__ == "__main__":
    sys.exit(main())
