"""A model behind a server that speaks OpenAI's protocol, used as :func:`cfgguide.generate` is.

In: a prompt and what to write in. Out: the same :class:`Generation`, or the parts of a
:class:`Stream` with the value so far. What a request asks for depends on the server:

* with the plug-in (docs/serving.md), anything: the request has a grammar that is marked as ours, so
  it does not matter whether the server gives us its other requests too;
* without it types, JSON Schemas and lists of texts, as a ``response_format``. Servers differ in
  how they write JSON, and in what of a schema they keep.

A server is not believed: every text is read here too, as it comes, and one that is not of the
grammar is an error. The package `openai` sends the requests, and its errors are left as they are.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload
from urllib.parse import urlsplit

from cfgguide.automata.pattern_notations import without_head
from cfgguide.compiler import compile_machine
from cfgguide.description import Style
from cfgguide.description import describe as description_of
from cfgguide.diagnostics.diagnosis import diagnose
from cfgguide.engine.machine.partial import Partial, TextReading
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GenerationError, shown
from cfgguide.grammar.grammar import Grammar
from cfgguide.guide.budget import check_max_new_tokens
from cfgguide.models.prompts import with_description
from cfgguide.models.serving.backend import CHOICES, KEYWORD, PREFIX, Backend, name_in
from cfgguide.models.transformers.asynchronous import awaited, yielded
from cfgguide.models.transformers.generation import check_n, check_options, prompts_of, stops_of
from cfgguide.models.transformers.streaming import Generation, Part, Pieces, Stream
from cfgguide.output_types import OutputType, output_type
from cfgguide.schema.json_reading import JsonReading
from cfgguide.schema.json_schema import json_schema
from cfgguide.schema.keywords import OWN_KEYWORDS
from cfgguide.schema.messages.message_grammar import MessageGrammar
from cfgguide.schema.schema_grammar import SchemaGrammar

if TYPE_CHECKING:
    from cfgguide.models.transformers.generation import Prompt, T, Texts, Typed

_N_KEPT = 16  # machines of a client
_N_THREADS = 32  # for a batch
_FLAGS = {
    re.ASCII: "a",
    re.IGNORECASE: "i",
    re.MULTILINE: "m",
    re.DOTALL: "s",
    re.VERBOSE: "x",
    re.UNICODE: "u",
}
#: Options of a grammar that no request can say.
_UNSENT = (
    *("source_path", "import_paths", "strict", "regex_flags", "postlex"),
    *("max_ignored", "keywords", "restrict", "special"),
)
_LOOKS = re.compile(r"\(\?<?[=!]")
_IS_START = re.compile(r"^[?!]*start\b[^\n]*?:", re.MULTILINE)
_NO_NAME = "?"  # of no grammar: what the plug-in says of it tells that it is there


class ClientOptions(TypedDict, total=False):
    """The options of :meth:`Client.generate`, which says what they mean."""

    max_new_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: str | Sequence[str]
    describe: bool | Style
    request: Mapping[str, Any]


def client(
    base_url: str,
    model: str,
    *,
    api_key: str | None = None,
    plugin: bool | None = None,
    **options: Any,
) -> Client:
    """Return a model behind a server that speaks OpenAI's protocol.

    Parameters
    ----------
    base_url : str
        Where the server is; ``/v1`` follows where no path does.
    model : str
        The name by which the server knows the model.
    api_key : str, optional
        By default what the variable `OPENAI_API_KEY` of the environment says, if there is one.
    plugin : bool, optional
        Whether the server is vLLM with the plug-in. By default it is asked, once, by a request that
        the plug-in refuses.
    options : object
        Of ``openai.OpenAI``, such as `timeout` and `max_retries`.

    Raises
    ------
    GenerationError
        If the package `openai` is not installed.
    """
    return Client(base_url, model, api_key=api_key, plugin=plugin, **options)


class Client:
    """A model behind a server; see :func:`client`."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        plugin: bool | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(base_url, str) or urlsplit(base_url).scheme not in ("http", "https"):
            raise GenerationError(
                f"a server has an address such as http://localhost:8000/v1, not {shown(base_url)}"
            )
        if urlsplit(base_url).path in ("", "/"):
            base_url = f"{base_url.rstrip('/')}/v1"
        key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
        self._openai = _openai()
        self._options = {"base_url": base_url, "api_key": key, **options}
        self._sync = self._openai.OpenAI(**self._options)
        self._base_url = base_url
        self._model = model
        self._plugin = plugin
        self._machine = functools.lru_cache(maxsize=_N_KEPT)(compile_machine)

    def __repr__(self) -> str:
        return f"Client({self._base_url!r}, {self._model!r})"

    @functools.cached_property
    def _async(self) -> Any:
        return self._openai.AsyncOpenAI(**self._options)

    @property
    def has_plugin(self) -> bool:
        """Whether the server has the plug-in; it is asked the first time."""
        if self._plugin is None:
            asked = {"structured_outputs": {"grammar": f"{PREFIX}{_NO_NAME}"}}
            try:
                self._sync.completions.create(
                    model=self._model, prompt="a", max_tokens=1, extra_body=asked
                )
                self._plugin = False
            except (self._openai.AuthenticationError, self._openai.PermissionDeniedError):
                raise
            except self._openai.APIStatusError as error:
                if error.status_code >= 500:
                    raise
                self._plugin = "cfgguide: [grammar]" in str(error)
        return self._plugin

    # -- one text, several, or one part by part ---------------------------------------------

    # A str is a sequence of prompts, to a type checker: the first that fits is right.
    @overload
    def generate(  # type: ignore[overload-overlap]
        self, prompt: Prompt, what: Typed[T], **options: Unpack[ClientOptions]
    ) -> Generation[T]: ...

    @overload
    def generate(  # type: ignore[overload-overlap]
        self, prompt: Prompt, what: Texts, **options: Unpack[ClientOptions]
    ) -> Generation[str]: ...

    @overload
    def generate(  # type: ignore[overload-overlap]
        self, prompt: Prompt, what: object, **options: Unpack[ClientOptions]
    ) -> Generation[Any]: ...

    @overload
    def generate(
        self, prompt: Prompt, what: Typed[T], *, n: int, **options: Unpack[ClientOptions]
    ) -> list[Generation[T]]: ...

    @overload
    def generate(
        self, prompt: Prompt, what: object, *, n: int, **options: Unpack[ClientOptions]
    ) -> list[Generation[Any]]: ...

    @overload
    def generate(
        self, prompt: Sequence[Prompt], what: Typed[T], **options: Unpack[ClientOptions]
    ) -> list[Generation[T]]: ...

    @overload
    def generate(
        self, prompt: Sequence[Prompt], what: object, **options: Unpack[ClientOptions]
    ) -> list[Generation[Any]]: ...

    def generate(
        self,
        prompt: Prompt | Sequence[Prompt],
        what: object,
        *,
        n: int | None = None,
        **options: Unpack[ClientOptions],
    ) -> Generation[Any] | list[Generation[Any]]:
        """Return what the model writes after a prompt, within a grammar.

        Parameters
        ----------
        prompt : str or sequence of messages, or a list of those
            A text to continue, or a chat; as for :func:`cfgguide.generate`. Some servers have chats
            only. The requests of a list are sent together.
        what : type, mapping, Grammar, ...
            Anything that :func:`cfgguide.output_types.output_type` takes; or, as a text, what the
            plug-in takes after ``cfgguide:``, such as a name that the operator gave, or
            ``'cfgguide:sql_select {"tables": {"users": ["id", "name"]}}'``. A server without the
            plug-in takes types, JSON Schemas and lists of texts.
        n : int, optional
            How many texts to write of one prompt; they are a list. They differ by chance, so there
            has to be a `temperature`.
        max_new_tokens : int
            Maximum number of tokens of each text; 256 by default. With the plug-in, JSON, calls of
            tools and SQL end within them if they can; other servers cut the text.
        temperature, top_p, seed, stop
            As OpenAI's protocol has them; by default the most probable tokens are taken. A text
            that ended at a `stop` is complete if it is a sentence so far.
        describe : bool or {"typescript", "json_schema", "example"}
            Whether the prompt says what is to be written (:func:`cfgguide.describe`): at the end of
            a chat's system text, which it becomes if there is none; before a plain prompt. What
            looks like the name of a special token in it is broken by a space.
        request : mapping, optional
            What else the request says, such as ``{"logit_bias": {"44": 5}, "top_k": 20}``.

        Returns
        -------
        Generation or list of Generation
            The text, its value, and whether it is complete. Its tokens are not known; `usage` is
            what the server has counted of the request, of a stream if it was asked to, and
            `thinking` what its own reasoning parser took off.

        Raises
        ------
        GrammarError, SchemaError
            If `what` does not say what to write, or not what can be guaranteed.
        GenerationError
            If the server cannot be asked for that, refuses it, or answers with a text that is not
            of the grammar.
        openai.OpenAIError
            If there is no server, or it has another error.
        """
        wanted, requests, shape = self._prepared(prompt, what, n, options)

        def written(request: _Request) -> list[Generation[Any]]:
            with self._told():
                return self._results(request, wanted, request.send(self._sync))

        with ThreadPoolExecutor(min(len(requests), _N_THREADS) or 1) as threads:
            apply = map if len(requests) == 1 else threads.map
            found: Generation[Any] | list[Generation[Any]] = shape([*apply(written, requests)])
            return found

    @overload
    def stream(
        self, prompt: Prompt, what: Typed[T], **options: Unpack[ClientOptions]
    ) -> Stream[T]: ...

    @overload
    def stream(
        self, prompt: Prompt, what: Texts, **options: Unpack[ClientOptions]
    ) -> Stream[str]: ...

    @overload
    def stream(
        self, prompt: Prompt, what: object, **options: Unpack[ClientOptions]
    ) -> Stream[Any]: ...

    def stream(self, prompt: Prompt, what: object, **options: Unpack[ClientOptions]) -> Stream[Any]:
        """Return what the model writes after one prompt, part by part as it comes.

        Parameters and errors are those of :meth:`generate`; the request is sent when the first part
        is asked for, and a loop that is left ends it.
        """
        wanted, request = self._begun(prompt, what, options)
        text = _Answer(wanted)
        return Stream(self._parts(request, text), lambda: text.result)

    def _parts(self, request: _Request, text: _Answer) -> Iterator[Part[Any]]:
        with self._told(), request.send(self._sync, stream=True) as chunks:
            for chunk in chunks:
                text.usage = chunk.usage or text.usage
                yield from text.add(*request.piece(chunk))
        yield from text.end()

    if TYPE_CHECKING:
        agenerate = awaited(generate)
        astream = yielded(stream)
    else:

        async def agenerate(
            self, prompt: Any, what: object, *, n: int | None = None, **options: Any
        ) -> Any:
            """Return what the model writes after a prompt, while other tasks run.

            Parameters and errors are those of :meth:`generate`.
            """
            wanted, requests, shape = await asyncio.to_thread(
                self._prepared, prompt, what, n, options
            )
            with self._told():
                answers = await asyncio.gather(*(each.send(self._async) for each in requests))
            asked = zip(requests, answers, strict=True)
            return shape([self._results(request, wanted, answer) for request, answer in asked])

        async def astream(
            self, prompt: Any, what: object, **options: Any
        ) -> AsyncIterator[Part[Any]]:
            """Yield what the model writes after one prompt, part by part, while other tasks run.

            Parameters and errors are those of :meth:`generate`.
            """
            wanted, request = await asyncio.to_thread(self._begun, prompt, what, options)
            text = _Answer(wanted)
            with self._told():
                async with await request.send(self._async, stream=True) as chunks:
                    async for chunk in chunks:
                        text.usage = chunk.usage or text.usage
                        for part in text.add(*request.piece(chunk)):
                            yield part
            for part in text.end():
                yield part

    # -- what is asked for ------------------------------------------------------------------

    def _prepared(
        self, prompt: Any, what: object, n: int | None, options: Mapping[str, Any]
    ) -> tuple[_Wanted, list[_Request], Callable[[list[list[Generation[Any]]]], Any]]:
        """Return what to ask for, the requests, and what is returned of their answers."""
        prompts, is_batch = prompts_of(prompt)
        hint = "; what else a request says goes into request={...}"
        check_options(options, ClientOptions.__annotations__, hint)
        check_n(n, is_batch=is_batch)
        wanted = self._wanted(what)
        asked = dict(options)
        if describe := asked.pop("describe", False):
            told = _told_of(what, wanted, "typescript" if describe is True else describe)
            prompts = [with_description(each, told, None) for each in prompts]
        requests = [self._request(each, wanted, n=n, **asked) for each in prompts]

        def shape(found: list[list[Generation[Any]]]) -> Any:
            if n is not None:
                return found[0]
            return [each[0] for each in found] if is_batch else found[0][0]

        return wanted, requests, shape

    def _begun(
        self, prompt: Any, what: object, options: Mapping[str, Any]
    ) -> tuple[_Wanted, _Request]:
        if prompts_of(prompt)[1]:
            raise GenerationError(
                "a stream is of one prompt: call it for each, or generate for all"
            )
        wanted, (request,), _ = self._prepared(prompt, what, None, options)
        return wanted, request

    def _wanted(self, what: object) -> _Wanted:
        """Return what to ask the server for, and how to read its answer."""
        if isinstance(what, str) and what.startswith(PREFIX):
            self._need_plugin("a grammar")
            return self._by_request(what)
        known = output_type(what)
        if self.has_plugin:
            written = _marked(what, known.grammar)
            asked: dict[str, Any] = {"structured_outputs": {"grammar": written}}
            if isinstance(known.grammar, MessageGrammar):
                asked["skip_special_tokens"] = False
            return _Wanted(known, self._machine(known.grammar), asked)
        grammar = known.grammar
        if isinstance(what, list | tuple):
            machine = self._machine(grammar)
            return _Wanted(known, machine, _response_format({"enum": [*what]}, ""), is_quoted=True)
        if not isinstance(grammar, SchemaGrammar) or isinstance(grammar, MessageGrammar):
            self._need_plugin(_kind_of(what))
        assert isinstance(grammar, SchemaGrammar), "others need the plug-in"
        schema = _for_others(json.loads(grammar.schema))
        name = getattr(what, "__name__", "")
        if not isinstance(what, Grammar):  # other servers have white space and an order of theirs
            options = grammar.options
            grammar = json_schema(
                json.loads(grammar.schema),
                formats=options.formats,
                best_effort=options.best_effort,
            )
        return _Wanted(known, self._machine(grammar), _response_format(schema, name))

    def _by_request(self, what: str) -> _Wanted:
        """Return what the plug-in's own words ask for."""
        asked = {"structured_outputs": {"grammar": what}}
        name = name_in(what)
        if name is not None and name not in Grammar.bundled_names():
            # The operator's: only the server has it.
            return _Wanted(OutputType(Grammar("start: /./"), str, TextReading), None, asked)
        known = output_type(Backend(Vocabulary.of_bytes()).grammar("grammar", what))
        return _Wanted(known, self._machine(known.grammar), asked)

    def _need_plugin(self, kind: str) -> None:
        if not self.has_plugin:
            raise GenerationError(
                f"{kind} needs the plug-in in the server, and {self._base_url} has none: install "
                "cfgguide beside its vLLM. Without it, a server takes types, JSON Schemas and "
                "lists of texts"
            )

    def _request(
        self,
        prompt: Any,
        wanted: _Wanted,
        *,
        n: int | None,
        max_new_tokens: int = 256,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        request: Mapping[str, Any] | None = None,
    ) -> _Request:
        check_max_new_tokens(max_new_tokens)
        if n is not None and n > 1 and temperature == 0:
            raise GenerationError(
                f"n is {n}, and all texts would be alike: give a temperature, such as 1.0"
            )
        stops = stops_of(stop)
        said: dict[str, Any] = {"model": self._model, "max_tokens": max_new_tokens}
        said["temperature"] = temperature
        more = {**wanted.asked, **(request or {})}
        for name, value, default in (
            ("top_p", top_p, 1.0),
            ("seed", seed, None),
            ("stop", [*stops], []),
            ("n", n, None),
        ):
            if value != default:
                said[name] = value
        is_chat = not isinstance(prompt, str)
        said["messages" if is_chat else "prompt"] = [*map(dict, prompt)] if is_chat else prompt
        if is_chat and self.has_plugin and prompt and prompt[-1].get("role") == "assistant":
            more = {"add_generation_prompt": False, "continue_final_message": True, **more}
        return _Request(is_chat, bool(stops), {**said, "extra_body": more})

    def _results(self, request: _Request, wanted: _Wanted, answer: Any) -> list[Generation[Any]]:
        found = []
        for choice in sorted(answer.choices, key=lambda choice: choice.index):
            text = _Answer(wanted)
            for _ in text.add(*request.read(choice)):
                pass
            for _ in text.end():
                pass
            text.usage = answer.usage
            found.append(text.result)
        return found

    def _told(self) -> _Told:
        return _Told(self._openai.BadRequestError)


