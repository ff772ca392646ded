"""Hostile patterns that are too long, or too regular, to be written down."""

from __future__ import annotations

from hostile.cases import Named


def deep_parentheses() -> Named:
    for depth in (50, 150, 1000, 100_000):
        yield f"{depth} deep", "(" * depth + "a" + ")" * depth
    yield "without captures", "(?:" * 5000 + "a" + ")" * 5000
    yield "repeated at each level", "(?:" * 80 + "a" + ")*" * 80
    yield "optional at each level", "(?:a" * 80 + ")?" * 80
    yield "never closed", "(" * 50_000
    yield "choices at each level", "(?:a|" * 90 + "b" + ")" * 90
    yield "looks at each level", "(?=" * 60 + "a" + ")" * 60 + "a"
    yield "looks of both kinds at each level", "(?!a(?=" * 30 + "b" + "))" * 30 + "c"


def long_ones() -> Named:
    yield "a million letters", "a" * 1_000_000
    yield "100,000 letters of any case", "(?i)" + "aK" * 50_000
    yield "10,000 words", "|".join(f"word{n}" for n in range(10_000))
    yield "10,000 numbers", "|".join(str(n * 7919) for n in range(10_000))
    yield "2,000 words of Unicode", "|".join(chr(0x4E00 + n) + chr(0xAC00 + n) for n in range(2000))
    yield "100,000 empty choices", "|" * 100_000
    yield "10,000 stars", "a*" * 10_000
    yield "10,000 optional letters", "a?" * 10_000
    yield "1,000 of anything", ".*" * 1000
    yield "1,000 captures", "".join(f"(a{n})" for n in range(1000))
    yield "1,000 named captures", "".join(f"(?P<g{n}>a)" for n in range(1000))
    yield (
        "a class of 5,000 ranges",
        "["
        + "".join(f"\\U{0x10000 + 8 * n:08x}-\\U{0x10003 + 8 * n:08x}" for n in range(5000))
        + "]+",
    )
    yield "1,000 classes", "".join(f"[^{chr(0x100 + n)}]" for n in range(1000))
    yield "a comment of a million letters", f"(?#{'x' * 1_000_000})a"
    yield "white space of a million letters", f"(?x)a{' ' * 1_000_000}b"
    yield "26 conditions", "".join(f"(?=.*{chr(97 + n)})" for n in range(26)) + ".*"
    yield "26 conditions that fail", "".join(f"(?!.*{chr(97 + n)})" for n in range(26)) + ".*"
    yield "20 loops of anything", "".join(f".*{chr(97 + n)}" for n in range(20))
    yield "optional then all, 100 times", "a?" * 100 + "a" * 100
    yield (
        "dates without a year in 500",
        "(?!" + "|".join(f"{1900 + n}" for n in range(500)) + ")[0-9]{4}-[0-9]{2}",
    )


FAMILIES = (deep_parentheses, long_ones)
