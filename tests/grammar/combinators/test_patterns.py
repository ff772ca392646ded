r"""A regular expression as a grammar: its sentences are what ``re.fullmatch`` matches.

`re` itself gives the expected values; Lark, with the text of the grammar, and the engine must say
the same.
"""

from __future__ import annotations

import itertools
import random
import re

import lark
import pytest
from support.judges import accepts, is_sentence, parses

import cfgguide
from cfgguide.automata.preference import is_longest_first, may_begin
from cfgguide.automata.rewrite import not_empty, rewritten, with_common_spaces
from cfgguide.automata.syntax import names_of_groups
from cfgguide.errors import CfgGuideError, GrammarError, LimitError, PatternError
from cfgguide.grammar.literals import pattern_literal, text_literal

TEXTS = ["".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n)]
ODD_TEXTS = [
    "é", "aé", "A", "aB", "ab\n", "\n", "a\n", "a b", " ", "ſ", "K", "-", "\\", '"',
    "/", "*", "日",
]  # fmt: skip


def matched(pattern: str, flags: int = 0) -> set[str]:
    compiled = re.compile(pattern, flags)
    return {text for text in [*TEXTS, *ODD_TEXTS] if compiled.fullmatch(text)}


def check(pattern: str, flags: int = 0) -> None:
    """Compare `re`, Lark and the engine over all texts."""
    expected = matched(pattern, flags)
    grammar = cfgguide.regex(pattern, flags)
    lark_says, engine_says = parses(grammar), accepts(grammar)
    texts = [*TEXTS, *ODD_TEXTS]
    assert {text for text in texts if lark_says(text)} == expected, grammar.text
    assert {text for text in texts if engine_says(text)} == expected, grammar.text


PATTERNS = [
    # what is preferred is not the longest
    "a|ab", "(?:a|ab)(?:c|bcb)?", "(?:a|ab)(?:c|bca)*", "a*?", "a+?b??", "(?:|a)b?", "(?:a||b)a",
    "(a|b|ab)*?c|a", "(?:a|aba)*b?", "(?:ab?)*?(?:ba)?",
    # the empty text
    "", "a*", "a?b?c?", "(?:a|b*)", "(?:(?:a|)(?:b|))+", "(?:a?){2}", "(?:a*b*)*", "a{0}",
    "(a?|b)*c?",
    # anchors, look-around, boundaries
    "^a", "a$", "^a*$", r"\Aa\Z", "(?m:^a$)", "a$|b", r"\ba+\b", r"a\Bb", "$", "^", "(?=a)[abc]*",
    "(?!ab)[abc]*", "[abc]*(?<=c)", "[abc]*(?<!c)", "(?:(?!bb)[abc])*", r"(?:a|\bb)+", "(?=.*c)a.*",
    "a(?=b)b", r"a$\n", r"(?m)a$\nb?",
    # classes and escapes
    ".", "(?s:.)", r"\w+", r"\W", r"\s", "[^a]", r"[^\w]", r"[\]\-\\^]", r"\\", r'"', "/", r"\/",
    r"[/]", r"\x61", r"\u0061", r"\x2a", r"[\x5c]", r"\n", "\n", r"\N{LATIN SMALL LETTER A}b?",
    r"\141", "[a-c]", r"\\p{L}|\\", "é|日", "[^-]", "[&&a]",
    # flags, names and comments
    "(?i)AB", "(?i:a)B", "(?x) a # c \n b", "(?x:a b)|(?-x:a b)", "(?a:\\w)+", "(?ai)[a-z]",
    "(?i)k|ſ", "(?P<start>a)(?P<TEXT>b)", "a(?#comment)b", "(?s-i:a.)", "(?i:a(?-i:B))",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sentences_are_the_texts_that_match_as_a_whole(pattern):
    check(pattern)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("a.b", re.DOTALL), ("a\nb", re.DOTALL), ("AB|c", re.IGNORECASE),
        (r"\w", re.ASCII), ("k|s", re.IGNORECASE | re.ASCII),
        (" a  # one \n b ", re.VERBOSE), ("^a$\n?", re.MULTILINE),
        ("(?-i:a)b", re.IGNORECASE), ("[^K]", re.IGNORECASE),
    ],
)  # fmt: skip
def test_flags_count_as_in_re(pattern, flags):
    check(pattern, flags)
    assert cfgguide.regex(re.compile(pattern, flags)) == cfgguide.regex(pattern, flags)


QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,3}", "{0}"]
ATOMS = ["a", "b", "c", "ab", "[ab]", "[^a]", ".", "", "é", "(?i:a)", r"(?a:\w)", r"\n"]
LOOKING = ["^", "$", r"\b", r"\B", r"\Z", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?=ab|c)"]


def random_pattern(rng: random.Random, atoms: list[str], depth: int = 4) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice(atoms)
    one, other = (random_pattern(rng, atoms, depth - 1) for _ in range(2))
    if kind < 0.5:
        return one + other
    if kind < 0.75:
        return f"(?:{one}|{other})"
    if kind < 0.8:
        return f"({one}|{other}|)"
    return f"(?:{one}){rng.choice(QUANTIFIERS)}{rng.choice(['', '?'])}"


def compare_random_patterns(seed: int, atoms: list[str], count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        pattern = random_pattern(rng, atoms)
        if not matched(pattern) and not re.fullmatch(pattern, ""):
            continue  # it may match nothing at all
        try:
            check(pattern)
        except LimitError:
            assert "{" in pattern  # a counted repetition that was copied too often
        except AssertionError as error:
            raise AssertionError(pattern) from error


def test_random_patterns_match_as_in_re():
    compare_random_patterns(1, ATOMS, 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_random_patterns_match_as_in_re(seed):
    compare_random_patterns(seed, ATOMS, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_random_patterns_that_look_around_match_as_in_re(seed):
    compare_random_patterns(seed, [*ATOMS, *LOOKING], 15)


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (  # floating-point numbers, Willard and Louf 2023, figure 1
            r"([0-9]*)?\.?[0-9]*",
            ["", ".", "1", ".2", "1.", "12.50", "007"],
            ["-1", "1.2.3", "a", "1e5", " 1", "1\n"],
        ),
        (  # their benchmark: IPv4 addresses
            r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)",
            ["1.2.3.4", "255.255.255.255", "192.168.001.1"],
            ["256.1.1.1", "1.2.3", "1.2.3.4.5", "1.2.3.4 "],
        ),
        (r"(19|20)\d{2}", ["1945", "2023"], ["1845", "202", "20234"]),  # years
        ("[Yy]es|[Nn]o|[Nn]ever|[Aa]lways", ["Yes", "no", "Never"], ["yess", "", "yes no"]),
    ],
)
def test_the_examples_of_the_paper(pattern, accepted, refused):
    lark_says, engine_says = (judge(cfgguide.regex(pattern)) for judge in (parses, accepts))
    for text in accepted:
        assert lark_says(text), text
        assert engine_says(text), text
    for text in refused:
        assert not lark_says(text), text
        assert not engine_says(text), text


@pytest.mark.parametrize("pattern", ["a{2,3}b", "(?=.*[0-9])(?=.*[a-z]).{2,4}"])
def test_the_index_of_a_pattern_is_saved_and_loaded(pattern, tmp_path):
    vocabulary = cfgguide.Vocabulary.of_bytes()
    index = cfgguide.compile(cfgguide.regex(pattern), vocabulary)
    path = tmp_path / "pattern.index"
    index.save(path)
    loaded = cfgguide.Index.load(path, vocabulary)
    for text in ["", "a", "aab", "a1", "1", "12", "aaab"]:
        expected = re.fullmatch(pattern, text) is not None
        assert is_sentence(loaded.machine, text) == is_sentence(index.machine, text) == expected


def test_no_mask_of_a_pattern_is_made_ahead():
    index = cfgguide.compile(cfgguide.regex("a+"), cfgguide.Vocabulary.of_bytes())
    with pytest.raises(GrammarError, match="masks of a JSON Schema or a pattern"):
        cfgguide.precompute.precompute_masks(index)