class _Told:
    """Around a request: what the plug-in says of it is an error of ours."""

    def __init__(self, refused: type[Exception]) -> None:
        self._refused = refused

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        """Raise an error of ours instead of a refusal of the plug-in's."""
        if isinstance(error, self._refused) and "cfgguide: " in str(error):
            raise GenerationError(f"the server refuses the request: {error}") from error


@dataclass(frozen=True)
class _Wanted:
    """What is to be written.

    Attributes
    ----------
    known : OutputType
        What it is here.
    machine : machine, or None
        Reads what the server may write; None where only the server knows.
    asked : mapping
        What a request says of it.
    is_quoted : bool
        Whether the server writes the text as a string of JSON.
    """

    known: OutputType
    machine: Any
    asked: Mapping[str, Any]
    is_quoted: bool = False


@dataclass(frozen=True)
class _Request:
    """A request: whether it is a chat, whether it has stops, and what it says."""

    is_chat: bool
    has_stops: bool
    said: Mapping[str, Any]

    def send(self, client: Any, **more: Any) -> Any:
        """Send it; of an async client what is returned can be awaited."""
        where = client.chat.completions if self.is_chat else client.completions
        return where.create(**self.said, **more)

    def read(self, choice: Any) -> tuple[str, str, str | None, bool]:
        """Return text, thinking, why it ended and whether it may end at a stop."""
        said = getattr(choice, "message", None) or getattr(choice, "delta", None)
        refusal = getattr(said, "refusal", None)
        if refusal:
            raise GenerationError(f"the model refuses: {shown(refusal)}")
        text = said.content if self.is_chat and said else getattr(choice, "text", "")
        thought = getattr(said, "reasoning", None) or getattr(said, "reasoning_content", None)
        return text or "", thought or "", choice.finish_reason, self.has_stops

    def piece(self, chunk: Any) -> tuple[str, str, str | None, bool]:
        """Return what a chunk of a stream has of it."""
        if not chunk.choices:
            return "", "", None, self.has_stops
        return self.read(chunk.choices[0])


