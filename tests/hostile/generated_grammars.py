"""Hostile grammars that are too long, or too regular, to be written down."""

from __future__ import annotations

from hostile.cases import Named


def lines(*parts: str) -> str:
    return "\n".join(parts)


def keywords_that_freeze_a_pattern() -> Named:
    """Lark matches each pattern against each string of a grammar, with Python's `re`."""
    word = "a" * 40
    for name, pattern in (
        ("plus in plus", "(a+)+b"),
        ("star in star", "(a*)*b"),
        ("one or the same", "(a|a)*b"),
        ("one or two", "(a|aa)+b"),
        ("any in any", "(.*)*b"),
        ("three in a row", "(a*)(a*)(a*)(a*)(a*)(a*)(a*)(a*)b"),
        ("words", r"(\w+\s?)*!"),
    ):
        yield name, lines("start: A | B", f"A: /{pattern}/", f'B: "{word}"')
    many = "|".join(f'"{"a" * (20 + number)}"' for number in range(40))
    yield "many keywords", lines(f"start: A | {many}", "A: /(a+)+b/")
    yield ("two patterns", lines("start: A | B", "A: /(a+)+b/", f"B: /(a|a)+c/ | /{word}d/"))


def optionals_in_a_row() -> Named:
    """Lark writes out each choice of what is there and what is not."""
    for count in (16, 24, 64):
        row = " ".join(f'"{chr(97 + n % 26)}{n}"?' for n in range(count))
        yield f"{count} optional words", f"start: {row}"
    for count in (24, 64):
        yield f"{count} letters of two cases", "start: " + " ".join(['("a"|"A")'] * count)
    yield "24 in brackets", "start: " + " ".join(f'["x{n}"]' for n in range(24))
    yield "counted", "start: " + " ".join(f'"x{n}"~0..1' for n in range(24))
    yield "groups of three", "start: " + " ".join(f'("x{n}"|"y{n}"|"z{n}")' for n in range(16))
    yield "nested", "start: " + '("a" ' * 60 + ")?" * 60
    stars = " ".join(f'"x{n}"*' for n in range(24))
    yield "stars", f"start: {stars}"


def growing_templates() -> Named:
    yield "its argument grows", lines("start: a{X}", "a{t}: a{b{t}} | t", "b{t}: t t", 'X: "x"')
    yield (
        "two in turn",
        lines('start: a{"x"}', "a{t}: b{t, t}", "b{s, t}: a{c{s, t}}", "c{s, t}: s"),
    )
    yield (
        "doubles 40 times",
        lines(
            'start: d39{"x"}',
            "d0{t}: t t",
            *(f"d{n}{{t}}: d{n - 1}{{d{n - 1}{{t}}}}" for n in range(1, 40)),
        ),
    )
    yield "nested call", "start: " + "d{" * 300 + '"x"' + "}" * 300 + "\nd{t}: t t"
    many = ", ".join(f"t{n}" for n in range(300))
    yield (
        "300 parameters",
        lines(f"start: a{{{', '.join(300 * ['X'])}}}", f"a{{{many}}}: t0 t299", 'X: "x"'),
    )
    yield "separated by itself", lines("start: l{l{l{X}}}", 'l{t}: t ("," t)*', 'X: "x"')


def giant_rules() -> Named:
    yield "50,000 symbols", "start: " + '"a" ' * 50_000
    yield "50,000 different symbols", "start: " + " ".join(f'"a{n}"' for n in range(50_000))
    yield "10,000 words", "start: " + " | ".join(f'"word{n}"' for n in range(10_000))
    yield (
        "3,000 keywords and a name",
        lines(
            "start: (KEYWORD | NAME)*",
            "KEYWORD: " + " | ".join(f'"key{n}"' for n in range(3000)),
            "NAME: /[a-z]+/",
        ),
    )
    yield (
        "3,000 terminals and a name",
        lines(
            "start: (" + " | ".join(f'"key{n}"' for n in range(3000)) + " | NAME)*",
            "NAME: /[a-z]+/",
        ),
    )
    yield (
        "5,000 rules in a chain",
        lines("start: r0", *(f'r{n}: "a" r{n + 1}' for n in range(5000)), 'r5000: "b"'),
    )
    yield (
        "5,000 rules side by side",
        lines(
            "start: " + " | ".join(f"r{n}" for n in range(5000)),
            *(f'r{n}: "a{n}"' for n in range(5000)),
        ),
    )
    yield "20,000 terminals", lines("start: T0", *(f'T{n}: "t{n}"' for n in range(20_000)))
    yield (
        "1,000 alternatives of 50 symbols",
        "start: "
        + " | ".join(" ".join(f'"x{(n * 7 + k) % 97}"' for k in range(50)) for n in range(1000)),
    )
    yield "a word of a million letters", f'start: "{"a" * 1_000_000}"'
    yield "a comment of a million letters", f'start: "a" // {"x" * 1_000_000}'
    yield "a million empty lines", "\n" * 1_000_000 + 'start: "a"'
    yield "a name of 100,000 letters", f'start: {"a" * 100_000}\n{"a" * 100_000}: "x"'
    yield "10,000 aliases", "start: " + " | ".join(f'"a{n}" -> b{n}' for n in range(10_000))