@pytest.mark.parametrize("least", [0, 3, 20, 60])
@pytest.mark.parametrize(
    ("before", "token"), [(b"", b"a" * 12 + b"\xc3"), (b"\xc3", b"\xa9" + b"a" * 12)]
)
def test_counts_are_told_apart_by_tokens_that_are_not_whole_characters(before, token, least):
    """The longest token ends or begins inside of a character, so it asks for 13 of at most 60."""
    tokens = [*(bytes([byte]) for byte in range(256)), token, None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=257)
    index = cfgguide.compile(cfgguide.regex(f"[aé]{{{least},60}}"), vocabulary)
    for n in range(60):
        guide = cfgguide.Guide(index)
        for byte in b"a" * n + before:
            guide.advance(byte)
        assert (256 in guide.allowed_token_ids()) == (n + 13 <= 60), n


@pytest.mark.parametrize(
    ("output_type", "n_bytes"),
    [
        (cfgguide.regex("(?s:.{3,43}😀ab(?:ab|[^\\W\\d]*)b[^\\W\\d]){5}"), 5 * (3 + 4 + 2 + 2)),
        ({"type": "string", "pattern": '^(?:[^]{3,43}"\\n\\u0001éab){5}$'}, 2 + 5 * (3 + 14)),
    ],
)
def test_a_short_end_is_found_at_once_among_many_ways(output_type, n_bytes):
    """Where characters have several bytes; counted by hand, a token for each byte, and EOS."""
    index = cfgguide.compile(output_type, cfgguide.Vocabulary.of_bytes(), use_cache=False)
    assert len(cfgguide.Guide(index).shortest_completion()) == n_bytes + 1


def test_a_mask_follows_the_pattern_to_its_end():
    """Figure 2 of the paper: of its five words, what may start a number and what may go on."""
    words = [b"A", b".", b"42", b".2", b"1", None]
    vocabulary = cfgguide.Vocabulary(words, eos_token_ids=5)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.regex(r"([0-9]*)?\.?[0-9]*"), vocabulary))
    assert guide.allowed_token_ids().tolist() == [1, 2, 3, 4, 5]
    guide.advance(3)
    assert guide.allowed_token_ids().tolist() == [2, 4, 5]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "a backreference at position 3, which is not supported"),
        (r"(a)?b(?(1)c|d)", "a conditional group"),
        ("(?>a|ab)c", "an atomic group"),
        ("a++", "a possessive quantifier"),
        ("(a", "/(a/ is not a regular expression: missing )"),
        ("a**", "multiple repeat"),
        ("(?L)a", "is not a regular expression"),
        (b"a", "a pattern is a text, not bytes"),
        (re.compile(b"a"), "a pattern is a text, not bytes"),
    ],
)
def test_patterns_that_cannot_be_used_are_refused(pattern, message):
    with pytest.raises(PatternError, match=re.escape(message)):
        cfgguide.regex(pattern)


@pytest.mark.parametrize("flags", [re.LOCALE, re.DEBUG, True, "i", -1])
def test_flags_that_are_none_of_a_text_are_refused(flags):
    with pytest.raises(PatternError, match=r"flags may hold re\.ASCII"):
        cfgguide.regex("a", flags)


def test_a_compiled_pattern_takes_no_flags():
    with pytest.raises(PatternError, match=r"pass them to re\.compile"):
        cfgguide.regex(re.compile("a"), re.IGNORECASE)


@pytest.mark.parametrize("pattern", ["(?!)", r"a\bb", "a^b", r"[^\s\S]"])
def test_a_pattern_that_matches_nothing_is_refused_when_it_is_compiled(pattern):
    with pytest.raises(GrammarError, match="no text at all is a sentence"):
        cfgguide.index.compile_recognizer(cfgguide.regex(pattern), use_cache=False)


