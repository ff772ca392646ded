r"""Compiles what requests ask for: one backend for all requests of an engine.

In: the kind of a request and its text, as vLLM and SGLang have them. Out: a
:class:`~cfgguide.models.serving.matcher.Matcher`. ::

    json            a JSON Schema                       json_object     any JSON object
    regex           a pattern of Python's `re`          choice          a JSON array of texts
    grammar         a grammar in Lark's language, or the name of one: `cfgguide:sql`
    structural_tag  a structural tag: text, calls of tools, thinking

A *name* is that of a bundled grammar or of a `.lark` file in the operator's folder; options may
follow it, as a JSON object: `cfgguide:sql {"tables": {"users": ["id", "name"]}}`. They are a
stranger's, and so is what is compiled with them. What the operator's function returns has names,
too, and no options. `tables` is such an object, or a text of
definitions (:func:`cfgguide.sql.with_schema`). An object in the place of the name asks for SQL on
a database (:mod:`cfgguide.models.serving.sql_requests`). Bundled grammars are tidy, and those of
SQL one statement, as for :func:`cfgguide.generate`; `{"tidy": false}` asks for the whole language.
In patterns, `\d`, `\w` and `\s` are ASCII's, unless they begin with `(?u)`. If a line break follows
the colon, the rest is a grammar in Lark's language. After `cfgguide:llguidance` and a line break it
is one in llguidance's dialect, and so is a text that begins with `%llguidance`. After
`cfgguide:json_schema`, `cfgguide:regex`, `cfgguide:choice` or `cfgguide:structural_tag` and a line
break comes what those kinds have: so clients mark all of their requests. No other file is read: a
request comes from strangers, so compiling has :meth:`Limits.for_strangers`.

What a model would write without end is left out, as :func:`cfgguide.generate` has it: JSON is
tidy (:func:`cfgguide.json_schema`), and nothing follows what is complete. The operator may choose
otherwise, and so may a schema, by a keyword of our own at its top::

    {"x-cfgguide": {"tidy": false}, ...}    also: the other names in `CHOICES`

`closed` is as for :func:`cfgguide.json_schema`: clients make schemas of types, whose objects have
no other members, and a small model invents some without end.

What was asked before is at hand: grammars by kind and text, indexes in an
:class:`~cfgguide.index_pool.IndexPool`. :meth:`Backend.requested` returns it at once, and compiles
the rest in threads of its own (:mod:`cfgguide.models.serving.lanes`). One line is logged for each
that is compiled.
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from cfgguide.base import cache
from cfgguide.base.footprint import footprint
from cfgguide.base.limits import Budget, Limits, check_bound
from cfgguide.base.locks import new_lock
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.machine.grammar_cache import CachedGrammar
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError, GrammarError, LimitError, shown
from cfgguide.grammar.combinators.patterns import choice, regex
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.rules.facts import not_known
from cfgguide.guide.budget import TokenBudget
from cfgguide.index_pool import DEFAULT_MAX_BYTES, IndexPool
from cfgguide.languages.sql.names import with_schema
from cfgguide.models.serving.isolation import (
    MASK_SECONDS,
    Isolation,
    LeftOut,
    Passed,
    Verdicts,
    key_of,
    left_out_of,
)
from cfgguide.models.serving.lanes import BusyError, Cancelled, Lanes, Request, Result, run_now
from cfgguide.models.serving.matcher import Allowance, Finishing, Matcher
from cfgguide.models.serving.settings import Settings
from cfgguide.models.serving.sql_requests import refuse_description, sql_grammar
from cfgguide.output_types import STARTS, output_type
from cfgguide.schema.json_schema import read_schema
from cfgguide.schema.messages.message_grammar import structural_tag

PREFIX = "cfgguide:"  # of a name
#: What a grammar in llguidance's dialect begins with; the second is a part of it.
DIALECT = re.compile(r"(?:cfgguide:llguidance[ \t]*\r?\n|(?=\s*%llguidance\b))")
#: How a request of another kind begins that is written as a grammar, since only those are marked.
_MARKED = re.compile(r"cfgguide:(json_schema|regex|choice|structural_tag)[ \t]*\r?\n")
KINDS = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")


class _Source(Enum):
    """Who wrote what is compiled: a grammar that has a name is the operator's, or ours.

    What follows the name is a stranger's. Each has limits, and a share of the indexes.
    """

    OPERATOR = 7
    OPTIONS = 1  # of a stranger, for a file of the operator's, which imports its own
    STRANGER = 6

    def limits(self, limits: Limits) -> Limits:
        """Return what compiling may cost, by the limits for strangers."""
        if self is _Source.STRANGER:
            return limits
        limits = replace(limits, allows_imports=True)
        return limits if self is _Source.OPTIONS else replace(limits, max_seconds=60.0)


_SHARES = 16  # of which an eighth is for the texts of requests

_OPTIONS = ("start", "max_ignored")  # of a grammar that a request names; `tidy` of a bundled one
_TYPES: dict[str, type] = {"start": str, "max_ignored": int, "tidy": bool}
_TYPES_SAID = {str: "a text", int: "a whole number", bool: "true or false"}

KEYWORD = "x-cfgguide"  # of a schema
#: What that keyword may say, as for :func:`cfgguide.json_schema`.
CHOICES = (
    *("tidy", "separators", "max_whitespace", "closed"),
    *("order", "formats", "best_effort"),
)
_SCHEMAS = ("json", "json_object", "structural_tag")  # kinds
_MAX_KNOWN = 1_000  # requests whose grammars are remembered
_LONG = 0.5  # seconds of compiling
_LONG_STEP = 0.1  # seconds of a step, which all others have waited for
#: What is measured of requests, in seconds.
MEASURED = ("compile_seconds", "first_mask_seconds", "slowest_step_seconds")
_BYTES_A_CHARACTER = 32  # of a request's text, and of what is read of it
#: How a rule of GBNF, and of XGrammar's EBNF, begins; nothing in Lark's language does.
_EBNF = re.compile(r"^[ \t]*[\w-]+[ \t]*::=", re.MULTILINE)
_NAME = re.compile(r"([A-Za-z0-9_-]{1,100})(?:\s+(\{.*\}))?\s*", re.DOTALL)
#: A rule that a grammar defines, or what it imports.
_DEFINED = re.compile(
    r"^[ \t]*(?:(?:%(?:extend|override)[ \t]+)?[!?]*([a-z_]\w*)\s*[:.{]|%import\b(.*)$)",
    re.MULTILINE,
)
_MAX_RULES = 12  # that a message names
#: How a pattern begins that has flags, of which two say what `\d`, `\w` and `\s` are.
_FLAGS = re.compile(r"\(\?[a-zA-Z]{1,12}\)")
_NAMED_FINISHING = ("json", "sql", "sql_select", "postgresql")
_FINISHING = ("json", "json_object", "structural_tag")  # kinds that end within `max_tokens`
_SHOWN, _MAX_SAID = 60, 200  # characters of a request, and of an error, in the log

_LOG = logging.getLogger("cfgguide.serving")

_PAUSE = 100  # what is shared is not measured again for so many times as long as that took
_AT_MOST = 60.0  # seconds that this takes


@dataclass(frozen=True)
class Metrics:
    """What a backend has done.

    Attributes
    ----------
    n_compiled : int
        Requests for which a grammar was compiled, again if its index had been dropped.
    n_hits : int
        Requests whose grammar was there, or was being compiled for another one.
    n_refused : int
        Requests with an error of ours, but for those that were cancelled.
    n_busy : int
        Requests that were told to come again, since others had to be compiled first.
    n_waiting, n_waiting_long : int
        Grammars that wait to be compiled now, and how many of them have had their turn.
    n_compiling : int
        Grammars that are compiled now.
    n_waiting_clients : int
        Clients whose requests wait.
    seconds : float
        Spent in compiling, errors included.
    n_first_visits : int
        Masks that were made for the first time.
    first_visit_seconds : float
        Spent in making them.
    n_indexes, n_bytes : int
        Indexes at hand, and what they held when they were measured last; with what the texts of
        requests hold that are remembered, as their lengths tell.
    n_shared_bytes : int
        The vocabulary, and what all indexes share that its process knows of it, such as the masks
        inside strings, when that was measured last.
    """

    n_compiled: int = 0
    n_hits: int = 0
    n_refused: int = 0
    n_busy: int = 0
    n_waiting: int = 0
    n_waiting_long: int = 0
    n_compiling: int = 0
    n_waiting_clients: int = 0
    seconds: float = 0.0
    n_first_visits: int = 0
    first_visit_seconds: float = 0.0
    n_indexes: int = 0
    n_bytes: int = 0
    n_shared_bytes: int = 0


@dataclass(frozen=True)
class _Asked:
    """What a request asks for.

    Attributes
    ----------
    key : hashable
        What its grammar is known by.
    text : str
        The request's.
    source : _Source
        Who wrote it.
    read : callable
        Returns the grammar, which may take long.
    is_finishing : bool
        Whether it is JSON or SQL that has a name.
    """

    key: Hashable
    text: str
    source: _Source
    read: Callable[[], Grammar]
    is_finishing: bool = False

    @property
    def is_trusted(self) -> bool:
        """Whether all of it is the operator's or ours: a name, and no options."""
        return self.source is _Source.OPERATOR


