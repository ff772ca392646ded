"""A real model writes in a language that was made up in ten lines: short recipes.

Lark, which reads the same grammar, gives back what was written as a tree. Run it with
``python examples/own_grammar.py``, or with dishes of your own behind it.
"""

from __future__ import annotations

import sys

import lark

import cfgguide
from cfgguide.models import load_model

# Every repetition has a bound, so a recipe always comes to its end.
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
    judge = lark.Lark(GRAMMAR, parser="lalr")
    n_complete = 0
    for dish in sys.argv[1:] or DISHES:
        written = cfgguide.generate(
            model,
            f"Three short recipes.\n\n{EXAMPLE}Now the recipe for {dish}:\n",
            tokenizer=tokenizer,
            index=index,
            max_new_tokens=200,
        )
        print(written.text)
        if written.is_complete:
            n_complete += 1
            tree = judge.parse(written.text)
            for ingredient in tree.find_data("ingredient"):
                amount, unit, name = (str(part).strip() for part in ingredient.children)
                print(f"  {name:<24} {amount:>4} {unit.removesuffix(' of')}")
        print()
    return 0 if n_complete else 1


if __name__ == "__main__":
    sys.exit(main())