def test_a_pattern_that_nests_too_deeply_is_refused():
    with pytest.raises(LimitError):
        cfgguide.index.compile_recognizer(cfgguide.regex("(?:" * 400 + "a" + ")*" * 400))


# --- Choices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        ["yes", "no"],
        ["a", "ab", "abc", "b"],
        ["", "a"],
        [""],
        ["ab", "", "ab", "a"],
        ["é", "日本", "日", "\U0001f600", "e\u0301"],
        ["a\nb", "\n", "\t", " ", "a b", "\r\n", "\x00", "\x7f"],
        ["a/b", '"', "'", "\\", '\\"', "\\n", "/", "//", "#", "(a|b)*", "[", "^$", "{2}", "\\p{L}"],
        ["A", "a"],
    ],
)
def test_a_choice_is_one_of_its_texts(texts):
    grammar = cfgguide.choice(texts)
    lark_says, engine_says = parses(grammar), accepts(grammar)
    for text in {*texts, *(f"{a}{b}" for a in texts for b in texts), "x", " yes", *TEXTS[:60]}:
        assert lark_says(text) == (text in texts), text
        assert engine_says(text) == (text in texts), text


def test_the_order_of_a_choice_does_not_matter():
    assert cfgguide.choice(["b", "a", "b"]) == cfgguide.choice({"a", "b"})


@pytest.mark.slow
def test_a_choice_may_have_ten_thousand_texts_some_of_which_begin_others():
    rng = random.Random(0)
    letters = "abcdefghij "
    texts = {"".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(12_000)}
    texts |= {text + "x" for text in rng.sample(sorted(texts), 300)}
    grammar = cfgguide.choice(texts)
    lark_says, engine_says = parses(grammar), accepts(grammar)
    others = {text[:-1] for text in texts} | {text + "x" for text in texts}
    for text in rng.sample(sorted(texts), 1000) + rng.sample(sorted(others), 1000):
        assert lark_says(text) == (text in texts), text
        assert engine_says(text) == (text in texts), text


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("yes", r"write choice\(\['yes'\]\)"),
        ([], "at least one text"),
        (5, "choice takes a list of texts, not 5"),
        (["a", 1], "expected a text, not int: 1"),
        (["\ud800"], "holds a surrogate"),
    ],
)
def test_choices_that_are_none_are_refused(texts, message):
    with pytest.raises(GrammarError, match=message):
        cfgguide.choice(texts)


# --- What patterns are changed to ----------------------------------------------------------------


@pytest.mark.parametrize("pattern", [each for each in PATTERNS if not rewritten(each)[1]])
def test_a_pattern_written_anew_matches_the_same_texts(pattern):
    written, _ = rewritten(pattern)
    assert matched(written) == matched(pattern)
    some = not_empty(written)
    assert (matched(some) if some is not None else set()) == matched(pattern) - {""}


@pytest.mark.parametrize(
    "pattern", [*(each for each in PATTERNS if not rewritten(each)[1]), "a*?b?", "a|ab", "(?:|a)b"]
)
def test_whether_a_pattern_prefers_whole_texts_is_known(pattern):
    for each in (rewritten(pattern)[0], f"(?:{rewritten(pattern)[0]})??"):
        preferred = {text: re.match(each, text)[0] for text in matched(each)}
        is_first = all(text == found for text, found in preferred.items())
        assert is_longest_first(each) == is_first


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("ab", "abc", True),  # it matches before the text is over
        ("abcd", "abc", True),  # it may, if the text goes on
        ("abd", "abc", False),
        ("(?i:A)", "a", True),
        ("a(?!b)", "ab", True),  # look-around is not asked
        ("[^a]*b", "é", True),
    ],
)
def test_what_may_begin_a_text(pattern, text, expected):
    assert may_begin(pattern, text) == expected


def terminal_of(literal: str) -> lark.lexer.Pattern:
    (terminal,) = lark.Lark(f"start: A\nA: {literal}", parser="lalr").terminals
    return terminal.pattern


