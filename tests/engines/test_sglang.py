"""SGLang's registry and classes with the plug-in. No server: that needs a GPU.

Runs where SGLang's Python modules are: `make serve-test`.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sglang", reason="`make serve-test` has it, this environment has not")

import torch
from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
from sglang.srt.constrained import base_grammar_backend as base
from sglang.srt.constrained import grammar_manager
from sglang.srt.plugins.hook_registry import HookRegistry
from transformers import AutoTokenizer

from cfgguide.models.load import prepare_smollm2
from cfgguide.models.serving import sglang, sglang_parts

TAG = (
    '{"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "end": "</a>", '
    '"content": {"type": "json_schema", "json_schema": {"type": "integer"}}}}'
)
SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(prepare_smollm2())


@pytest.fixture
def backend(tokenizer, monkeypatch) -> Any:
    """As SGLang makes it, for `--grammar-backend cfgguide`."""
    sglang.register()
    sglang.register()
    serving = SimpleNamespace(reasoning_parser=None, enable_strict_thinking=False)
    monkeypatch.setattr(sglang_parts, "get_serving", lambda: serving)
    monkeypatch.setattr(
        base,
        "get_exec",
        lambda: SimpleNamespace(kernel=SimpleNamespace(grammar_backend="cfgguide")),
    )
    return base.create_grammar_backend(None, tokenizer, 49_200, {tokenizer.eos_token_id})


def grammar_of(backend: Any, kind: str, text: str) -> Any:
    value, is_hit = backend.get_cached_or_future_value((kind, text), False)
    if is_hit:
        return value
    made = value.result()
    backend.set_cache((kind, text), made)
    return made.copy()


def written(grammar: Any, tokenizer: Any, text: str) -> None:
    for token_id in tokenizer.encode(text, add_special_tokens=False):
        grammar.accept_token(token_id)


def test_it_is_a_choice_once(backend):
    assert GRAMMAR_BACKEND_CHOICES.count("cfgguide") == 1
    assert isinstance(backend, sglang_parts.SglangBackend)


@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"),
    [
        ("json", SCHEMA, '{"a": 12}', '{"b": 12}'),
        ("json", "$$ANY$$", "[1]", "]"),
        ("regex", "[0-9]{2}", "12", "1x"),
        ("ebnf", 'start: "yes" | "no"', "yes", "maybe"),
        ("ebnf", "cfgguide:sql_select", "SELECT a FROM b", "DROP"),
        ("structural_tag", TAG, "<a>12</a>", "12"),
    ],
)
def test_requests_of_each_kind(backend, tokenizer, kind, text, right, wrong):
    grammar = grammar_of(backend, kind, text)
    mask = grammar.allocate_vocab_mask(49_200, 3, "cpu")
    for token_id in tokenizer.encode(right, add_special_tokens=False):
        grammar.reset_vocab_mask(mask)
        grammar.fill_vocab_mask_batched([base.GrammarRow(1, grammar)], mask)
        logits = torch.zeros((3, 49_200))
        grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(mask, "cpu"))
        assert logits[1, token_id] == 0
        assert (logits[0] == 0).all()
        assert (logits[1] == -torch.inf).any()
        grammar.accept_token(token_id)
    grammar.accept_token(tokenizer.eos_token_id)
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    again = grammar_of(backend, kind, text)  # from SGLang's own cache: at its beginning
    with pytest.raises(ValueError, match="may not come"):
        written(again, tokenizer, wrong)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("json", "{", "not JSON"),
        ("ebnf", "start: a", "used but not defined"),
        ("ebnf", "cfgguide:cobol", "there is c, "),
        ("structural_tag", "{}", "a format is an object with a type"),
    ],
)
def test_a_bad_request_has_our_message(backend, kind, text, message):
    made = backend.get_cached_or_future_value((kind, text), False)[0].result()
    assert isinstance(made, base.InvalidGrammarObject)
    assert message in made.error_message


def test_what_has_to_come_is_told(backend, tokenizer):
    grammar = grammar_of(backend, "ebnf", 'start: "one thing only" "!"?')
    tokens, text = grammar.try_jump_forward(tokenizer)
    assert text == ""
    assert "one thing only".startswith(tokenizer.decode(tokens))
    for token_id in tokens:
        grammar.accept_token(token_id)


class Req:
    """What SGLang's manager of grammars asks of a request."""

    def __init__(self, key: tuple[str, str], max_new_tokens: int, *, thinks: bool) -> None:
        kinds = ("json_schema", "regex", "ebnf", "structural_tag")
        asked = {kind: key[1] if kind.startswith(key[0]) else None for kind in kinds}
        self.sampling_params = SimpleNamespace(
            **asked, ebnf_full_assistant=False, custom_params=None, max_new_tokens=max_new_tokens
        )
        self.grammar: Any = None
        self.output_ids: list[int] = []
        self.origin_input_ids: list[int] = []
        self.require_reasoning = thinks
        self.grammar_wait_ct = 0
        self.grammar_key: Any = None

    def finished(self) -> bool:
        return False