class _Answer:
    """A text as it comes from a server."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted = wanted
        self._machine = wanted.machine
        self._configuration = None if wanted.machine is None else wanted.machine.initial
        self._pieces = Pieces(wanted.known.reading, wanted.machine)
        self._quoted = JsonReading() if wanted.is_quoted else None
        self._text = ""
        self._held = ""  # what may be half a character
        self._thinking = ""
        self._reason: str | None = None
        self._has_stops = False
        self._is_complete = False
        self.usage: Any = None

    @property
    def result(self) -> Generation[Any]:
        """What was written."""
        known = self._wanted.known
        return Generation(
            self._text,
            (),
            self._is_complete,
            thinking=self._thinking or known.thinking_of(self._text),
            usage=self.usage,
            _parse=known.parse,
        )

    def add(
        self, piece: str, thinking: str, reason: str | None, has_stops: bool
    ) -> Iterator[Part[Any]]:
        """Add a piece; yield it as a part."""
        self._thinking += thinking
        self._reason = reason or self._reason
        self._has_stops = has_stops
        piece = self._held + piece
        whole = piece.rstrip("\ufffd")
        self._held = piece[len(whole) :]
        if whole:
            yield from self._added(whole)

    def _added(self, piece: str) -> Iterator[Part[Any]]:
        if self._quoted is not None:
            piece = self._unquoted(self._quoted, piece)
        if self._machine is not None and piece:
            data = piece.encode("utf-8", "surrogatepass")
            after = self._machine.read(self._configuration, data)
            if after is None:
                raise self._wrong(self._text + piece)
            self._configuration = after
        self._text += piece
        self._pieces.add(piece)
        if piece:
            yield Part(piece, self._pieces.partial(self._configuration))

    def _unquoted(self, reading: JsonReading, piece: str) -> str:
        """Return what a piece of a JSON string adds to the text."""
        try:
            reading.feed(piece)
            so_far = reading.so_far()
        except (ValueError, IndexError, AssertionError):
            so_far = None
        if reading.containers or (reading.growing is None and not isinstance(so_far, str)):
            raise self._wrong(self._text + piece)
        return so_far[len(self._text) :] if isinstance(so_far, str) else ""

    def end(self) -> Iterator[Part[Any]]:
        """Yield the last part, with the whole value, if the text is complete."""
        if self._held and self._reason == "stop":
            held, self._held = self._held, ""
            yield from self._added(held)
        machine = self._machine
        is_cut = self._reason != "stop"
        if machine is None:
            self._is_complete = not is_cut
        else:
            is_quoted_whole = self._quoted is None or self._quoted.growing is None
            is_sentence = is_quoted_whole and machine.is_sentence(self._configuration)
            self._is_complete = is_sentence and not is_cut
            is_wrong = not is_sentence and not is_cut and not self._has_stops
            if is_wrong or not machine.is_live(self._configuration):
                raise self._wrong(self._text)
        if self._is_complete:
            result = self.result
            yield Part("", lambda: Partial(result.parsed, None, thinking=result.thinking))

    def _wrong(self, text: str) -> GenerationError:
        """Return the error of a text that is not of the grammar."""
        where = ""
        if self._machine is not None and self._quoted is None:
            where = f", {diagnose(self._machine, text.encode('utf-8', 'surrogatepass'))}"
        return GenerationError(
            f"the server wrote what was not asked for{where}; it wrote {shown(text)}"
        )


def _openai() -> Any:
    try:
        import openai
    except ImportError:
        raise GenerationError(
            "the client sends its requests by openai: pip install openai"
        ) from None
    return openai


def _told_of(what: object, wanted: _Wanted, style: Style) -> str:
    """Return what a model is told of what it is to write."""
    if wanted.machine is None:
        raise GenerationError(
            f"only the server knows what {shown(what)} is, so the client cannot describe it: put "
            "it into the prompt in words of your own"
        )
    is_request = isinstance(what, str) and what.startswith(PREFIX)
    return description_of(wanted.known.grammar if is_request else what, style).instruction


def _kind_of(what: object) -> str:
    """Return what something is called that needs the plug-in."""
    if isinstance(what, re.Pattern):
        return "a pattern"
    return "a grammar of messages" if isinstance(what, MessageGrammar) else "a grammar"


def _marked(what: object, grammar: Grammar) -> str:
    """Return how a request to the plug-in asks for a grammar."""
    if isinstance(what, list | tuple):
        return f"{PREFIX}choice\n{json.dumps([*what])}"
    if isinstance(what, re.Pattern):
        flags = "".join(letter for flag, letter in _FLAGS.items() if what.flags & flag)
        return f"{PREFIX}regex\n(?{flags}){what.pattern}"
    if isinstance(grammar, SchemaGrammar) and grammar.options.registry != "{}":
        raise GenerationError("a request has no registry: put the other documents under $defs")
    if isinstance(grammar, MessageGrammar):
        return f"{PREFIX}structural_tag\n{grammar.schema}"
    if isinstance(grammar, SchemaGrammar):
        schema = json.loads(grammar.schema)
        schema = schema if isinstance(schema, dict) else {"allOf": [schema]}
        said = {name: getattr(grammar.options, name) for name in CHOICES}
        said = {name: value for name, value in said.items() if value is not None}
        if not isinstance(what, Grammar):  # the server closes what says nothing of other members
            del said["closed"]
        return f"{PREFIX}json_schema\n{json.dumps({**schema, KEYWORD: said})}"
    if grammar.source_path is not None and (name := _bundled_name(grammar)):
        return name
    return f"{PREFIX}\n{_text_of(grammar)}"


def _bundled_name(grammar: Grammar) -> str | None:
    """Return the name and the options of a bundled grammar; None of another one."""
    name = os.path.splitext(os.path.basename(str(grammar.source_path)))[0]
    if name not in Grammar.bundled_names():
        return None
    given: dict[str, Any] = {"start": grammar.start, "max_ignored": grammar.max_ignored}
    for is_tidy in (True, False):
        if Grammar.bundled(name, tidy=is_tidy, **given) == grammar:
            given = {name: value for name, value in given.items() if value is not None}
            return f"{PREFIX}{name} {json.dumps({**given, 'tidy': is_tidy})}"
    return None


def _text_of(grammar: Grammar) -> str:
    """Return the text of a grammar, if that is all there is to say of it."""
    if not grammar.has_tables or type(grammar).own_machine is not Grammar.own_machine:
        raise GenerationError(
            f"{shown(grammar)} has no text in Lark's language, so a request cannot ask for it"
        )
    grammar = grammar.tidied()
    plain = Grammar('start: "a"')
    for name in _UNSENT:
        if getattr(grammar, name, getattr(plain, name)) != getattr(plain, name):
            hint = "" if name != "source_path" else "; of a file, give Grammar(text)"
            raise GenerationError(
                f"a request to a server has the text of a grammar, not its {name}{hint}"
            )
    text = grammar.text
    if grammar.start == "start":
        return text
    if _IS_START.search(text):
        raise GenerationError(
            f"a request begins with the rule `start`, and the grammar with {grammar.start!r}, "
            "beside a rule `start`: call one of them differently"
        )
    return f"{text}\nstart: {grammar.start}\n"


def _for_others(schema: Any) -> Any:
    """Return a schema that any server reads: without what is ours, and without look-arounds.

    What is left out is checked here, when the text comes.
    """
    if isinstance(schema, list):
        return [_for_others(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name in OWN_KEYWORDS:
            continue
        if name == "pattern" and isinstance(value, str):
            if _LOOKS.search(value) is None:
                kept[name] = without_head(value)
        else:
            kept[name] = _for_others(value)
    return kept


def _response_format(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return how a server without the plug-in is asked for JSON."""
    made = {"name": re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "answer", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": {**made, "strict": True}}}
