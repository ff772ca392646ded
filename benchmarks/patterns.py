r"""Measures regular expressions that people write every day, from pattern to mask.

``python benchmarks/patterns.py --tokenizer FOLDER`` takes each of sixty patterns, with a text that
it matches: passwords, addresses, dates, identifiers, counted words. In processor time: from the
pattern to the first mask; the masks before each token of the text, none of which was made before;
and the same masks once more. All patterns stand in one process, as in a server, so what is made
once for a vocabulary is made before. Out: a row for each pattern, and the middle and worst of all.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import statistics
import time
from typing import Any

import tables
from vocabularies import find, open_tokenizer

#: Patterns, each with a text.
PATTERNS = [
    (r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,64}", "Tr0ub4dor&3 horse"),
    (r"(?=.*\d)(?=.*[^\w\s]).{8,64}", "battery-staple 9"),
    (r"(?=.*[0-9])(?=.*[A-Z]).{1,300}", "The 7 o'clock train"),
    (r"(?!.*(?:password|1234))[!-~]{10,40}", "kY7#vbn-qwRt!"),
    (r"(?=.{8,}$)(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9]*", "abc12345def"),
    (r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}", "ada.lovelace@example.org"),
    (r"[^@\s]+@[^@\s]+\.[^@\s]+", "grüße@example.de"),
    (r"https?://[^\s/$.?#].[^\s]*", "https://example.org/a/b?c=d#e"),
    (r"(?:https?|ftp)://(?:[\w-]+\.)+[a-z]{2,}(?::\d{1,5})?(?:/\S*)?", "ftp://ex-ample.org:21/x"),
    (r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", "DE89370400440532013000"),
    (r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?", "GB82 WEST 1234 5698 7654 32"),
    (r"\d{4}-\d{2}-\d{2}", "2024-02-29"),
    (r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", "1999-12-31"),
    (r"(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:19|20)\d{2}", "3.10.1990"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", "2024-05-06T07:08:09.5Z"),
    (r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?", "23:59:58"),
    (r"(?:1[0-2]|0?[1-9]):[0-5]\d ?[AaPp][Mm]", "11:45 pm"),
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "123e4567-e89b-12d3-a456-426614174000"),
    (r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "123E4567-E89B-12D3-A456-426614174000"),
    (r"(\w+ ?){1,20}", "the quick brown fox jumps over the lazy dog"),
    (r"(\w+[,;.]? ?){1,100}", "One, two, three; and so on. Until it ends"),
    (r"([a-z]{1,20} ?){1,50}", "all of this is small and short"),
    (r"\S+(\s+\S+){0,99}", "A text of no more than a hundred words."),
    (r"(?:\S+\s+){4,9}\S+", "between five and ten words here"),
    (r"[A-Z][^.!?]{10,200}[.!?]", "This is one sentence of some length."),
    (r"(?:[A-Z][^.!?]*[.!?] ?){1,5}", "First this. Then that! And now?"),
    (r"\d+(?:,\d+)*", "1,22,333,4444"),
    (r"[^,\n]*(?:,[^,\n]*){4}", "a,b c,,d,é"),
    (r'(?:"(?:[^"]|"")*"|[^",\n]*)(?:,(?:"(?:[^"]|"")*"|[^",\n]*))*', 'a,"b ""c""",d'),
    (r"(?:[^\t\n]*\t){3}[^\t\n]*", "a\tb\tc\td"),
    (r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[\w.]+)?", "1.2.3-rc.1"),
    (r"v?\d+(?:\.\d+){0,3}(?:[a-z]+\d*)?", "v3.11.2rc1"),
    (r"\+?\d{1,3}[ -]?\(?\d{1,4}\)?(?:[ -]?\d{2,4}){2,4}", "+49 (30) 1234 5678"),
    (r"\(\d{3}\) \d{3}-\d{4}", "(555) 123-4567"),
    (r"\+[1-9]\d{1,14}", "+14155552671"),
    (r"\d{5}(?:-\d{4})?", "12345-6789"),
    (r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}", "SW1A 1AA"),
    (r"(?:4\d{3}|5[1-5]\d{2})(?:[ -]?\d{4}){3}", "4111 1111 1111 1111"),
    (r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)", "192.168.0.255"),
    (r"(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}", "2001:db8:0:0:0:0:2:1"),
    (r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", "00:1A:2b:3c:4d:5e"),
    (r"#(?:[0-9a-fA-F]{3}){1,2}", "#1e90ff"),
    (r"rgba?\((?:\d{1,3}, ?){2}\d{1,3}(?:, ?(?:0|1|0?\.\d+))?\)", "rgba(1, 2, 3, 0.5)"),
    (r"[a-z0-9]+(?:-[a-z0-9]+)*", "a-slug-for-the-page"),
    (r"[A-Za-z_][A-Za-z0-9_]*", "some_name_1"),
    (r"(?!\d)\w{1,63}", "größe_2"),
    (r"(?!(?:if|for|while)\b)[a-z]\w*", "forward"),
    (r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", "www.ex-ample.org"),
    (r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", "-12.5e+3"),
    (r"(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d{2})?", "1,234,567.89"),
    (r"\$ ?\d{1,3}(?:,\d{3})*(?:\.\d\d)?", "$ 9,999.00"),
    (r"(?:100|[1-9]?\d)(?:\.\d{1,2})? ?%", "99.5 %"),
    (r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", "MCMXCIV"),
    (r"(?:yes|no|maybe)", "maybe"),
    (r"(?i:true|false|null|n/a)", "N/A"),
    (r"\[(?:-?\d+(?:, ?-?\d+)*)?\]", "[1, -2, 3]"),
    (r"<([a-z]+)(?: [a-z]+=\"[^\"<>]*\")*>[^<>]*</[a-z]+>", '<a href="b">text</a>'),
    (r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", "aGVsbG8gd29ybGQ="),
    (r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", "eyJh.eyJz.SflK"),
    (r"(?:/[^/\0]{1,255}){1,30}", "/usr/local/share/a file"),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokenizer", required=True, help="a folder with a tokenizer")
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    import cfgguide  # after the environment is set

    tokenizer = open_tokenizer(find(options.tokenizer))
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    _measured(cfgguide, vocabulary, tokenizer, r"[\w\s]\d", "a1")  # what is made once
    rows, firsts, worsts = [], [], []
    for pattern, text in PATTERNS:
        assert re.fullmatch(pattern, text), (pattern, text)
        first, cold, warm = _measured(cfgguide, vocabulary, tokenizer, pattern, text)
        firsts.append(first)
        worsts.append(max(cold, default=0.0))
        rows.append(
            [
                f"`{pattern.replace('|', chr(92) + '|')[:48]}`",
                f"{1e3 * first:.1f}",
                f"{1e3 * statistics.median(cold or [0.0]):.2f}",
                f"{1e3 * worsts[-1]:.1f}",
                f"{1e6 * statistics.median(warm or [0.0]):.1f}",
            ]
        )
    heads = ["pattern", "to the first mask, ms", "a new mask, ms", "worst, ms", "known, us"]
    print("\n".join(tables.table(heads, rows)))
    print(
        f"\n{len(PATTERNS)} patterns, {len(vocabulary.tokens):,} tokens: to the first mask "
        f"{1e3 * statistics.median(firsts):.1f} ms in the middle, {1e3 * max(firsts):.1f} at most; "
        f"a later mask {1e3 * max(worsts):.1f} ms at most"
    )


def _measured(
    cfgguide: Any, vocabulary: Any, tokenizer: Any, pattern: str, text: str
) -> tuple[float, list[float], list[float]]:
    """Return seconds: to the first mask, of the masks of a text, and of the same ones again."""
    token_ids = tokenizer.fast.encode(text, add_special_tokens=False)
    gc.collect()
    start = time.process_time()
    index = cfgguide.compile(cfgguide.regex(pattern), vocabulary)
    guide = cfgguide.Guide(index)
    guide.bitmask()
    first = time.process_time() - start
    times: list[list[float]] = []
    for _ in range(2):
        times.append([])
        guide = cfgguide.Guide(index)
        for token_id in token_ids:
            guide.advance(token_id)
            start = time.process_time()
            guide.bitmask()
            times[-1].append(time.process_time() - start)
        assert guide.is_accepting, (pattern, text)
    return first, times[0], times[1]


if __name__ == "__main__":
    main()