class Backend:
    r"""Makes matchers; thread-safe.

    Parameters
    ----------
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        What the model writes with. Its size is the number of the engine's logits.
    limits : Limits, optional
        What compiling may cost; by default :meth:`Limits.for_strangers`. Grammars that have a name,
        and no options, get a minute. A file of the operator's may import files.
    folder : Path or str, optional
        Where the operator's `.lark` files are; requests name them without the ending.
    grammars : mapping of str to object, optional
        What else the operator gives a name: anything that :func:`cfgguide.compile` takes, grammars
        with monitors among them.
    max_bytes : int
        As for :class:`IndexPool`, of which there are three: for grammars that have names, for files
        of the operator's with options, which get a seventh of that, and for others. An eighth of it
        is for the texts of requests.
    use_cache : bool
        As for :class:`IndexPool`.
    tidy : bool
        Whether what models would write without end is left out, unless a request asks for it.
    finish : bool
        Whether JSON, calls of tools and SQL end within the `max_tokens` of their matcher.
    isolate : bool
        Whether what strangers send is tried first in a process of its own, which may freeze, crash
        or be killed (:mod:`cfgguide.models.serving.isolation`). It costs a new request the time of
        compiling once more, and of masks of some texts. Engines' plug-ins do it.
    max_mask_seconds : float
        Processor time that a mask or a token may take of what a stranger sends, once its first mask
        is made: all whose texts are being written wait for it. All of a text may take eight times
        as much, and 20 ms a token. What takes more is refused from then on.
    n_queued : int, optional
        Requests that may wait for others to be compiled in :meth:`checked` and :meth:`requested`;
        by default any number.
    max_wait_seconds : float
        For which they wait at most. The error of those that wait no more is a
        :class:`~cfgguide.models.serving.lanes.BusyError`.
    observe : callable, optional
        Called with what was measured, `compile_seconds`, `first_mask_seconds` or
        `slowest_step_seconds`, and the seconds.

    Examples
    --------
    >>> import cfgguide
    >>> backend = Backend(cfgguide.Vocabulary.of_bytes())
    >>> matcher = backend.matcher("choice", '["yes", "no"]')
    >>> matcher.accept(list(b"no")), matcher.accept(list(b"n")), backend.metrics.n_compiled
    (True, False, 1)
    >>> select = backend.grammar("grammar", 'cfgguide:sql_select {"tables": {"users": ["id"]}}')
    >>> call = backend.grammar("grammar", 'cfgguide:llguidance\nstart: "a"{2} %json {}')
    """

    def __init__(
        self,
        tokenizer_or_vocabulary: object,
        *,
        limits: Limits | None = None,
        folder: Path | str | None = None,
        grammars: Mapping[str, object] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        use_cache: bool = True,
        tidy: bool = True,
        finish: bool = True,
        isolate: bool = False,
        max_mask_seconds: float = MASK_SECONDS,
        n_queued: int | None = None,
        max_wait_seconds: float = math.inf,
        observe: Callable[[str, float], object] | None = None,
    ) -> None:
        self._observe = observe or (lambda name, seconds: None)
        check_bound("bytes", max_bytes)
        self.max_mask_seconds = max_mask_seconds
        self._is_tidy, self._is_finishing = tidy, finish
        self._grammars = dict(grammars or {})
        self._limits = limits or Limits.for_strangers()
        self.folder = None if folder is None else Path(folder)
        self.vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
        seconds = min(max_mask_seconds, self._limits.max_seconds)
        self._limits_of_steps = replace(self._limits, max_seconds=seconds)
        self._verdicts = Verdicts()
        self._use_cache = use_cache
        self._limits_of = {source: source.limits(self._limits) for source in _Source}
        self._pools = {
            source: IndexPool(
                self.vocabulary,
                max_bytes=max_bytes * source.value // _SHARES,
                limits=limits,
                use_cache=use_cache,
            )
            for source, limits in self._limits_of.items()
        }
        self._lock = new_lock()
        self._known: OrderedDict[Hashable, tuple[Grammar, int]] = OrderedDict()
        self._max_known = max_bytes // 8
        self._n_known = 0  # bytes
        self._metrics = Metrics()
        self._n_shared = 0  # bytes
        self._shared_pause_ends = 0.0  # by `time.monotonic`
        self._lanes = Lanes(n_queued, max_wait_seconds)
        self._one_at_a_time = new_lock()  # what takes long keeps those who write texts waiting
        self._isolation = None
        if isolate:
            options: dict[str, Any] = {"use_cache": use_cache, "tidy": tidy, "folder": folder}
            options["max_mask_seconds"] = max_mask_seconds
            self._isolation = Isolation(
                self.vocabulary, self._limits, verdicts=self._verdicts, **options
            )

    @classmethod
    def from_environment(
        cls,
        tokenizer_or_vocabulary: object,
        *,
        isolate: bool = True,
        observe: Callable[[str, float], object] | None = None,
    ) -> Backend:
        """Return the backend of an engine's plug-in, as its operator has it (:class:`Settings`).

        With `isolate`, requests come here first: they may be tried in a process of their own, and
        the queue is bounded.

        Raises
        ------
        ValueError
            If a variable of the environment has no such value.
        """
        settings = Settings.of_environment()
        backend = cls(
            tokenizer_or_vocabulary,
            folder=settings.folder,
            grammars=settings.grammars,
            max_bytes=settings.max_bytes,
            tidy=settings.is_tidy,
            finish=settings.is_finishing,
            isolate=isolate and settings.is_isolated and Isolation.is_possible,
            max_mask_seconds=settings.max_mask_seconds,
            n_queued=settings.n_queued if isolate else None,
            max_wait_seconds=settings.max_wait_seconds if isolate else math.inf,
            observe=observe,
        )
        for name in settings.warm:
            backend.requested("grammar", f"{PREFIX}{name}")
        return backend

    @property
    def metrics(self) -> Metrics:
        """What was done so far."""
        pools = self._pools.values()
        visits = [pool.first_visits for pool in pools]
        return replace(
            self._metrics,
            n_waiting=self._lanes.n_waiting,
            n_waiting_long=self._lanes.n_long,
            n_compiling=self._lanes.n_compiling,
            n_waiting_clients=self._lanes.n_clients,
            n_first_visits=sum(each.n for each in visits),
            first_visit_seconds=sum(each.seconds for each in visits),
            n_indexes=sum(map(len, pools)),
            n_bytes=self._n_known + sum(pool.nbytes for pool in pools),
            n_shared_bytes=self._shared_bytes(),
        )

    def _shared_bytes(self) -> int:
        """Return what the indexes share, measured again if that is not too often."""
        started = time.monotonic()
        if started >= self._shared_pause_ends:
            self._shared_pause_ends = started + _AT_MOST  # until it is measured
            shared = [part for pool in self._pools.values() for part in pool.shared]
            self._n_shared = footprint(shared, shared=self.vocabulary.parts)
            ended = time.monotonic()
            self._shared_pause_ends = ended + _PAUSE * (ended - started)
        return self.vocabulary.nbytes + self._n_shared

    def matcher(
        self,
        kind: str,
        text: str,
        *,
        stop_token_ids: Iterable[int] | None = (),
        max_tokens: int | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Matcher:
        """Return a matcher for a request.

        Parameters
        ----------
        kind : str
            One of :data:`KINDS`.
        text : str
            What is asked for.
        stop_token_ids : iterable of int, optional
            As for :class:`Matcher`; nothing is compiled for them.
        max_tokens : int, optional
            Within how many tokens JSON, calls of tools and SQL end, EOS included, if they can.
        cancelled : callable, optional
            As for :meth:`index`.

        Raises
        ------
        CfgGuideError
            If the text is wrong, or compiling it would exceed the limits.
        """
        index = self.index(kind, text, cancelled=cancelled)
        return self.matcher_of(
            index, kind, text, stop_token_ids=stop_token_ids, max_tokens=max_tokens
        )

    def matcher_of(
        self,
        index: Index,
        kind: str,
        text: str,
        *,
        stop_token_ids: Iterable[int] | None = (),
        max_tokens: int | None = None,
    ) -> Matcher:
        """Return a new matcher of the index that this backend has made for a request."""
        kind, text = unmarked(kind, text)
        asked = self._asked(kind, text)
        allowance = None
        if not asked.is_trusted:
            allowance = Allowance(self._limits_of_steps, self._verdicts, key_of(kind, text))
        finishing = None
        if max_tokens is not None and self._leads(kind, asked):
            finishing = Finishing(index, self._limits_of_steps)
        return Matcher(
            index,
            stop_token_ids=stop_token_ids,
            trailing=not self._is_tidy,
            allowance=allowance,
            max_tokens=max_tokens,
            finishing=finishing,
        )

    def _leads(self, kind: str, asked: _Asked) -> bool:
        """Return whether texts are led to an end within their `max_tokens`."""
        return self._is_finishing and (kind in _FINISHING or asked.is_finishing)

    def index(self, kind: str, text: str, *, cancelled: Callable[[], bool] | None = None) -> Index:
        """Return the index of what a request asks for.

        Parameters
        ----------
        kind, text : str
            As for :meth:`matcher`.
        cancelled : callable, optional
            Asked often, from another thread too, whether the client has left. A grammar is then
            compiled no further, unless others wait for it.

        Raises
        ------
        CfgGuideError
            As :meth:`matcher`.
        """
        kind, text = unmarked(kind, text)
        with self._noted(kind, text, cancelled) as seconds:
            asked = self._accepted(kind, text)
            if (ready := self._ready(asked)) is not None:
                return ready
            tried = 0.0
            if self._isolation is not None and not asked.is_trusted:
                tried = self._isolation.try_request(kind, text, cancelled).seconds
            with self._one_at_a_time if tried > _LONG else nullcontext():
                grammar = self._read(asked, cancelled)
                requested = self._pools[asked.source].requested(grammar, cancelled=cancelled)
            if requested.is_new and self._leads(kind, asked):
                with suppress(CfgGuideError):  # it is not led, then
                    TokenBudget.of(requested.index).way_out(requested.index.start)
            if requested.is_new:
                self._compiled(kind, text, seconds())
            else:
                self._count(n_hits=1)
            return requested.index

    def check(self, kind: str, text: str, *, cancelled: Callable[[], bool] | None = None) -> None:
        """Raise the error of a request if it has one, in a process that hands requests on.

        With `isolate`, a stranger's request is then compiled in the process that may die alone;
        others are compiled here.

        Parameters
        ----------
        kind, text, cancelled
            As for :meth:`index`, and so are the errors.
        """
        kind, text = unmarked(kind, text)
        if (isolation := self._trying(kind, text)) is None:
            self.index(kind, text, cancelled=cancelled)
            return
        with self._noted(kind, text, cancelled) as seconds:
            is_known = isolation.has_passed(kind, text)
            isolation.try_request(kind, text, cancelled)
            if is_known:
                self._count(n_hits=1)
            else:
                self._compiled(kind, text, seconds())

    def _trying(self, kind: str, text: str) -> Isolation | None:
        """Return what tries a request in another process; None if that is compiled here, or wrong.

        Whoever compiles what is wrong gets the error.
        """
        try:
            return None if self._accepted(kind, text).is_trusted else self._isolation
        except CfgGuideError:
            return None

    @contextmanager
    def _noted(
        self, kind: str, text: str, cancelled: Callable[[], bool] | None
    ) -> Iterator[Callable[[], float]]:
        """Count and log errors of ours; what is entered tells the seconds since."""
        started = time.perf_counter()
        try:
            yield lambda: time.perf_counter() - started
        except CfgGuideError as error:
            seconds = time.perf_counter() - started
            if isinstance(error, LimitError) and cancelled is not None and cancelled():
                self._count(seconds=seconds)
                _LOG.info("stopped %s after %.3f s: %s", _shown(kind, text), seconds, error)
            else:
                self._refused(kind, text, error, seconds)
            raise

    def _compiled(self, kind: str, text: str, seconds: float) -> None:
        self._count(n_compiled=1, seconds=seconds)
        self._observe("compile_seconds", seconds)
        _LOG.info("compiled %s in %.3f s (%s)", _shown(kind, text), seconds, _digest(kind, text))

    def ended(
        self, kind: str, text: str, *, first_seconds: float | None, slowest_seconds: float
    ) -> None:
        """Note how long the first mask of a request took, and its slowest step, when it ends."""
        if first_seconds is None:
            return
        self._observe("first_mask_seconds", first_seconds)
        self._observe("slowest_step_seconds", slowest_seconds)
        if slowest_seconds > _LONG_STEP:
            kind, text = unmarked(kind, text)
            said = _shown(kind, text), slowest_seconds, first_seconds, _digest(kind, text)
            _LOG.info("the slowest step of %s took %.3f s, its first mask %.3f s (%s)", *said)

    def is_refused(self, kind: str, text: str) -> bool:
        """Return whether a request was refused, when it was tried lately or amid a text.

        :meth:`index` then raises the error that it was refused with.
        """
        verdict = self._verdicts.of(key_of(*unmarked(kind, text)))
        return isinstance(verdict, CfgGuideError)

    def left_out(self, kind: str, text: str) -> LeftOut:
        """Return what is not enforced of a request, once it was compiled: paths, and why.

        Of misspelt keywords of a schema it has the one that may be meant.

        Examples
        --------
        >>> import cfgguide
        >>> backend = Backend(cfgguide.Vocabulary.of_bytes())
        >>> asked = "json", '{"type": "string", "maxlength": 3}'
        >>> _ = backend.index(*asked)
        >>> backend.left_out(*asked)
        (('/maxlength', "it is no keyword; did you mean 'maxLength'?"),)
        """
        kind, text = unmarked(kind, text)
        verdict = self._verdicts.of(key_of(kind, text))
        if isinstance(verdict, Passed):
            return verdict.left_out
        try:
            grammar = self._known_grammar(self._asked(kind, text))
        except CfgGuideError:
            return ()
        return () if grammar is None else left_out_of(grammar)

    def requested(
        self,
        kind: str,
        text: str,
        *,
        cancelled: Callable[[], bool] | None = None,
        client: str = "",
    ) -> Future[Index]:
        """Return a future of the index of what a request asks for; returns at once.

        It is done already if the index is there (:meth:`ready`). Others are made in threads of the
        backend, once for all who ask for the same at a time; grammars that only have to be loaded
        from a cache do not wait for those that are compiled.

        Parameters
        ----------
        kind, text, cancelled
            As for :meth:`index`, and so are the errors of the future.
        client : str
            Who asks: each client's requests are compiled in turn.
        """
        kind, text = unmarked(kind, text)
        try:
            asked = self._accepted(kind, text)
        except CfgGuideError:
            return run_now(partial(self.index, kind, text))  # which notes the error
        if (index := self._ready(asked)) is not None:
            return run_now(lambda: index)
        request = Request(
            asked.key,
            partial(self._is_at_hand, kind, text, asked),
            lambda stops: self.index(kind, text, cancelled=stops),
        )
        return self._begun(request, cancelled, client)

    def checked(
        self,
        kind: str,
        text: str,
        *,
        cancelled: Callable[[], bool] | None = None,
        client: str = "",
    ) -> Future[Any]:
        """Return a future that is done once :meth:`check` is; returns at once.

        Parameters
        ----------
        kind, text, cancelled, client
            As for :meth:`requested`, and so are the errors of the future.
        """
        kind, text = unmarked(kind, text)
        if (isolation := self._trying(kind, text)) is None:
            return self.requested(kind, text, cancelled=cancelled, client=client)
        if isolation.has_passed(kind, text):
            return run_now(partial(self.check, kind, text))
        request = Request(
            ("checked", kind, text),
            lambda: False,
            lambda stops: self.check(kind, text, cancelled=stops),
        )
        return self._begun(request, cancelled, client)

    def _begun(
        self, request: Request[Result], cancelled: Cancelled | None, client: str
    ) -> Future[Result]:
        future, is_first = self._lanes.run(request, cancelled, client)
        future.add_done_callback(self._note_busy)
        if not is_first:
            self._count(n_hits=1)
        return future

    def _note_busy(self, done: Future[Any]) -> None:
        if not done.cancelled() and isinstance(done.exception(), BusyError):
            self._count(n_busy=1)

    def ready(self, kind: str, text: str) -> Index | None:
        """Return the index of what a request asks for if it is there, at once; else None."""
        try:
            return self._ready(self._accepted(*unmarked(kind, text)))
        except CfgGuideError:
            return None

    def _ready(self, asked: _Asked) -> Index | None:
        grammar = self._known_grammar(asked)
        pool = self._pools[asked.source]
        index = None if grammar is None else pool.ready(grammar)
        if grammar is None or index is None:
            return None
        self._count(n_hits=1)
        self._lanes.later(partial(pool.hold_bounds, grammar))
        return index

    def _is_at_hand(self, kind: str, text: str, asked: _Asked) -> bool:
        """Return whether the grammar of a request was compiled before, or needs no compiling."""
        is_known = self._known_grammar(asked) is not None
        if kind in _SCHEMAS:
            return is_known  # it is read, and that takes longest
        is_read = kind == "grammar" and not (DIALECT.match(text) or _EBNF.search(text))
        if not self._use_cache or not (is_known or is_read):
            return False
        grammar = CachedGrammar(self._read(asked), self._limits_of[asked.source])
        return bool(grammar.key) and cache.is_at_hand(grammar_file.KIND, grammar.key)

    def _refused(self, kind: str, text: str, error: CfgGuideError, seconds: float) -> None:
        self._count(n_refused=1, seconds=seconds)
        self._observe("compile_seconds", seconds)
        said = " ".join(str(error).split())[:_MAX_SAID]
        shown = _shown(kind, text), seconds, said, _digest(kind, text)
        _LOG.warning("refused %s after %.3f s: %s (%s)", *shown)

    def _count(self, **more: float) -> None:
        with self._lock:
            now = self._metrics
            self._metrics = replace(
                now, **{name: getattr(now, name) + value for name, value in more.items()}
            )

    def grammar(self, kind: str, text: str) -> Grammar:
        """Return the grammar of what a request asks for; nothing is compiled.

        Raises
        ------
        CfgGuideError
            If the text is wrong.
        """
        return self._read(self._asked(*unmarked(kind, text)))

    def _read(self, asked: _Asked, cancelled: Callable[[], bool] | None = None) -> Grammar:
        """Return the grammar that is asked for, known or read now within the limits."""
        grammar = self._known_grammar(asked)
        if grammar is not None:
            return grammar
        budget = Budget(self._limits_of[asked.source], cancelled=cancelled)
        budget.begin("reading the request")
        grammar = budget.run(asked.read)
        n_bytes = _BYTES_A_CHARACTER * len(asked.text)
        with self._lock:
            if asked.key not in self._known and n_bytes <= self._max_known:
                self._known[asked.key] = grammar, n_bytes
                self._n_known += n_bytes
            while len(self._known) > _MAX_KNOWN or self._n_known > self._max_known:
                _, (_, n_bytes) = self._known.popitem(last=False)
                self._n_known -= n_bytes
        return grammar

    def _known_grammar(self, asked: _Asked) -> Grammar | None:
        """Return the grammar that was asked for before."""
        with self._lock:
            grammar, _ = self._known.get(asked.key, (None, 0))
            if grammar is not None:
                self._known.move_to_end(asked.key)
            return grammar

    def _accepted(self, kind: str, text: str) -> _Asked:
        """Return what a request asks for, unless it is one that was refused lately."""
        asked = self._asked(kind, text)
        verdict = None if asked.is_trusted else self._verdicts.of(key_of(kind, text))
        if isinstance(verdict, CfgGuideError):
            raise verdict
        return asked

    def _asked(self, kind: str, text: str) -> _Asked:
        """Return what a request asks for; nothing is read but the name of a grammar.

        A grammar that has a name is known by its text as well: the operator's file may change.
        """
        if not isinstance(kind, str) or not isinstance(text, str):
            raise GrammarError(
                "a request has a kind and a text, not "
                f"{type(kind).__name__} and {type(text).__name__}"
            )
        if not _is_named(kind, text):
            read = partial(self._read_text, kind, text)
            return _Asked((kind, text), text, _Source.STRANGER, read)
        asked = text.removeprefix(PREFIX).strip()
        if asked.startswith("{"):
            options = _json(asked, dict, "what follows cfgguide: is a JSON object")
            name = options.get("schema")
            if isinstance(name, str) and name in self._grammars:
                asked = name
            else:
                read = partial(sql_grammar, options, self._names(), is_tidy=self._is_tidy)
                return _Asked((kind, text), text, _Source.STRANGER, read, is_finishing=True)
        if asked in self._grammars:
            read = partial(self._registered, asked)
            return _Asked((asked, text), text, _Source.OPERATOR, read, is_finishing=True)
        named, tables, source = self._by_name(asked)
        name = asked.partition(" ")[0]

        def read_named() -> Grammar:
            return named if tables is None else with_schema(named, tables)

        is_finishing = name in _NAMED_FINISHING
        return _Asked((named, text), text, source, read_named, is_finishing=is_finishing)

    def _registered(self, name: str) -> Grammar:
        grammar = output_type(self._grammars[name]).grammar
        return grammar.tidied() if self._is_tidy else grammar

    def _names(self) -> list[str]:
        """Return the names that requests may give."""
        files = () if self.folder is None else self.folder.glob("*.lark")
        own = {*self._grammars, *(each.stem for each in files)}
        return sorted(own.union(Grammar.bundled_names()))

    def _read_text(self, kind: str, text: str) -> Grammar:
        if kind == "json":
            return self._schema(text)
        if kind == "json_object":
            return read_schema({"type": "object"}, tidy=self._is_tidy, limits=self._limits)[0]
        if kind == "regex":
            said = _FLAGS.match(text)
            is_said = said is not None and not {*"au"}.isdisjoint(said[0])
            return regex(text, 0 if is_said else re.ASCII, tidy=self._is_tidy)
        if kind == "choice":
            return choice(_json(text, list, "a choice is a JSON array of texts"))
        if kind == "structural_tag":
            return structural_tag(text, tidy=self._is_tidy, limits=self._limits)
        if kind != "grammar":
            raise GrammarError(f"no request is of kind {shown(kind)}; there is {', '.join(KINDS)}")
        if found := DIALECT.match(text):
            text = text[found.end() :]
            return Grammar.llguidance(text, tidy=self._is_tidy, limits=self._limits)
        text = text.removeprefix(PREFIX)
        if _EBNF.search(text):
            return Grammar.ebnf(text, limits=self._limits)
        return Grammar(text, parser="auto")

    def _schema(self, text: str) -> Grammar:
        """Return the grammar of a schema, which may say how its values are written."""
        options: dict[str, Any] = {"tidy": self._is_tidy, "closed": self._is_tidy}
        options["limits"] = self._limits
        if KEYWORD not in text:
            return _told(text, *read_schema(text, **options))
        schema = _json(text, dict, "a schema that has the keyword x-cfgguide is a JSON object")
        chosen = schema.pop(KEYWORD, {})
        if isinstance(chosen, dict):
            refuse_description(chosen)
        if not isinstance(chosen, dict) or not chosen.keys() <= {*CHOICES}:
            raise GrammarError(f"{KEYWORD} is an object that may have {', '.join(CHOICES)}")
        if isinstance(chosen.get("separators"), list):
            chosen["separators"] = tuple(chosen["separators"])
        return _told(text, *read_schema(schema, **options | chosen))

    def _by_name(self, text: str) -> tuple[Grammar, Any, _Source]:
        """Return a grammar that has a name, the tables with whose names it is to be, and whose."""
        found = _NAME.fullmatch(text)
        if found is None:
            raise GrammarError(
                f"{PREFIX} is followed by a name and perhaps a JSON object, not {shown(text)}"
            )
        name = found[1]
        if name in self._grammars:
            raise GrammarError(f"{name!r} takes no options: ask for {PREFIX}{name}")
        path = None if self.folder is None else self.folder / f"{name}.lark"
        is_own = path is not None and path.is_file()
        if not is_own and name not in Grammar.bundled_names():
            names = self._names()
            said = f"no grammar is called {name!r}; there is {', '.join(names)}"
            raise GrammarError(not_known(said, name, names))
        options = _json(found[2] or "{}", dict, "the options of a grammar are a JSON object")
        refuse_description(options)
        source = _Source.OPERATOR
        if options:
            source = _Source.OPTIONS if is_own else _Source.STRANGER
        tables = options.pop("tables", None)
        if not isinstance(tables, dict | str | None):
            raise GrammarError(
                'the tables of a schema are an object such as {"users": ["id", "name"]}, or a text '
                f"of CREATE TABLE statements, not {shown(tables)}"
            )
        # Only bundled grammars have a tidy form.
        known = _OPTIONS if is_own else (*_OPTIONS, "tidy")
        for option, value in options.items():
            if option not in known:
                said = (
                    f"no grammar has an option {shown(option)}; there is {', '.join(known)}, tables"
                )
                raise GrammarError(not_known(said, option[:_SHOWN], (*known, "tables")))
            if not isinstance(value, _TYPES[option]):
                raise GrammarError(
                    f"the option {option} is {_TYPES_SAID[_TYPES[option]]}, not {shown(value)}"
                )
        is_chosen = "start" in options
        if is_own and path is not None:
            grammar = Grammar.open(path, start=options.pop("start", "start"))
            grammar = replace(grammar, **options)
        else:
            # By that name a model is to write what `output_type` takes it for: an object or an
            # array.
            if name == "json" and self._is_tidy and source is _Source.OPERATOR:
                return output_type(name).grammar, None, source
            if options.setdefault("tidy", self._is_tidy):
                options.setdefault("start", STARTS.get(name, "start"))
            grammar = Grammar.bundled(name, **options)
        if is_chosen and grammar.start not in (rules := _rules(grammar.text)):
            listed = ", ".join(rules[:_MAX_RULES]) + ", ..." * (len(rules) > _MAX_RULES)
            said = f"{name!r} has no rule {shown(grammar.start)} to start from, but {listed}"
            raise GrammarError(not_known(said, grammar.start[:_SHOWN], rules))
        return grammar, tables, source


def compact(kind: str, text: str, *, is_compact: bool, is_closed: bool) -> tuple[str, str]:
    """Return a request for JSON as vLLM's options have it: no white space, no other members.

    Examples
    --------
    >>> compact("json_object", "", is_compact=True, is_closed=False)
    ('json', '{"type": "object", "x-cfgguide": {"separators": [",", ":"]}}')
    """
    if kind not in ("json", "json_object") or not (is_compact or is_closed):
        return kind, text
    try:
        schema = {"type": "object"} if kind == "json_object" else json.loads(text)
    except (ValueError, RecursionError):
        return kind, text  # which is refused with a message
    if not isinstance(schema, dict):
        schema = {"allOf": [schema]}
    chosen: dict[str, Any] = {"separators": [",", ":"]} if is_compact else {}
    chosen |= {"closed": True} if is_closed else {}
    said = schema.get(KEYWORD)
    chosen |= said if isinstance(said, dict) else {}
    return "json", json.dumps({**schema, KEYWORD: chosen})


def unmarked(kind: str, text: str) -> tuple[str, str]:
    r"""Return a request as the kind that it is, if it is written as a grammar.

    Examples
    --------
    >>> unmarked("grammar", "cfgguide:regex\n[0-9]+"), unmarked("grammar", "cfgguide:json")
    (('regex', '[0-9]+'), ('grammar', 'cfgguide:json'))
    """
    found = _MARKED.match(text) if kind == "grammar" and isinstance(text, str) else None
    if found is None:
        return kind, text
    return found[1].removesuffix("_schema"), text[found.end() :]


def name_in(text: str) -> str | None:
    """Return the name that a request for a grammar gives; None if it gives a text."""
    if not _is_named("grammar", text):
        return None
    found = _NAME.fullmatch(text.removeprefix(PREFIX))
    return None if found is None else found[1]


def _is_named(kind: str, text: str) -> bool:
    """Return whether a request names a grammar instead of giving one."""
    if kind != "grammar" or DIALECT.match(text):
        return False
    return text.startswith(PREFIX) and text[len(PREFIX) :][:1] not in "\r\n"


def _rules(text: str) -> list[str]:
    """Return the rules that a grammar of Lark's defines, and what it imports, unread."""
    found: dict[str, None] = {}
    for rule, imported in _DEFINED.findall(text):
        found |= dict.fromkeys([rule] if rule else re.findall(r"[a-z_]\w*", imported))
    return list(found)


def _json(text: str, wanted: type, expected: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, wanted):
        raise GrammarError(f"{expected}, not {shown(text)}")
    return value


def _shown(kind: object, text: object) -> str:
    """Return a request as the log shows it, on one line."""
    said = str(text)
    return f"{kind!s:.20} {said[:_SHOWN]!r}{'...' if len(said) > _SHOWN else ''}"


def _digest(kind: object, text: object) -> str:
    """Return what a request is known by in the log, where its text is cut."""
    return key_of(str(kind), str(text)).hex()[:12]


def _told(text: str, grammar: Grammar, warnings: Iterable[str]) -> Grammar:
    """Return a grammar, and log what is not as its schema may have meant it."""
    for each in warnings:
        _LOG.warning("of %s: %s", _shown("json", text), each)
    return grammar