@pytest.mark.parametrize(
    "text",
    ["a", "\\", "\\\\", '"', '\\"', "'", "''' + '", "/", "a/b", "//", "\\n", "\n", "\r\n", "\x00",
     "\\x41", "\\u0041", "\\U0001f600", "é", "日", "\u2028", "\x7f", "a\\", '\\\\"', "%ignore"],
)  # fmt: skip
def test_literals_are_read_by_lark_as_they_were_meant(text):
    assert terminal_of(text_literal(text)).value == text
    pattern = re.escape(text)
    assert terminal_of(pattern_literal(pattern, "i")).value == pattern
    assert set(terminal_of(pattern_literal(pattern, "i")).flags) == {"i"}


@pytest.mark.parametrize(
    "pattern",
    [r"\n", r"\\n", r"\x2a", r"\x5c\x5c", r"[\"\\/]", r"\/", "/", r"\"", "a\nb", r"\u0022", r"\f\v",
     r"\t\"", r"\\\"", r"\\/", "'", r"\'", r"\N{BULLET}", "\\\n"],
)  # fmt: skip
def test_patterns_reach_re_as_they_were(pattern):
    assert terminal_of(pattern_literal(pattern)).value == pattern


def test_errors_of_these_grammars_are_errors_of_the_package():
    assert issubclass(PatternError, CfgGuideError)


def test_what_no_automaton_expresses_is_an_error_of_patterns_with_every_vocabulary():
    """Found by `make same`: it was one of schemas where the pattern is read letter by letter."""
    with pytest.raises(PatternError, match="inside a look-behind"):
        cfgguide.compile(
            cfgguide.regex(r"ab(?<=\bb)"), cfgguide.Vocabulary.of_bytes(), use_cache=False
        )


def test_a_look_behind_of_any_length_is_refused_as_re_refuses_it():
    with pytest.raises(PatternError, match="look-behind requires fixed-width pattern"):
        cfgguide.regex("(?<=a+)b")


@pytest.mark.parametrize("pattern", ["(?:){1000000000}a", "(?:(?:(?!a){1000}){1000}){1000}"])
def test_a_billion_rounds_are_refused_even_if_there_is_nothing_in_them(pattern):
    with pytest.raises(LimitError, match="repeats something more than 1000000 times"):
        cfgguide.regex(pattern)


def test_many_parts_that_may_be_missing_are_refused():
    assert cfgguide.regex("a?" * 50).text.startswith("start: [TEXT]")
    with pytest.raises(
        LimitError, match="more than 300 parts in a row, of which each may be missing"
    ):
        cfgguide.regex("a*" * 1000)


# --- White space that few would write ------------------------------------------------------------

#: The white space of `re` that is no space, tab or line break.
RARE = [
    chr(point) for point in range(0x3001) if chr(point).isspace() and chr(point) not in " \t\n\r"
]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\s*19[0-9]{2}", " 1999"),
        (r"[\s,]1", " 1"),
        (r"(a|\s)(?i:b\s)", " B "),
        (r"(?x) \s  # it's [a comment", " "),
        (r"\b1\s", "1 "),
        (r"[-\s]", " "),
    ],
)
def test_a_model_writes_common_white_space_for_s_unless_told_otherwise(pattern, text):
    whole, tidy = cfgguide.regex(pattern), cfgguide.regex(pattern).tidied()
    rare = [text.replace(" ", space) for space in RARE]
    for each in (text, text.replace(" ", "\t"), text.replace(" ", "\n"), *rare):
        assert re.fullmatch(whole.part.pattern, each)
        assert (re.fullmatch(tidy.part.pattern, each) is None) == (each in rare)
    assert cfgguide.regex(pattern, tidy=True).text == tidy.text
    assert cfgguide.regex(pattern, tidy=False).tidied().text == whole.text
    if not whole.part.looks:  # which a sequence refuses
        assert cfgguide.concat("=", whole).tidied().text == cfgguide.concat("=", tidy).text