def manager_of(backend: Any) -> Any:
    """SGLang's manager, without a scheduler; its hooks are applied as SGLang does."""
    HookRegistry.apply_hooks()
    manager = grammar_manager.GrammarManager.__new__(grammar_manager.GrammarManager)
    manager.__dict__.update(
        grammar_backend=backend,
        grammar_queue=[],
        scheduler=SimpleNamespace(model_config=SimpleNamespace()),
        _enable_strict_thinking=False,
        pp_rank=0,
        pp_size=1,
        grammar_sync_size=1,
        grammar_pp_sync_work_list=[],
        SGLANG_GRAMMAR_POLL_INTERVAL=5.0,
        SGLANG_GRAMMAR_MAX_POLL_ITERATIONS=100,
    )
    return manager


THOUGHT = "Hm.</think>"


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("most", [24, 40])
def test_a_text_ends_within_max_new_tokens_thinking_counted(
    backend, tokenizer, monkeypatch, thinks, most
):
    """Whatever the model wants: here the token with the highest number, and never the end."""
    if thinks:
        serving = SimpleNamespace(reasoning_parser="deepseek-r1", enable_strict_thinking=False)
        monkeypatch.setattr(sglang_parts, "get_serving", lambda: serving)
        backend = base.create_grammar_backend(None, tokenizer, 49_200, {tokenizer.eos_token_id})
    manager = manager_of(backend)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for n in range(2):  # compiled, and from the cache
        request = Req(("json", json.dumps(schema)), most, thinks=thinks)
        if manager.process_req_with_grammar(request):
            assert n == 0
            manager.get_ready_grammar_requests()
            manager.grammar_queue.clear()
        grammar = request.grammar
        for token_id in tokenizer.encode(THOUGHT, add_special_tokens=False) if thinks else ():
            request.output_ids.append(token_id)
            grammar.accept_token(token_id)
        n_before = len(request.output_ids)
        while not grammar.is_terminated():
            assert len(request.output_ids) < most
            mask = grammar.allocate_vocab_mask(49_200, 1, "cpu")
            grammar.fill_vocab_mask(mask, 0)
            logits = torch.arange(49_200.0)[None]
            logits[0, tokenizer.eos_token_id] = -1
            grammar.apply_vocab_mask(logits, mask)
            request.output_ids.append(int(logits.argmax()))
            grammar.accept_token(request.output_ids[-1])
        text = tokenizer.decode(request.output_ids[n_before:-1])
        assert list(json.loads(text)) == ["a"]


def test_thinking_comes_before_the_grammar(backend, tokenizer, monkeypatch):
    serving = SimpleNamespace(reasoning_parser="deepseek-r1", enable_strict_thinking=False)
    monkeypatch.setattr(sglang_parts, "get_serving", lambda: serving)
    thinking = base.create_grammar_backend(None, tokenizer, 49_200, {tokenizer.eos_token_id})
    made = thinking.get_cached_or_future_value(("ebnf", 'start: "yes"'), True)[0].result()
    made.maybe_init_reasoning(True)
    written(made, tokenizer, "Hm, water is wet.</think>")
    written(made, tokenizer, "yes")
    made.accept_token(tokenizer.eos_token_id)
    assert made.is_terminated()
