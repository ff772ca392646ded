"""Problems of a tokenizer, found before a mask is made from it.

In: a tokenizer, and the width of the model's logits if known. Out: a :class:`TokenizerReport` with
the problems, how bad each is, and what to do. The guarantees of cfgguide are about the bytes of
tokens, so the bytes that it reads are compared with what the tokenizer itself does. ::

    tokenizer ─┬─ bytes of each token ─────────── any byte without a token? duplicates? EOS?
               ├─ encode(text) ─ bytes of the ids = text?
               └─ decode(a, token) ─ a + its bytes?

If a text does not come back, the tokenizer's normaliser has usually changed it. Sentences are
written as the grammar has them, but such a text cannot be put into a prompt unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfgguide.engine.vocabulary import checks
from cfgguide.engine.vocabulary.checks import Finding, Severity
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError

#: Texts of many kinds, each with what is special about it.
TEXTS: tuple[tuple[str, str], ...] = (
    ("ASCII", "".join(map(chr, range(0x20, 0x7F)))),
    ("control characters", "".join(map(chr, [*range(1, 0x20), 0x7F]))),
    ("the NUL character", "a\0b"),
    ("words", "The quick brown fox jumps over the lazy dog."),
    ("a space in front", " a"),
    ("a space at the end", "a "),
    ("runs of spaces", "a  b   c    d        e" + " " * 33 + "f"),
    ("line breaks", "a\nb\n\nc\n\n\nd\r\ne\r"),
    ("tabs", "\ta\t\tb \t c\n\t\td"),
    ("only spaces", "   "),
    ("spaces before signs", "a , b . c ! d ? do n't I 'm 's"),
    ("numbers", "0 1 12 123 1234 12345678901234567890 3.14 1e-5 0x1F"),
    ("code", 'def f(x):\n    return {"a": [x, -1]}  # ok\n'),
    ("JSON", '{"a": [1.5, true, null], "b": "c\\n\\u00e9"}'),
    ("letters with accents", "café naïve Ångström fiancée"),
    ("combining accents", "cafe\u0301 A\u030angstro\u0308m"),
    ("compatibility characters", "ﬁ ２ ① ℌ ª ™"),
    ("other scripts", "Привет мир, γειά σου, שלום, مرحبا, नमस्ते, สวัสดี"),
    ("CJK", "你好世界。こんにちは、안녕하세요"),
    ("emoji", "🙂🎉 👩‍👩‍👧 🇨🇭 👍🏽"),
    ("letters above U+FFFF", "𝔘𐍈𠀀"),
    ("unusual spaces", "a\u00a0b\u2003c\u3000d\u200be\ufefff"),
    ("line separators", "a\u2028b\u2029c\u0085d"),
    ("the mark of sentencepiece", "a▁b ▁c"),
    ("what looks like a byte token", "<0x41> <0x0A>"),
    ("the alphabet of byte-level tokenizers", "Ġa Ċ Ã©"),
    ("the last characters", "\ud7ff\ue000\ufffd\U0010ffff"),
)


@dataclass(frozen=True)
class TokenizerReport:
    """The problems of a tokenizer.

    Attributes
    ----------
    findings : tuple of Finding
        The worst first.
    vocabulary : Vocabulary or None
        What cfgguide reads from the tokenizer; None if it cannot.
    n_texts : int
        Number of texts that were encoded.
    n_tokens : int
        Number of tokens that were decoded and compared.
    """

    findings: tuple[Finding, ...]
    vocabulary: Vocabulary | None
    n_texts: int
    n_tokens: int

    @property
    def is_fine(self) -> bool:
        """Whether there is no error."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    def __str__(self) -> str:
        counts = [
            f"{n} {severity}{'' if n == 1 else 's'}"
            for severity in Severity
            if (n := sum(finding.severity is severity for finding in self.findings))
        ]
        head = "1 finding" if len(self.findings) == 1 else f"{len(self.findings)} findings"
        lines = [f"{head}: {', '.join(counts)}" if counts else "nothing is off"]
        lines.append(f"{self.n_texts} texts encoded, {self.n_tokens:,} tokens decoded")
        if self.vocabulary is not None:
            lines.append(repr(self.vocabulary))
        return "\n".join([*lines, *map(str, self.findings)])


def check_tokenizer(
    tokenizer: object,
    *,
    eos_token_ids: int | Iterable[int] | None = None,
    n_columns: int | None = None,
    texts: Iterable[str] = (),
) -> TokenizerReport:
    """Return the problems of a tokenizer.

    Parameters
    ----------
    tokenizer : transformers fast tokenizer, tokenizers.Tokenizer or Vocabulary
        A vocabulary alone cannot encode texts, so only its tokens are looked at.
    eos_token_ids : int or iterable of int, optional
        As for :meth:`Vocabulary.from_tokenizer`.
    n_columns : int, optional
        Width of the model's logits (``model.config.vocab_size``).
    texts : iterable of str
        Further texts to encode, after those in `TEXTS`.

    Returns
    -------
    TokenizerReport
        ``print(report)`` shows it; ``report.is_fine`` is False if masks would be wrong.

    Examples
    --------
    >>> from tokenizers import Tokenizer, decoders, models
    >>> tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "Ġa": 1}, merges=[]))
    >>> tokenizer.decoder = decoders.ByteLevel()
    >>> report = check_tokenizer(tokenizer)
    >>> report.is_fine, report.findings[0].name, report.findings[0].severity.value
    (False, 'unreadable', 'error')
    >>> print(report.findings[0])
    error [unreadable] [vocabulary] this Tokenizer does not say which token ends a sequence: ...
    """
    try:
        vocabulary = _vocabulary_of(tokenizer, eos_token_ids)
    except CfgGuideError as error:
        advice = "cfgguide cannot make masks for it; the message says what it needs"
        unreadable = Finding("unreadable", Severity.ERROR, str(error), advice)
        return TokenizerReport((unreadable,), None, 0, 0)
    findings = [
        *checks.of_size(vocabulary, n_columns),
        *checks.of_tokens(vocabulary),
    ]
    n_texts = n_tokens = 0
    if not isinstance(tokenizer, Vocabulary):
        tool = checks.Encoder(tokenizer)
        given = (*TEXTS, *(("a text of yours", text) for text in texts))
        n_texts = len(given)
        findings += checks.of_settings(tool)
        findings += checks.of_texts(tool, vocabulary, given)
        differing, n_tokens = checks.of_decoding(tool, vocabulary)
        findings += [*differing, *checks.of_special_tokens(tool, vocabulary)]
    order = list(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    return TokenizerReport(tuple(findings), vocabulary, n_texts, n_tokens)


def _vocabulary_of(tokenizer: object, eos_token_ids: int | Iterable[int] | None) -> Vocabulary:
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    return Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos_token_ids)