@pytest.mark.parametrize("pattern", [r"[^\s]", r"\S", r"[\s\S]", r".", r"(?!\s)\w", r"\W"])
def test_other_sets_that_white_space_may_be_in_are_as_they_are(pattern):
    grammar = cfgguide.regex(pattern)
    assert grammar.tidied().text == grammar.text


def test_random_patterns_match_less_and_never_nothing_when_they_are_tidy():
    rng = random.Random(3)
    pieces = [
        r"\s",
        r"[\sab]",
        r"[^\s]",
        "a",
        r"\S",
        "(?:b|",
        ")",
        "*",
        "?",
        "{1,2}",
        r"\b",
        r"(?=\s)",
    ]
    texts = ["".join(rng.choices("ab \n\x0b\u2003", k=rng.randint(0, 4))) for _ in range(300)]
    n = 0
    while n < 60:
        pattern = "".join(rng.choices(pieces, k=rng.randint(1, 6)))
        try:
            re.compile(pattern)
            tidy = with_common_spaces(rewritten(pattern)[0])
        except (re.error, PatternError):
            continue
        n += 1
        for text in texts:
            if re.fullmatch(tidy, text):
                assert re.fullmatch(pattern, text), (pattern, tidy, text)
            elif "(?=" not in pattern and not set(text) & {"\x0b", "\u2003"}:
                assert not re.fullmatch(pattern, text), (pattern, tidy, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)a*", "(?!a)a*", r"a*\b", r"a*\B", r"\b|(?!a)", "(?<=a)b*", "(?<!a)b*", "^(?=$)$",
        r"(?=\Z)(?:a?|b?){3}", r"(?=(?!a)\Z)", "(?=(?=a)|b)a?", "(?:(?=a)){0}b?", "(?:(?=a)){1}b?",
        "(?!zz)(?:a?|b?){4}(?=x)x*", "(?!zz)(?:a?|b?){4}(?!x)", "(?m:^(?=x)|$)", r"(?i:\Ba?(?!b))",
    ],
)  # fmt: skip
def test_a_pattern_that_looks_around_matches_the_empty_text_as_in_re(pattern):
    expected = re.fullmatch(pattern, "") is not None
    assert cfgguide.regex(pattern).part.is_optional is expected


PASSWORD = r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,64}"


@pytest.mark.parametrize("text", ["", "Passw0r", "Passw0rd!", "a" * 60, "a" * 61, "a" * 60 + "A1!"])
def test_what_several_look_aheads_ask_for_together_can_be_written(text):
    kinds = ("[a-z]", "[A-Z]", "[0-9]", r"[^\w\s]")
    index = cfgguide.compile(cfgguide.regex(PASSWORD), cfgguide.Vocabulary.of_bytes())
    guide = cfgguide.Guide(index)
    for byte in text.encode():
        guide.advance(byte)
    (eos,) = index.vocabulary.eos_token_ids
    allowed = set(guide.allowed_token_ids())
    for point in range(0x20, 0x7F):
        longer = text + chr(point)
        n_missing = sum(re.search(kind, longer) is None for kind in kinds)
        assert (point in allowed) == (len(longer) + n_missing <= 64), longer
    assert len(guide.expected()) == (len(text) < 64) + (eos in allowed)
    assert (eos in allowed) == (re.fullmatch(PASSWORD, text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?<=a+)b", "(?<!a|bc)b", "(?<=ab|cd)(?P<x>e)", "(?:(?<=a{2,3})b)", "(?<=(?<!x*)a)b",
        "(?:x|(?:(?<=a?)b)+)", "()(?<=ab)c", "(?<=[a-z]{2})(?:)", "(?!(?<=a*)b)c",
        "(?<=a)" + "".join(f"(?:b{{{n},{n + 1}}}c)?" for n in range(20)),
    ],
)  # fmt: skip
def test_look_behind_has_one_width_as_in_re(pattern):
    try:
        expected = tuple(re.compile(pattern).groupindex)
    except re.error as error:
        with pytest.raises(PatternError, match=str(error)):
            cfgguide.regex(pattern)
    else:
        assert names_of_groups(pattern) == expected
        cfgguide.regex(pattern)