def counted_repetitions() -> Named:
    yield "a million words", 'start: "a"~1000000'
    yield "a billion words", 'start: "a"~1000000000'
    yield "up to a million", 'start: "a"~0..1000000'
    yield "from many to fewer", 'start: "a"~10..5'
    yield "nested", 'start: (("a"~100)~100)~100'
    yield "nested and open", 'start: (("a"~0..50)~0..50)~0..50'
    yield "of a rule", lines("start: a~100000", 'a: "x" | "y" a')
    yield "in a terminal", lines("start: A", 'A: "a"~100000')
    yield "nested in a terminal", lines("start: A", 'A: (("a"~100)~100)~100')
    yield "of choices in a terminal", lines("start: A", 'A: ("a"|"b"|/c+/)~0..2000')
    yield "a number of 5,000 digits", f'start: "a"~{"9" * 5000}'


def terminals_that_double() -> Named:
    """A billion laughs."""
    for levels in (16, 30, 60):
        yield (
            f"{levels} times",
            lines(
                f"start: A{levels}",
                'A0: "ha"',
                *(f"A{n}: A{n - 1} A{n - 1}" for n in range(1, levels + 1)),
            ),
        )
    yield (
        "ten times each",
        lines("start: A9", 'A0: "lol"', *(f"A{n}: {f'A{n - 1} ' * 10}" for n in range(1, 10))),
    )
    yield (
        "as choices",
        lines("start: A30", "A0: /a+/", *(f"A{n}: A{n - 1} | A{n - 1}" for n in range(1, 31))),
    )
    yield (
        "with counts",
        lines("start: A8", 'A0: "ha"', *(f"A{n}: A{n - 1}~20" for n in range(1, 9))),
    )
    yield (
        "with stars",
        lines("start: A20", 'A0: "ha"', *(f"A{n}: (A{n - 1} A{n - 1})*" for n in range(1, 21))),
    )
    yield (
        "rules that double",
        lines("start: a60", 'a0: "ha"', *(f"a{n}: a{n - 1} a{n - 1}" for n in range(1, 61))),
    )
    yield (
        "rules written in place",
        lines("start: _a30", '_a0: "ha"', *(f"_a{n}: _a{n - 1} _a{n - 1}" for n in range(1, 31))),
    )


def deep_nesting() -> Named:
    for depth in (100, 1000, 10_000, 100_000):
        yield f"groups, {depth} deep", "start: " + "(" * depth + '"a"' + ")" * depth
    yield "brackets, 2,000 deep", "start: " + "[" * 2000 + '"a"' + "]" * 2000
    yield "groups that are repeated", "start: " + "(" * 300 + '"a"' + ")*" * 300
    yield "groups of a terminal", "start: A\nA: " + "(" * 3000 + '"a"' + ")" * 3000
    yield "groups of a pattern", "start: /" + "(" * 3000 + "a" + ")" * 3000 + "/"
    yield "never closed", "start: " + "(" * 100_000
    yield "never opened", "start: " + ")" * 100_000
    yield "choices, 1,000 deep", "start: " + '("a" | ' * 1000 + '"b"' + ")" * 1000
    yield (
        "terminals in a chain",
        lines("start: T0", *(f'T{n}: "a" T{n + 1}' for n in range(3000)), 'T3000: "b"'),
    )


def priorities() -> Named:
    nines = "9" * 400
    yield "of 400 digits", lines("start: A | B", f"A.{nines}: /a+/", "B: /[ab]+/")
    yield "of 5,000 digits", lines("start: A | B", f"A.{'9' * 5000}: /a+/", "B: /[ab]+/")
    yield "negative", lines("start: A | B", f"A.-{nines}: /a+/", "B: /[ab]+/")
    yield "of a rule", lines("start: a", f'a.{nines}: "x"')
    yield (
        "1,000 different ones",
        lines(
            "start: (" + "|".join(f"T{n}" for n in range(1000)) + ")*",
            *(f"T{n}.{n}: /[a-z]{{{n % 5 + 1}}}{n % 10}/" for n in range(1000)),
        ),
    )


