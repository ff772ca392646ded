"""The guide: the state of one sequence.

In: an :class:`~cfgguide.engine.index.index.Index`, and the tokens of a sequence one by one. Out:
the mask for the next token. It is the only object of the pipeline that changes. It holds only the
steps of its tokens, so copying and rolling back are cheap. They stand in one
list that one instruction makes longer or shorter: an interruption comes before that, or after it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.symbols import TextDecoder
from cfgguide.diagnostics.explain import AFTER_EOS
from cfgguide.diagnostics.explainers import expected_at_once, explainer_of
from cfgguide.diagnostics.explanation import Explanation
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.machine.partial import Partial, Reading, TextReading
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import token_ids_in
from cfgguide.engine.vocabulary.notebook import PLAIN, coloured, token_table, tokens_in_turn
from cfgguide.errors import BudgetError, CfgGuideError, RollbackError, TokenRejectedError, shown
from cfgguide.guide.budget import TokenBudget, allowed_within
from cfgguide.guide.buffers import EVERYTHING, Buffer, buffer_of
from cfgguide.guide.forced import JumpForward, encoder_of
from cfgguide.output_types import output_type
from cfgguide.shared_indexes import shared_index

_SHOWN_BYTES = 40  # of the text so far, in messages
_BOOLS = ("bool", "torch.bool")
_NO_BUFFER = Buffer(EVERYTHING, EVERYTHING)


def as_token_id(token_id: object) -> int:
    """Return a token id as an int: a numpy integer, or a tensor with one integer."""
    if isinstance(token_id, np.integer):
        return int(token_id)
    try:
        if not _is_truth_value(token_id):
            return operator.index(token_id)  # type: ignore[arg-type]
    except (TypeError, RuntimeError, ValueError):
        pass
    raise TokenRejectedError(
        f"a token id is an integer, not {shown(token_id)}: pass the tokens of a text one by one"
    )


def _is_truth_value(value: object) -> bool:
    """Return whether a value is a bool of Python, numpy or torch: Python takes one for an integer.

    A mask passed for a token would be the token 0 or 1.
    """
    return isinstance(value, bool | np.bool_) or str(getattr(value, "dtype", "")) in _BOOLS


class Guide:
    """Follows one sequence and tells which tokens may come next.

    Parameters
    ----------
    index : Index, or what it is of
        From :func:`cfgguide.compile`; or a grammar, a type, a schema, ..., as
        :func:`cfgguide.output_types.output_type` takes them, with a tokenizer.
    tokenizer : Vocabulary, or a tokenizer; optional
        What is written with, unless there is an index.

    Attributes
    ----------
    n_waits : int
        Batches in a row that left its mask for later; see :func:`cfgguide.fill_bitmasks`.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"ab", None], eos_token_ids=3)
    >>> guide = Guide(cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary))
    >>> guide.allowed_token_ids().tolist()
    [0, 2]
    >>> guide.advance(0)
    >>> guide.text, guide.expected(), guide.is_accepting
    (b'a', ('B',), False)
    >>> guide
    Guide(n_tokens=1, text=b'a', is_accepting=False, is_finished=False)
    >>> guide.advance(1)
    >>> guide.allowed_token_ids().tolist(), guide.is_accepting
    ([3], True)
    """

    def __init__(self, index: object, tokenizer: object = None) -> None:
        if isinstance(index, Index):
            self._output = index.output_type
        else:
            self._output = output_type(index)
            index = self._output.grammar
        self._index = shared_index(index, tokenizer)
        self._steps: list[Step] = [self._index.start]  # the one before any token first
        self._buffer = _NO_BUFFER  # that was filled last
        self._reading: _Reading | None = None  # that was asked for its value so far
        self.n_waits = 0

    def __repr__(self) -> str:
        text = self.text[-_SHOWN_BYTES:]
        return (
            f"Guide(n_tokens={self.n_tokens}, text={text!r}, "
            f"is_accepting={self.is_accepting}, is_finished={self.is_finished})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the tokens so far, the terminals expected, and the tokens allowed."""
        vocabulary = self._index.vocabulary
        so_far = tokens_in_turn(vocabulary.tokens[token_id] for token_id in self.token_ids)
        expected = coloured([("expected: " + (", ".join(self.expected()) or "nothing"), PLAIN)])
        table = token_table(vocabulary, self.allowed_token_ids().tolist())
        return f"<p>{so_far}</p><p>{expected}</p>{table}"

    @property
    def index(self) -> Index:
        """The index that this guide reads."""
        return self._index

    @property
    def configuration(self) -> Any:
        """The machine's configuration after the text so far."""
        return self._steps[-1].configuration

    @property
    def step(self) -> Step:
        """The step of the last token."""
        return self._steps[-1]

    @property
    def n_tokens(self) -> int:
        """How many tokens were consumed so far, EOS included."""
        return len(self._steps) - 1

    @property
    def last_token_id(self) -> int:
        """The token that was consumed last; -1 before the first."""
        return self._steps[-1].token_id

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens consumed so far, EOS included."""
        return tuple([step.token_id for step in self._steps[1:]])

    @property
    def text(self) -> bytes:
        """The bytes of the tokens consumed so far, symbols of special terminals among them."""
        return self._index.vocabulary.spell(self.token_ids)

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a sentence."""
        return self._index.is_sentence(self._steps[-1])

    @property
    def is_finished(self) -> bool:
        """Whether an EOS token was consumed that ends a sentence."""
        return self._steps[-1].is_end

    @property
    def is_ready(self) -> bool:
        """Whether the mask of the next token is known, so that it need not be made."""
        step = self._steps[-1]
        return step.is_end or self._index.known(step) is not None

    def fill_bitmask(self, out: Any, *, within: int | None = None) -> None:
        """Write the mask of the next token into `out`; no token is allowed after EOS.

        Parameters
        ----------
        out : int32 array, shape (ceil(vocabulary size / 32),)
            A numpy array, or a torch tensor on the CPU. Bit ``i % 32`` of word ``i // 32`` is set
            if token ``i`` is allowed: the layout that XGrammar, llguidance and vLLM share.
        within : int, optional
            Allow only tokens after which a sentence can be finished within so many tokens in all;
            see :meth:`allowed_within`.

        Raises
        ------
        BitmaskError
            If `out` has another dtype or shape, or cannot be written to.
        BudgetError
            If no sentence is known that is finished within `within` tokens.
        """
        step = self._steps[-1]
        if within is not None or step.is_end:
            bitmask = self.bitmask(within=within)
        else:  # not by a call: a decode loop is here at every step
            bitmask = (step.subset or self._index.allowed(step)).bitmask
        words = self._buffer.words
        if out is not words:
            words = self._words_of(out)
        words[:] = bitmask

    def _words_of(self, out: Any) -> Int32Array:
        if not self._buffer.is_still(out):
            self._buffer = buffer_of(out, (self._index.vocabulary.n_words,))
        return self._buffer.words

    def bitmask(self, *, within: int | None = None, trailing: bool = True) -> Int32Array:
        """Return the mask of the next token, to be read only; see :meth:`fill_bitmask`.

        Without `trailing`, ignored text, such as white space, may not stand behind a sentence where
        nothing else could follow: only EOS may.
        """
        step, index = self._steps[-1], self._index
        if step.is_end:
            return np.zeros(index.vocabulary.n_words, dtype=np.int32)
        if not trailing and step.is_at_end is not False and index.is_at_end(step):
            return index.eos_bitmask
        if within is not None:
            return allowed_within(index, step, within)
        return (step.subset or index.allowed(step)).bitmask

    def allowed_token_ids(self) -> npt.NDArray[np.int64]:
        """Return the ids of the tokens that may come next, ascending; none after EOS."""
        if self.is_finished:
            return np.empty(0, dtype=np.int64)
        return self._index.allowed(self.step).token_ids()

    def allowed_within(self, n: int) -> npt.NDArray[np.int64]:
        """Return the tokens after which a sentence can be finished within `n` tokens in all.

        Take one of these with `n` tokens left, then one of the next with `n - 1`, and so on: there
        is always one, and the sentence is finished in time. See :mod:`cfgguide.guide.budget`.

        Parameters
        ----------
        n : int
            How many tokens may be written from here, EOS included.

        Returns
        -------
        int64, shape (n_allowed,)
            Ids, ascending; none after EOS.

        Raises
        ------
        BudgetError
            If no sentence is known that is finished within `n` tokens.
        """
        if self.is_finished:
            return np.empty(0, dtype=np.int64)
        return token_ids_in(allowed_within(self._index, self.step, n))

    def shortest_completion(self) -> tuple[int, ...]:
        """Return tokens that finish a sentence from here, EOS last; none after EOS.

        These are the fewest that were found. For small grammars and short endings, they are the
        fewest possible.

        Raises
        ------
        BudgetError
            If none were found, which may happen with an indenter or a monitor, or where deciding
            what follows would cost more than the limit.

        Examples
        --------
        >>> import cfgguide
        >>> vocabulary = cfgguide.Vocabulary([b"(", b")", b"))", None], eos_token_ids=3)
        >>> guide = Guide(cfgguide.compile(cfgguide.Grammar('start: "(" start? ")"'), vocabulary))
        >>> guide.advance(0), guide.advance(0), guide.shortest_completion()
        (None, None, (2, 3))
        >>> guide.allowed_within(2).tolist(), guide.allowed_within(3).tolist()
        ([2], [1, 2])
        """
        if self.is_finished:
            return ()
        token_ids = TokenBudget.of(self._index).shortest(self.step)
        if token_ids is None:
            raise BudgetError(f"no way was found to finish a sentence after {self.text!r}")
        if len(token_ids) > 1 and token_ids[-2] in self._index.vocabulary.eos_token_ids:
            return token_ids[:-1]  # a special terminal, with which the text is over
        return token_ids

    def forced_bytes(self) -> bytes:
        """Return the bytes with which every sentence goes on from here.

        Empty if there is a choice, or if the text may end here. At most
        :data:`cfgguide.guide.forced.MAX_BYTES` are looked ahead.

        Examples
        --------
        >>> import cfgguide
        >>> grammar = cfgguide.Grammar('start: "[" ("one" | "once" | "only") "]"')
        >>> vocabulary = cfgguide.Vocabulary.of_bytes([b"[on"])
        >>> guide = Guide(cfgguide.compile(grammar, vocabulary))
        >>> guide.forced_bytes()
        b'[on'
        """
        if self.is_finished:
            return b""
        return JumpForward.of(self._index).forced(self._index, self.step)

    def forced_token_ids(self, tokenizer: object) -> tuple[int, ...]:
        """Return the tokens that a tokenizer makes of the forced bytes, as far as they are certain.

        The tokens stop at the first position from which some token would reach beyond the forced
        bytes: there, the text that follows may change them. See :mod:`cfgguide.guide.forced`.

        Parameters
        ----------
        tokenizer : transformers fast tokenizer or tokenizers.Tokenizer
            The tokenizer of the vocabulary.
        """
        encode = encoder_of(tokenizer)
        return JumpForward.of(self._index).token_ids(self.forced_bytes(), self.token_ids, encode)

    def accepts(self, token_id: int) -> bool:
        """Return whether a token may come next; False for ids outside the vocabulary."""
        if type(token_id) is not int:
            token_id = as_token_id(token_id)
        step = self._steps[-1]
        return not step.is_end and self._index.accepts(step, token_id)

    def advance(self, token_id: int) -> None:
        """Consume a token.

        Raises
        ------
        TokenRejectedError
            If the token may not come next, or this is no token id; the guide is left as it was.
        IndexFormatError
            If the token is allowed only because an index file is wrong.
        """
        if type(token_id) is not int:
            token_id = as_token_id(token_id)
        step = self._steps[-1]
        following = None if step.is_end else step.after(token_id)
        if following is not None:
            self._steps.append(following)
        elif not self.try_advance(token_id):
            raise self._refusal(token_id)

    def try_advance(self, token_id: int, *, trailing: bool = True) -> bool:
        """Consume a token if it may come next, and return whether it may.

        `trailing` is as for :meth:`bitmask`. What is no token id is an error, as for
        :meth:`advance`.
        """
        if type(token_id) is not int:
            token_id = as_token_id(token_id)
        step, index = self._steps[-1], self._index
        if step.is_end:
            return False
        is_over = not trailing and step.is_at_end is not False and index.is_at_end(step)
        if is_over and token_id not in index.vocabulary.eos_token_ids:
            return False
        following = step.after(token_id)
        if following is None:
            if not index.accepts(step, token_id):
                return False
            following = index.advance(step, token_id)
        self._steps.append(following)
        return True

    def rollback(self, n: int) -> None:
        """Take back the last `n` tokens.

        Raises
        ------
        RollbackError
            If `n` is negative or more than were consumed; the guide is left as it was.
        """
        if not isinstance(n, Integral):
            raise RollbackError(f"rollback takes a number of tokens, not {shown(n)}")
        n_tokens = len(self._steps) - 1
        if not 0 <= n <= n_tokens:
            raise RollbackError(f"cannot roll back {shown(n)} tokens: {n_tokens} were consumed")
        del self._steps[n_tokens + 1 - int(n) :]

    def partial(self) -> Partial[Any]:
        r"""Return the value of the text so far: what is certain of it, and what may still grow.

        Asked again and again, it reads each token once; after a rollback it begins anew.

        Examples
        --------
        >>> import cfgguide
        >>> schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
        >>> guide = Guide(schema, cfgguide.Vocabulary.of_bytes())
        >>> for byte in b'{"a": "caf\u00':
        ...     guide.advance(byte)
        >>> guide.partial()
        Partial(value={'a': 'caf'}, growing=('a',), thinking='')
        """
        index, steps = self._index, self._steps
        output, vocabulary = self._output, index.vocabulary
        if self.is_finished and output is not None:
            text = vocabulary.text_decoder().decode(self.text)
            value = output.value(text, self.text if vocabulary.symbols else None)
            return Partial(value, None, thinking=output.thinking_of(text))
        begun, self._reading = self._reading, None  # an interruption leaves none that is behind
        if begun is None or begun.n >= len(steps) or steps[begun.n] is not begun.step:
            reading = TextReading() if output is None else output.reading()
            begun = _Reading(reading, vocabulary.text_decoder(), 0, steps[0])
        for step in steps[begun.n + 1 :]:
            begun.reading.feed(begun.decoder.decode(vocabulary.tokens[step.token_id] or b""))
        self._reading = begun._replace(n=len(steps) - 1, step=steps[-1])
        return begun.reading.partial(index.machine, self.configuration)

    def copy(self) -> Guide:
        """Return an independent guide in the same state."""
        copy = Guide(self._index)
        copy._steps, copy._buffer = self._steps.copy(), self._buffer
        copy._output = self._output
        return copy

    def __copy__(self) -> Guide:
        return self.copy()

    def __deepcopy__(self, _memo: object) -> Guide:
        return self.copy()  # the index is shared: nothing of it changes what another guide sees

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the index without its masks, and the tokens."""
        return _read_again, (self._index, self.token_ids)

    def expected(self) -> tuple[str, ...]:
        """Return the names of the terminals that may come next, sorted.

        A terminal counts if the text can go on inside a lexeme of it, or with one, perhaps after
        ignored text, and the parser takes it. What only a search could rule out is there, too; what
        many bytes lead to, of a lexeme that has begun, may be missing. ``$END`` means that the
        text may end. After EOS nothing is expected. It takes about a millisecond; :meth:`explain`
        searches for examples.
        """
        if self.is_finished:
            return ()
        with self._index.steps.begun():
            return self._index.machine.expected(self.configuration)

    def explain(self, token_or_bytes: int | bytes) -> Explanation:
        r"""Return why a token, or any bytes, may come next, or why not.

        This reads the text so far again, which takes about ten microseconds a byte.

        Parameters
        ----------
        token_or_bytes : int or bytes
            A token's id; one that is not in the vocabulary is refused. Bytes are explained as if
            they were a token.

        Returns
        -------
        Explanation
            It prints as text, and has all that it says as values.

        Raises
        ------
        LimitError
            If there are too many ways to read the bytes, or deciding costs too much.

        Examples
        --------
        >>> import cfgguide
        >>> vocabulary = cfgguide.Vocabulary([b"(", b"n", b")", b"]", None], eos_token_ids=4)
        >>> grammar = cfgguide.Grammar('start: "(" NAME ")" \n NAME: /[a-z]+/')
        >>> guide = Guide(cfgguide.compile(grammar, vocabulary))
        >>> guide.advance(0)
        >>> print(guide.explain(b"n]"))
        'n]' is refused at byte 1, ']': no terminal that may follow NAME 'n' begins with it
          'n' leaves open NAME 'n', which may end as NAME
          expected there: NAME 'a', RPAR ')'
        """
        with self._index.steps.begun():
            explainer = explainer_of(self._index, self.text, self.configuration)
            if not isinstance(token_or_bytes, bytes):
                return explainer.explain_token(
                    as_token_id(token_or_bytes), is_finished=self.is_finished
                )
            if self.is_finished:
                return Explanation(None, token_or_bytes, False, False, (), None, AFTER_EOS, ())
            return explainer.explain(token_or_bytes)

    def _refusal(self, token_id: int) -> TokenRejectedError:
        index, vocabulary = self._index, self._index.vocabulary
        if self.is_finished:
            return TokenRejectedError(
                f"token {shown(token_id)} comes after EOS; roll back or start a new guide"
            )
        if not 0 <= token_id < vocabulary.size:
            return TokenRejectedError(
                f"token {shown(token_id)} is not in the vocabulary of {vocabulary.size} ids"
            )
        token = vocabulary.tokens[token_id]
        spelled = "EOS" if token_id in vocabulary.eos_token_ids else repr(token)
        if token is None and token_id not in vocabulary.eos_token_ids:
            spelled = "no text"
        # Most refusals are caught, and what was expected takes as long as the rest.
        return TokenRejectedError(
            f"token {token_id} ({spelled}) may not follow {self.text[-_SHOWN_BYTES:]!r}",
            partial(expected_at_once, index, self.configuration),
        )


def lengths_of(guides: Iterable[Guide | None]) -> list[tuple[Guide, int]]:
    """Return where guides are, for :func:`go_back`."""
    return [(guide, len(guide._steps)) for guide in guides if guide is not None]


def go_back(lengths: Iterable[tuple[Guide, int]]) -> None:
    """Take back what guides have consumed since then."""
    for guide, length in lengths:
        del guide._steps[length:]


def bitmasks_of(guides: Iterable[Guide | None]) -> list[Int32Array]:
    """Return the masks of many guides, to be read only; `EVERYTHING` for none.

    It looks at the guides directly: calling a method of each takes as long as all the rest.
    """
    masks: list[Int32Array] = []
    for guide in guides:
        if guide is None:
            masks.append(EVERYTHING)
            continue
        step = guide._steps[-1]
        try:
            known = None if step.is_end else step.subset
            masks.append(guide.bitmask() if known is None else known.bitmask)
        except CfgGuideError as error:
            error.add_note(f"in row {len(masks)} of the batch")
            raise
    return masks


class _Reading(NamedTuple):
    """What has read the first tokens of a guide for their value."""

    reading: Reading
    decoder: TextDecoder
    n: int
    step: Step


def _read_again(index: Index, token_ids: tuple[int, ...]) -> Guide:
    guide = Guide(index)
    for token_id in token_ids:
        guide.advance(token_id)
    return guide
