"""What the page can ask for, by name.

In: the name of an action and a body of JSON. Out: a value for JSON. A mistake of the user is an
answer with an `error`; the server makes another one of it only if the request itself is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cfgguide.automata.shared_prefixes import n_shared_letters
from cfgguide.base.locks import new_lock
from cfgguide.engine.index.memo import Step
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError, ModelError, TextError
from cfgguide.grammar.grammar import PARSERS, Grammar
from cfgguide.index_pool import IndexPool
from cfgguide.studio.playground import grammars, places, trees
from cfgguide.studio.playground.allowed import ORDERS, Asked
from cfgguide.studio.playground.model import Chances, Writer
from cfgguide.studio.playground.reading import MAX_TEXT, Compiled, Reading
from cfgguide.studio.playground.tabs import SupersededError, Tab, Tabs
from cfgguide.studio.playground.tokenizers import Loaded, TokenizerChoice, choices

Body = dict[str, Any]
HasLeft = Callable[[], bool]

_POOL_BYTES = 400_000_000  # of the masks of one tokenizer's own grammars, and of its bundled ones
_MASK_SECONDS = 0.03  # that an answer waits for masks
_MORE_SECONDS = 0.4  # that an answer waits for the rest of them
_MAX_ID = 64  # characters of a tab's id
_MODEL = "model"


class Actions:
    """All that the page can ask for.

    Parameters
    ----------
    tokenizers : sequence of str
        Paths of folders, or of files tokenizer.json, or "smollm2".
    model : str, optional
        Path of a model's folder, or "smollm2".

    Examples
    --------
    >>> actions = Actions()
    >>> asked = {"tab": "1", "text": 'start: "a"+', "tokenizer": "bytes"}
    >>> actions.answer("compile", asked, lambda: False)["n_tokens"]
    257
    >>> actions.answer("read", {"tab": "1", "text": "aa"}, lambda: False)["is_sentence"]
    True
    """

    def __init__(self, tokenizers: Sequence[str] = (), model: str | None = None) -> None:
        self.tabs = Tabs()
        self.choices = choices(tokenizers)
        self.writer: Writer | None = None
        self._pools: dict[tuple[str, bool], IndexPool] = {}
        self._lock = new_lock()
        if model is not None:
            self._load(model)
        self._actions: dict[str, Callable[[Tab, Body, HasLeft], Body]] = {
            "start": self._start,
            "compile": self._compile,
            "cancel": self._cancel,
            "read": self._read,
            "counts": self._counts,
            "go_on": self._go_on,
            "allowed": self._allowed,
            "place": self._place,
            "expected": self._expected,
            "explain": self._explain,
            "tree": self._tree,
            "report": self._report,
            "draw": self._draw,
            "write": self._write,
        }

    def has(self, name: str) -> bool:
        """Return whether there is an action of a name."""
        return name in self._actions or name == "close"

    def answer(self, name: str, body: Body, has_left: HasLeft) -> Body:
        """Return the answer to a call.

        Parameters
        ----------
        name : str
            The action.
        body : dict
            What it is given; `tab` is the id of the tab.
        has_left : callable
            Whether nobody waits for the answer any more.

        Raises
        ------
        KeyError
            If there is no such action.
        """
        tab_id = str(body.get("tab", ""))[:_MAX_ID]
        if name == "close":
            _keep_masks(self.tabs.close(tab_id))
            return {}
        action = self._actions[name]
        try:
            return action(self.tabs.get(tab_id), body, has_left)
        except SupersededError as error:
            return {"error": _said(error), "is_cancelled": True}
        except CfgGuideError as error:
            return {"error": _said(error)}

    def end(self) -> None:
        """End all work, and keep the masks of bundled grammars for the next session."""
        for tab in self.tabs.all():
            tab.cancel()
            _keep_masks(tab)

    def _load(self, path: str) -> None:
        from cfgguide.models.load import load_model

        model, tokenizer = load_model(None if path == "smollm2" else path)
        name = "SmolLM2" if path == "smollm2" else path.rstrip("/").rpartition("/")[2]
        eos_token_ids: Any = model.generation_config.eos_token_id  # None, a number or a list
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=eos_token_ids)
        loaded = Loaded(vocabulary, tokenizer)
        loaded.searched  # noqa: B018  # made now
        self.writer = Writer(model, tokenizer)
        choice = TokenizerChoice(_MODEL, f"{name} (the model's)", lambda: loaded)
        self.choices = {_MODEL: choice, **self.choices}

    def _start(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        names = grammars.bundled_names()
        return {
            "bundled": [{"name": name, "grammar": text} for text, name in names.items()],
            "examples": list(grammars.EXAMPLES),
            "tokenizers": [{"id": each.id, "name": each.name} for each in self.choices.values()],
            "parsers": list(PARSERS),
            "has_model": self.writer is not None,
            "max_text": MAX_TEXT,
            "max_grammar": grammars.MAX_GRAMMAR,
        }

    def _compile(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        began = time.perf_counter()
        with tab.turn("compile", has_left) as cancelled:
            grammar, is_bundled = grammars.grammar_of(body)
            choice = self.choices.get(str(body.get("tokenizer")))
            if choice is None:
                raise ModelError("there is no such tokenizer; name it where the playground starts")
            try:
                loaded = choice.get()
                loading = time.perf_counter() - began
                index = self._pool(choice, loaded, is_bundled).index(grammar, cancelled=cancelled)
            except CfgGuideError as error:
                return {"error": _said(error, grammar)}
            compiled = Compiled(grammar, index, loaded, choice.id, is_bundled)
            compiled.symbols  # noqa: B018  # made now
        with tab.lock:
            tab.reading = Reading(compiled)
            tab.sent = (tab.sent[0] + 1, [])
        recognizer = compiled.recognizer
        table, scanner = recognizer.parse_table, recognizer.scanner
        return {
            "seconds": time.perf_counter() - began - loading,
            "loading": loading,
            "parser": "earley" if table.is_general or scanner.asks_each else "lalr",
            "asked": grammar.parser,
            "is_bundled": is_bundled,
            "is_indented": recognizer.indentation_rules is not None,
            "terminals": [name for name in table.terminals if name != "$END"],
            "n_productions": len(table.productions),
            "n_states": table.n_states,
            "n_scanner_states": scanner.n_states,
            "n_tokens": index.vocabulary.size,
        }

    def _pool(self, choice: TokenizerChoice, loaded: Loaded, is_bundled: bool) -> IndexPool:
        """Return the pool of a tokenizer; only bundled grammars are read from the user's cache."""
        with self._lock:
            key = choice.id, is_bundled
            if key not in self._pools:
                self._pools[key] = IndexPool(
                    loaded.vocabulary,
                    max_bytes=_POOL_BYTES,
                    limits=grammars.LIMITS,
                    use_cache=is_bundled,
                )
            return self._pools[key]

    def _cancel(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        tab.cancel()
        return {}

    def _read(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            reading.change(str(body.get("text", "")))
            return self._picture(tab, reading, body)

    def _go_on(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            place, token_id = _number(body, "place"), _number(body, "token_id")
            _check_place(reading, place)
            reading.go_on(place, token_id)
            return self._picture(tab, reading, body) | {"text": reading.text}

    def _picture(self, tab: Tab, reading: Reading, body: Body) -> Body:
        """Return the tokens of a text, those left out that the page has from the last answer."""
        tokens: list[Any] = reading.tokens()
        for number, token in enumerate(tokens[: reading.n_read]):
            token["is_read"] = number < reading.n_read
        base, known = tab.sent
        n_kept = n_shared_letters(known, tokens) if body.get("base") == base else 0
        tab.sent = (base + 1, tokens)
        place = min(max(_number(body, "place", -1), 0), reading.n_read)
        first = [reading.nodes[place], reading.nodes[-1]]
        is_complete = tab.masks.make(
            reading.compiled.index, [*dict.fromkeys([*first, *reading.nodes])], _MASK_SECONDS
        )
        return {
            "base": base + 1,
            "n_kept": n_kept,
            "tokens": tokens[n_kept:],
            "n_read": reading.n_read,
            "n_text": len(tokens),
            "is_sentence": reading.is_sentence,
            "stopped": reading.error,
            "counts": reading.counts(),
            "is_complete": is_complete,
        }

    def _counts(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        reading = _reading_of(tab)
        end = time.monotonic() + _MORE_SECONDS
        while time.monotonic() < end and None in reading.counts() and tab.sent[0] == body["base"]:
            time.sleep(0.01)
        counts = reading.counts()
        return {"base": tab.sent[0], "counts": counts, "is_complete": None not in counts}

    def _allowed(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        order = str(body.get("order", "id"))
        asked = Asked(
            str(body.get("query", ""))[:200],
            bool(body.get("is_refused")),
            order if order in ORDERS else "id",
        )
        with tab.lock:
            reading = _reading_of(tab)
            place = _checked_place(reading, body)
            node, token_ids = reading.nodes[place], reading.token_ids[:place]
        reading.compiled.index.allowed(node)  # takes long at times: keys are not to wait for it
        chances = None
        if self._has_model(reading) and body.get("with_model"):
            chances = self._chances(reading.compiled, node, token_ids, str(body.get("prompt", "")))
        first = max(_number(body, "first", 0), 0)
        with tab.lock:
            part = tab.token_list.part(
                reading.compiled, node, asked, first, _number(body, "n", 100), chances
            )
        return part | {"place": place}

    def _place(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            return places.stacks_at(reading, _checked_place(reading, body))

    def _expected(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            return {"expected": places.expected_at(reading, _checked_place(reading, body))}

    def _explain(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            place = _checked_place(reading, body)
            if "piece" in body:
                return places.explanation_at(reading, place, str(body["piece"])[:1000].encode())
            return places.explanation_at(reading, place, _number(body, "token_id"))

    def _tree(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        reading = _reading_of(tab)
        if not reading.is_sentence:
            raise TextError("the text is no sentence, so Lark has no tree of it")
        text = reading.data.decode()
        with tab.turn("tree", has_left) as cancelled:
            return trees.tree_of(reading.compiled, text, cancelled)

    def _report(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        from cfgguide.diagnostics.inspection import inspect

        reading = _reading_of(tab)
        with tab.turn("report", has_left) as cancelled:
            report = inspect(reading.compiled.grammar, limits=grammars.LIMITS, cancelled=cancelled)
        parser, *sections = str(report).split("\n\n")
        return {"summary": parser, "sections": sections, "n_conflicts": report.n_conflicts}

    def _draw(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        from cfgguide.studio.draw.machines import terminal

        reading = _reading_of(tab)
        with tab.turn("draw", has_left):
            return {"svg": terminal(reading.compiled.grammar, str(body["terminal"])).svg}

    def _write(self, tab: Tab, body: Body, has_left: HasLeft) -> Body:
        with tab.lock:
            reading = _reading_of(tab)
            if self.writer is None or not self._has_model(reading):
                raise ModelError(
                    "no model writes with this tokenizer; start `cfgguide playground --model PATH` "
                    "and choose the model's tokenizer"
                )
            place = reading.n_read
            prompt = str(body.get("prompt", ""))
            node, token_ids = reading.nodes[place], reading.token_ids[:place]
            chances = self._chances(reading.compiled, node, token_ids, prompt)
            token_id = self.writer.drawn(chances, float(body.get("temperature") or 0.0))
            if token_id in reading.compiled.index.vocabulary.eos_token_ids:
                return {"is_finished": True}
            reading.go_on(place, token_id)
            return self._picture(tab, reading, body) | {"text": reading.text}

    def _has_model(self, reading: Reading) -> bool:
        return self.writer is not None and reading.compiled.tokenizer_id == _MODEL

    def _chances(
        self, compiled: Compiled, node: Step, token_ids: list[int], prompt: str
    ) -> Chances:
        assert self.writer is not None, "asked only where there is a model"
        allowed = compiled.index.allowed(node).token_ids()
        return Chances.under(self.writer.probabilities(prompt, token_ids), allowed)


def _keep_masks(tab: Tab | None) -> None:
    if tab is not None and tab.reading is not None:
        tab.reading.compiled.keep_masks()


def _reading_of(tab: Tab) -> Reading:
    if tab.reading is None:
        raise TextError("no grammar is compiled yet")
    return tab.reading


def _number(body: Body, name: str, default: int | None = None) -> int:
    value = body.get(name, default)
    if type(value) is not int:
        raise TextError(f"{name} is a whole number, not {value!r:.40}")
    return value


def _check_place(reading: Reading, place: int) -> None:
    if not 0 <= place <= reading.n_read:
        raise TextError("the text is not read so far: before that place, it is refused")


def _checked_place(reading: Reading, body: Body) -> int:
    place = _number(body, "place")
    _check_place(reading, place)
    return place


def _said(error: CfgGuideError, grammar: Grammar | None = None) -> Body:
    message = str(error).removeprefix(f"[{error.code}] ")
    if grammar is not None and grammar.source_path is not None:
        message = message.replace(grammar.source_path, "the grammar")
    said: Body = {"code": error.code, "message": message}
    place = grammars.place_of(message, grammar.text) if grammar is not None else None
    if place is not None:
        said |= {"line": place.line, "column": place.column, "length": place.length}
    return said