def cycles() -> Named:
    yield (
        "1,000 rules in a circle",
        lines("start: r0", *(f"r{n}: r{(n + 1) % 1000}" for n in range(1000))),
    )
    yield "a terminal in a circle", lines("start: A", "A: B", "B: A")
    yield (
        "40 rules that may be empty",
        lines(
            "start: " + " ".join(f"r{n}" for n in range(40)),
            *(f'r{n}: "x{n}" |' for n in range(40)),
        ),
    )
    yield "the same that may be empty, 30 times", lines("start: " + "a " * 30, 'a: "x" |')
    yield "empty ones that are repeated", lines("start: (a* b*)*", "a: ", 'b: "x"?')


def large_lexers() -> Named:
    yield (
        "500 patterns that begin alike",
        lines(
            "start: (" + " | ".join(f"T{n}" for n in range(500)) + ")*",
            *(f"T{n}: /[a-z]*word{n}/" for n in range(500)),
        ),
    )
    yield (
        "200 lengths of one class",
        lines(
            "start: (" + " | ".join(f"T{n}" for n in range(1, 200)) + ")*",
            *(f"T{n}: /[a-z]{{{n}}}/" for n in range(1, 200)),
        ),
    )
    yield (
        "50 patterns with a distance",
        lines(
            "start: (" + " | ".join(f"T{n}" for n in range(50)) + ")*",
            *(f"T{n}: /.*{chr(97 + n % 26)}.{{{n % 12}}}{n}/" for n in range(50)),
        ),
    )
    yield (
        "1,000 words of any case",
        lines("start: (" + " | ".join(f'"keyword{n}"i' for n in range(1000)) + ")*"),
    )
    yield (
        "20 patterns that look ahead",
        lines(
            "start: (" + " | ".join(f"T{n}" for n in range(20)) + ")*",
            *(f"T{n}: /[a-z]+(?=[a-z ]*{n})/" for n in range(20)),
        ),
    )
    yield (
        "names without 300 words",
        lines(
            "start: NAME",
            "NAME: /(?!(?:" + "|".join(f"word{n}" for n in range(300)) + ")\\b)[a-z0-9]+/",
        ),
    )
    yield (
        "1,000 that are ignored",
        lines('start: "a"*', *(f'T{n}: "skip{n}"\n%ignore T{n}' for n in range(1000))),
    )
    yield (
        "100 classes of Unicode",
        lines(
            "start: (" + " | ".join(f"T{n}" for n in range(100)) + ")*",
            *(
                f"T{n}: /[\\u{0x100 + 64 * n:04x}-\\u{0x1000 + 128 * n:04x}]+x{n}/"
                for n in range(100)
            ),
        ),
    )


def large_tables() -> Named:
    for count in (8, 12, 16):  # the LR automaton has 2 ** count states
        names = [f"B{n}" for n in range(count)]
        rules = []
        for n in range(count):
            others = " | ".join(f"B{k} a{n}" for k in range(count) if k != n)
            rules.append(f'a{n}: {others} | "c{n}"')
        yield (
            f"exponential in {count}",
            lines(
                "start: " + " | ".join(f"B{n} a{n}" for n in range(count)),
                *rules,
                *(f'{name}: "b{n}"' for n, name in enumerate(names)),
            ),
        )
    yield (
        "300 levels of operators",
        lines(
            "start: e0",
            *(f'?e{n}: e{n} "o{n}" e{n + 1} | e{n + 1}' for n in range(300)),
            'e300: "x" | "(" e0 ")"',
        ),
    )
    yield (
        "100 lists in lists",
        lines(
            "start: l0", *(f'l{n}: l{n + 1} ("s{n}" l{n + 1})*' for n in range(100)), 'l100: "x"'
        ),
    )
    yield (
        "200 statements with a common beginning",
        lines(
            "start: s*",
            "s: " + " | ".join(f'"let" NAME "=" "v{n}" ";"' for n in range(200)),
            "NAME: /[a-z]+/",
        ),
    )


def huge_unions() -> Named:
    yield (
        "2,000 prefixes of each other",
        "start: " + " | ".join(f'"{"ab" * n}"' for n in range(1, 2000, 5)),
    )
    yield (
        "2,000 beginnings and one end",
        "start: (" + " | ".join(f'"{n:04d}"' for n in range(2000)) + ') "end"',
    )
    yield (
        "1,000 words of Unicode",
        "start: " + " | ".join(f'"{chr(0x4E00 + n)}{chr(0x1F600 + n % 60)}"' for n in range(1000)),
    )
    yield "1,000 patterns", "start: " + " | ".join(f"/{n:03d}[a-f]+/" for n in range(1000))
    yield (
        "1,000 rules of two words",
        lines(
            "start: " + " | ".join(f"r{n}" for n in range(1000)),
            *(f'r{n}: "a" "b{n}"' for n in range(1000)),
        ),
    )


FAMILIES = (
    keywords_that_freeze_a_pattern, optionals_in_a_row, growing_templates, giant_rules,
    counted_repetitions, terminals_that_double, deep_nesting, priorities, cycles,
    large_lexers, large_tables, huge_unions,
)  # fmt: skip
