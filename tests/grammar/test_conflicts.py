"""A grammar with a conflict is refused with a shortest text and both of its readings.

The expected texts are written by hand. On random grammars Lark says whether there is a conflict,
and every reading is checked against the rules that it claims to use.
"""

from __future__ import annotations

import random
import re

import lark
import pytest
from support.scripts import printed

from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError
from cfgguide.grammar import conflicts, lr_automaton
from cfgguide.grammar.grammar import Grammar

ONE_RULE = (
    "Way out: LALR(1) sees only the next terminal, and a grammar for it must not be ambiguous. "
    "Write the two rules as one, or let them differ before this place; or give one of them a "
    "priority, as in `rule.2: ...`, and Lark takes that one wherever both fit.\n"
)
TWO_PLACES = (
    "Way out: no text has both readings, but LALR(1) treats places alike whose rules look alike so "
    "far. Write the two rules as one, or give the two places rules of their own that begin with "
    "different symbols; a priority, as in `rule.2: ...`, would refuse the texts of the other "
    "rule.\n"
)
SHIFT = (
    "Way out: without `strict` Lark shifts, which is the second reading. If that is meant, leave "
    "`strict` out; if not, write the rule so that only the first reading is left.\n"
)

#: The grammar, whether strict, and the message.
MESSAGES = {
    "two rules with one text": (
        'start: a | b\na: "x"\nb: "x"\n',
        False,
        "Reduce/Reduce collision in Terminal('$END') between the following rules:\n"
        "\t- <a : X>\n"
        "\t- <b : X>\n"
        "Conflict 1 of 1: after X ('x'), before $END (the end of the text), there are two "
        "readings:\n"
        "    1.  (start (a X)) • $END\n"
        "    2.  (start (b X)) • $END\n" + ONE_RULE,
    ),
    "in the middle, with spaces and a loop": (
        'start: stmt+\nstmt: NAME "=" value ";" | call ";"\ncall: NAME ("." NAME)*\n'
        'value: call | path\npath: NAME ("." NAME)*\nNAME: /[a-z]+/\n%ignore " "\n',
        False,
        "Reduce/Reduce collision in Terminal('SEMICOLON') between the following rules:\n"
        "\t- <call : NAME>\n"
        "\t- <path : NAME>\n"
        "\n"
        "Reduce/Reduce collision in Terminal('SEMICOLON') between the following rules:\n"
        "\t- <call : NAME __call_star_1>\n"
        "\t- <path : NAME __call_star_1>\n"
        "Conflict 1 of 2: after NAME EQUAL NAME ('a = a'), before SEMICOLON (';'), there are two "
        "readings:\n"
        "    1.  NAME EQUAL (value (call NAME)) • SEMICOLON\n"
        "    2.  NAME EQUAL (value (path NAME)) • SEMICOLON\n"
        "Conflict 2 of 2: after NAME EQUAL NAME DOT NAME ('a = a . a'), before SEMICOLON (';'), "
        "there are two readings:\n"
        "    1.  NAME EQUAL (value (call NAME __call_star_1)) • SEMICOLON\n"
        "    2.  NAME EQUAL (value (path NAME __call_star_1)) • SEMICOLON\n"
        "Names like __rule_star_0 are Lark's, for the `*` and `+` of a rule.\n" + ONE_RULE,
    ),
    "empty rules": (
        'start: "(" x? y? ")"\nx: "a"?\ny: "b"?\n',
        False,
        "Reduce/Reduce collision in Terminal('RPAR') between the following rules:\n"
        "\t- <x : >\n"
        "\t- <y : >\n"
        "Conflict 1 of 1: after LPAR ('('), before RPAR (')'), there are two readings:\n"
        "    1.  (start LPAR (x) • RPAR …)\n"
        "    2.  (start LPAR (y) • RPAR …)\n" + ONE_RULE,
    ),
    # LR(1), but not LALR(1): Aho, Lam, Sethi, Ullman, example 4.58.
    "a conflict of LALR(1) only": (
        'start: "a" x "c" | "a" y "d" | "b" x "d" | "b" y "c"\nx: "q"\ny: "q"\n',
        False,
        "Reduce/Reduce collision in Terminal('C') between the following rules:\n"
        "\t- <x : Q>\n"
        "\t- <y : Q>\n"
        "\n"
        "Reduce/Reduce collision in Terminal('D') between the following rules:\n"
        "\t- <x : Q>\n"
        "\t- <y : Q>\n"
        "Conflict 1 of 2: before C ('c'), after A Q ('aq') and after B Q ('bq'), which one state "
        "stands for:\n"
        "    1.  A (x Q) • C\n"
        "    2.  B (y Q) • C\n"
        "Conflict 2 of 2: before D ('d'), after B Q ('bq') and after A Q ('aq'), which one state "
        "stands for:\n"
        "    1.  B (x Q) • D\n"
        "    2.  A (y Q) • D\n" + TWO_PLACES,
    ),
    "a dangling else, when strict": (
        'start: s\ns: "if" s | "if" s "else" s | "x"\n%ignore /[ \\n]/\n',
        True,
        "Shift/Reduce conflict for terminal ELSE. [strict-mode]\n"
        " * <s : IF s>\n"
        "Conflict 1 of 1: after IF IF X ('if if x'), before ELSE ('else'), there are two "
        "readings:\n"
        "    1.  IF (s IF s) • ELSE\n"
        "    2.  IF (s IF s • ELSE s)\n" + SHIFT,
    ),
    "operators without precedence, when strict": (
        'start: e\ne: e "+" e | e "*" e | /[0-9]/\n',
        True,
        "Shift/Reduce conflict for terminal PLUS. [strict-mode]\n"
        " * <e : e PLUS e>\n"
        "Conflict 1 of 4: after __ANON_0 PLUS __ANON_0 ('0+0'), before PLUS ('+'), there are two "
        "readings:\n"
        "    1.  (e e PLUS e) • PLUS\n"
        "    2.  e PLUS (e e • PLUS e)\n"
        "Conflict 2 of 4: after __ANON_0 PLUS __ANON_0 ('0+0'), before STAR ('*'), there are two "
        "readings:\n"
        "    1.  (e e PLUS e) • STAR\n"
        "    2.  (e e PLUS (e e • STAR e) …)\n"
        "Conflict 3 of 4: after __ANON_0 STAR __ANON_0 ('0*0'), before PLUS ('+'), there are two "
        "readings:\n"
        "    1.  (e e STAR e) • PLUS\n"
        "    2.  (e e STAR (e e • PLUS e) …)\n"
        "Not shown: 1 more.\n" + SHIFT,
    ),
    "an option before itself, when strict": (
        'start: a b\na: ["x"]\nb: ["x"] "y"\n',
        True,
        "Shift/Reduce conflict for terminal X. [strict-mode]\n"
        " * <a : >\n"
        "Conflict 1 of 1: after the beginning of the text, before X ('x'), there are two "
        "readings:\n"
        "    1.  (start (a) • X …)\n"
        "    2.  (start (a • X) …)\n" + SHIFT,
    ),
    "many rules of one symbol are left out": (
        "start: a1 | b\na1: a2\na2: a3\na3: a4\na4: A\nb: A\nA: /[x-z]/\n",
        False,
        "Reduce/Reduce collision in Terminal('$END') between the following rules:\n"
        "\t- <a4 : A>\n"
        "\t- <b : A>\n"
        "Conflict 1 of 1: after A ('x'), before $END (the end of the text), there are two "
        "readings:\n"
        "    1.  (start … (a3 (a4 A))) • $END\n"
        "    2.  (start (b A)) • $END\n" + ONE_RULE,
    ),
    "a declared terminal has no text": (
        "%declare NOTHING\nstart: (a | b) NOTHING\na: NOTHING\nb: NOTHING\n",
        False,
        "Reduce/Reduce collision in Terminal('NOTHING') between the following rules:\n"
        "\t- <a : NOTHING>\n"
        "\t- <b : NOTHING>\n"
        "Conflict 1 of 1: after NOTHING, before NOTHING, there are two readings:\n"
        "    1.  (start (a NOTHING) • NOTHING …)\n"
        "    2.  (start (b NOTHING) • NOTHING …)\n" + ONE_RULE,
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_conflict_is_shown_with_an_example_and_both_readings(name):
    text, strict, message = MESSAGES[name]
    if lark.__version__ < "1.3":  # it does not name the rule
        message = re.sub(r"(\[strict-mode\]\n) \* <.*>\n", r"\1", message)
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(Grammar(text, strict=strict))
    message += "Or take parser='earley', which follows all readings."
    assert str(caught.value) == "[grammar] Lark rejects the grammar:\n" + message


@pytest.mark.parametrize(
    "text",
    [
        'start: a | b\na.2: "x"\nb: "x"\n',  # the priority decides
        'start: s\ns: "if" s | "if" s "else" s | "x"\n',  # Lark shifts
    ],
)
def test_what_lark_decides_by_itself_is_no_conflict(text):
    compile_recognizer(Grammar(text))


@pytest.mark.slow
def test_the_message_is_the_same_in_every_process():
    text = 'start: (a|b) "," (c|d) | (e "," f)\na: "x"\nb: "x"\nc: "y"\nd: "y"\ne: "x"\nf: "z"\n'
    code = (
        "from cfgguide.compiler import compile_recognizer\n"
        "from cfgguide.grammar.grammar import Grammar\n"
        f"try:\n    compile_recognizer(Grammar({text!r}))\nexcept Exception as error:\n"
        "    print(ascii(str(error)))"
    )
    assert "Conflict 1 of 2" in printed(code)


@pytest.mark.parametrize(
    ("name", "n_examples"), [("two rules with one text", 1), ("a conflict of LALR(1) only", 2)]
)
def test_a_search_that_would_take_long_is_given_up(name, n_examples):
    """It never ends in the other answer."""
    states, _ = lr_automaton.build(_rules(MESSAGES[name][0]), "start", strict=False)
    conflict = conflicts.find(states, strict=False)[0]
    found = [len(conflicts.Examples(states, max_nodes=most).of(conflict)) for most in range(1, 40)]
    assert set(found) == {0, n_examples}
    assert found == sorted(found)


def test_terminals_that_nothing_can_read_have_no_text():
    """Lark looks for conflicts before it looks at terminals."""
    text = "start: (a | b) C\na: A\nb: A\nA: /a{99999999999}/\nC: /(?=c)./\n%ignore /(/\n"
    with pytest.raises(GrammarError, match="Conflict 1 of 1: after A, before C, there are two"):
        compile_recognizer(Grammar(text))


def test_a_conflict_after_a_very_long_text_has_no_example():
    """The shortest text of `many` has 2 ** 40 terminals."""
    doubles = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(40)) + 'r40: "r"\n'
    with pytest.raises(GrammarError, match=r"Conflict 1 of 1: before .* \(no example was found"):
        compile_recognizer(Grammar('start: r0 (a | b)\na: "x"\nb: "x"\n' + doubles))


# --- Random grammars ------------------------------------------------------------------------------


def _rules(text: str) -> list:
    class Unparsed(lark.Lark):
        def _build_parser(self):
            return None

    return Unparsed(text, parser="lalr").rules


def random_grammar(seed: int) -> str:
    """Up to four rules over three terminals, some alternatives empty."""
    choose = random.Random(seed)
    names = ["start", "p", "q", "r"][: choose.randint(2, 4)]
    lines = []
    for name in names:
        alternatives = {
            " ".join(choose.choices(["X", "Y", "Z", *names[1:]], k=choose.choice([0, 1, 1, 2, 3])))
            for _ in range(choose.randint(1, 3))
        }
        lines.append(f"{name}: {' | '.join(sorted(alternatives))}")
    return "\n".join([*lines, 'X: "x"', 'Y: "y"', 'Z: "z"'])


def checked_reading(reading: str, terminals: tuple[str, ...], rules: tuple) -> None:
    """Fail unless a reading is a beginning of a derivation and its text is `terminals`."""
    right_sides = {left: [right for name, right in rules if name == left] for left, _ in rules}
    shortest = conflicts.shortest_sentences(rules)
    before, after = reading.split(" • ")
    open_: list[list[str]] = [["(no rule)"]]
    text: list[str] = []
    for word in re.findall(r"\(\S*[^\s)]|\)|[^\s()]+", before):
        if word == ")":
            left, *right = open_.pop()
            assert tuple(right) in right_sides[left]
            open_[-1].append(left)
        elif word.startswith("("):
            open_.append([word[1:]])
        else:
            open_[-1].append(word)
            text += shortest.get(word, (word,))
    assert tuple(text) == terminals
    rest = after.split(")")[0].replace("…", "").split()
    for place, (left, *right) in enumerate(reversed(open_[1:])):
        possible = [each for each in right_sides[left] if list(each[: len(right)]) == right]
        if place == 0 and "…" not in after.split(")")[0]:
            possible = [each for each in possible if list(each) == right + rest]
        assert possible


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_conflicts_of_random_grammars(block):
    """There is one exactly if Lark, when strict, says so; and every reading is a derivation."""
    n_refused = n_interpretations = 0
    for seed in range(block * 60, block * 60 + 60):
        text = random_grammar(seed)
        try:
            rules = _rules(text)
        except lark.exceptions.GrammarError:
            continue  # a rule defined twice
        states, said = lr_automaton.build(rules, "start", strict=True)
        found = conflicts.find(states, strict=True)
        refused = False
        try:
            lark.Lark(text, parser="lalr", strict=True)
        except lark.exceptions.GrammarError as error:
            refused = "/Reduce" in str(error)
        assert bool(found) == bool(said) == refused, text
        n_refused += refused
        for conflict in found:
            for example in conflicts.Examples(states).of(conflict):
                for reading in example.interpretations:
                    if " … " not in reading.split(" • ")[0]:
                        checked_reading(reading, example.terminals, states.rules)
                        n_interpretations += 1
    assert n_refused > 5
    assert n_interpretations > 20
