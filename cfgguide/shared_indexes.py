"""One index for each grammar and tokenizer, however often a caller names them.

In: what to write, in any form of :mod:`cfgguide.output_types`, and a tokenizer. Out: its index,
compiled when it is first asked for. The indexes of the vocabularies used last are kept, each within
the bounds of an :class:`~cfgguide.index_pool.IndexPool`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from weakref import WeakKeyDictionary

from cfgguide.base.locks import new_lock
from cfgguide.engine.index.index import Index
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import TokenizerError, VocabularyError, shown
from cfgguide.index_pool import IndexPool
from cfgguide.output_types import output_type

_N_POOLS = 4  # vocabularies
_LOCK = new_lock()
_Eos = int | Iterable[int] | None
_VOCABULARIES: WeakKeyDictionary[object, dict[Hashable, Vocabulary]] = WeakKeyDictionary()
_POOLS: OrderedDict[Hashable, IndexPool] = OrderedDict()  # the one used last is last


def shared_index(
    what: object,
    tokenizer_or_vocabulary: object,
    *,
    progress: bool | None = False,
    is_written: bool = False,
) -> Index:
    """Return the index of an output type for a tokenizer or vocabulary.

    Parameters
    ----------
    what : Index, Grammar, type, mapping, ...
        An index, which is returned as it is, or what :func:`cfgguide.output_types.output_type`
        takes.
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer; or None
        What it is written with. An index has its own.
    progress : bool, optional
        As for :func:`cfgguide.compile`.
    is_written : bool
        Whether a model writes by itself: then what it would write without end is left out, unless
        it was asked for (:meth:`Grammar.tidied`).

    Raises
    ------
    VocabularyError
        If there is no tokenizer, and `what` is no index; or it is one for other tokens.
    GrammarError, SchemaError
        As :func:`cfgguide.output_types.output_type`.
    CfgGuideError
        As :func:`cfgguide.compile`.
    """
    if isinstance(what, Index):
        check_same_tokens(what, tokenizer_or_vocabulary)
        return what
    grammar = output_type(what).grammar
    grammar = grammar.tidied() if is_written else grammar
    if tokenizer_or_vocabulary is None:
        raise VocabularyError(
            "a grammar is compiled for a tokenizer: give the tokenizer too, or an index that "
            "cfgguide.compile(grammar, tokenizer) returned"
        )
    vocabulary = shared_vocabulary(tokenizer_or_vocabulary)
    key = vocabulary.digest, frozenset(vocabulary.special_tokens.items())
    with _LOCK:
        pool = _POOLS.get(key)
        pool = _POOLS[key] = IndexPool(vocabulary) if pool is None else pool
        _POOLS.move_to_end(key)
        if len(_POOLS) > _N_POOLS:
            _POOLS.popitem(last=False)
    return pool.index(grammar, progress=progress)


def check_same_tokens(index: Index, tokenizer_or_vocabulary: object) -> None:
    """Raise an error if an index is for other tokens than those of a tokenizer, if that is known.

    What only one of them has as text does not matter: special tokens, and ids that a model has
    beyond its tokenizer.

    Raises
    ------
    VocabularyError
        If an id has another text.
    """
    if tokenizer_or_vocabulary is None:
        return
    try:
        there = shared_vocabulary(tokenizer_or_vocabulary)
    except (TokenizerError, VocabularyError):
        return  # nothing is known of such a tokenizer: an index needs none
    here = index.vocabulary
    if there.digest == here.digest:
        return
    for token_id, (mine, other) in enumerate(zip(here.tokens, there.tokens, strict=False)):
        if mine != other and mine is not None and other is not None:
            raise VocabularyError(
                f"the index is for another vocabulary than this one: token {token_id} is "
                f"{shown(mine)} there and {shown(other)} here; compile what to write for the "
                "tokenizer of the model"
            )


def shared_vocabulary(tokenizer_or_vocabulary: object, eos_token_ids: _Eos = None) -> Vocabulary:
    """Return the vocabulary of a tokenizer, which is read again only if it has got more tokens.

    Parameters
    ----------
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        A vocabulary is returned as it is.
    eos_token_ids : int or iterable of int, optional
        As for :meth:`Vocabulary.from_tokenizer`.
    """
    if isinstance(tokenizer_or_vocabulary, Vocabulary):
        return tokenizer_or_vocabulary
    if isinstance(eos_token_ids, Iterable):
        eos_token_ids = tuple(eos_token_ids)
    try:
        key = len(tokenizer_or_vocabulary), eos_token_ids  # type: ignore[arg-type]
        known = _VOCABULARIES.setdefault(tokenizer_or_vocabulary, {})
    except TypeError:  # such as a tokenizers.Tokenizer, which has no length
        key, known = (0, eos_token_ids), {}
    if key not in known:
        known[key] = Vocabulary.from_tokenizer(tokenizer_or_vocabulary, eos_token_ids=eos_token_ids)
    return known[key]
