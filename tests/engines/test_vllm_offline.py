"""vLLM's offline engine with the plug-in: every answer is what was asked for.

Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

from typing import Any

import pytest

vllm = pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

from engines.asked import MARKED, OTHERS, Asked  # noqa: E402
from vllm.exceptions import VLLMValidationError  # noqa: E402
from vllm.sampling_params import StructuredOutputsParams  # noqa: E402

from cfgguide.models.load import prepare_smollm2  # noqa: E402


def engine(**options: Any) -> Any:
    return vllm.LLM(
        str(prepare_smollm2()),
        max_model_len=512,
        enforce_eager=True,
        structured_outputs_config={"backend": "guidance"},
        **options,
    )


@pytest.fixture(scope="module")
def llm() -> Any:
    return engine()


def answers(llm: Any, asked: list[Asked], n_tokens: int = 40, **options: Any) -> list[Any]:
    """Ask for all at once, and check each answer."""
    options = {"temperature": 1.0, "seed": 1, **options}
    given = [
        vllm.SamplingParams(
            max_tokens=n_tokens,
            structured_outputs=StructuredOutputsParams(**each.structured_outputs),
            **options,
        )
        for each in asked
    ]
    prompts = [f"Write {each.name}, number {n}: " for n, each in enumerate(asked)]
    requests = llm.generate(prompts, given, use_tqdm=False)
    found = []
    for each, request in zip(asked, requests, strict=True):
        for output in request.outputs:
            each.check(output.text, is_finished=output.finish_reason == "stop")
            found.append(output)
    return found


@pytest.mark.parametrize("asked", [*MARKED, *OTHERS], ids=lambda each: each.name)
def test_an_answer_is_what_was_asked_for(llm, asked):
    """Marked grammars are ours; the others are still vLLM's, in the same engine."""
    answers(llm, [asked])


def test_a_batch_may_ask_for_different_things(llm):
    found = answers(llm, [*MARKED, *OTHERS] * 4)
    assert len(found) == 4 * len([*MARKED, *OTHERS])


def test_several_answers_to_one_request(llm):
    assert len(answers(llm, MARKED, n=3)) == 3 * len(MARKED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cfgguide:cobol", "no grammar is called 'cobol'"),
        ("cfgguide:\nstart: a", "used but not defined"),
        ("cfgguide:\nstart: /(a|b)*a(a|b){40}/", "max_"),
    ],
)
def test_a_bad_grammar_is_an_error_with_our_message_and_the_engine_lives(llm, text, message):
    params = vllm.SamplingParams(structured_outputs=StructuredOutputsParams(grammar=text))
    with pytest.raises(VLLMValidationError, match=message):
        llm.generate(["x"], params, use_tqdm=False)
    answers(llm, MARKED[:1], n_tokens=5)


def test_a_request_may_name_tokens_that_stop_it(llm):
    """After a number the text may end, so a line break may be taken for its end."""
    newline = llm.get_tokenizer().encode("\n")[0]
    found = answers(
        llm,
        [Asked("json", "grammar", "cfgguide:json", MARKED[0].judge)] * 8,
        stop_token_ids=[newline],
        temperature=2.0,
    )
    assert all(output.stop_reason in (None, newline) for output in found)


def test_eos_may_be_ignored(llm):
    params = vllm.SamplingParams(
        max_tokens=8,
        ignore_eos=True,
        structured_outputs=StructuredOutputsParams(grammar='cfgguide:\nstart: "yes"'),
    )
    (request,) = llm.generate(["x"], params, use_tqdm=False)
    assert request.outputs[0].text.startswith("yes")
    assert len(request.outputs[0].token_ids) == 8


def test_drafts_that_a_grammar_refuses_do_no_harm():
    """N-gram speculative decoding drafts what stands in the prompt, past the end too."""
    llm = engine(
        speculative_config={
            "method": "ngram",
            "num_speculative_tokens": 4,
            "prompt_lookup_max": 3,
            "prompt_lookup_min": 1,
        }
    )
    answers(llm, [*MARKED, *OTHERS] * 2, temperature=0.0)


def test_requests_that_are_preempted_go_on():
    llm = engine(num_gpu_blocks_override=8, max_num_seqs=8)  # room for some 1,000 tokens
    answers(llm, MARKED * 4, n_tokens=100)
