"""Writes `tests/schema/messages/conversations.json`, by the chat templates of the models.

The templates come with the source distribution of llama-cpp-python (MIT; each template has its
model's licence). This program keeps what a template makes of conversations that are our own::

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
    python tools/render_conversations.py llama_cpp_python-0.3.36.tar.gz
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import _compile_jinja_template

TARGET = Path(__file__).parents[1] / "tests" / "schema" / "messages" / "conversations.json"

#: Format, template, and what stands before an answer.
TEMPLATES = [
    ("qwen", "Qwen-Qwen2.5-7B-Instruct", "<|im_start|>assistant\n"),
    ("qwen", "Qwen-Qwen3-0.6B", "<|im_start|>assistant\n"),
    ("qwen", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "<|im_start|>assistant\n"),
    ("llama3", "meta-llama-Llama-3.1-8B-Instruct", "assistant<|end_header_id|>\n\n"),
    ("llama3", "meta-llama-Llama-3.3-70B-Instruct", "assistant<|end_header_id|>\n\n"),
    ("mistral", "mistralai-Mistral-Nemo-Instruct-2407", "[/INST]"),
    ("mistral_v11", "Mistral-Small-3.2-24B-Instruct-2506", "[/INST]"),
    ("mistral_v11", "unsloth-mistral-Devstral-Small-2507", "[/INST]"),
    ("harmony", "openai-gpt-oss-120b", "<|start|>assistant"),
    ("deepseek_v3", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "<｜Assistant｜>"),
    ("deepseek_v31", "deepseek-ai-DeepSeek-V3.1", "<think></think>"),
    ("kimi_k2", "moonshotai-Kimi-K2", "<|im_assistant|>assistant<|im_middle|>"),
    ("qwen3_coder", "Qwen3-Coder", "<|im_start|>assistant\n"),
    ("glm45", "GLM-4.6", "<|assistant|>\n"),
    ("glm47", "GLM-4.7-Flash", "<|assistant|></think>"),
    ("deepseek_v32", "deepseek-ai-DeepSeek-V3.2", "<｜Assistant｜></think>"),
    ("minimax_m2", "MiniMax-M2", "]~b]ai\n"),
    ("gemma4", "google-gemma-4-31B-it", "<|turn>model\n"),
]
#: What ends an answer; some formats have it in their structure.
ENDS = ["<|im_end|>\n", "<|im_end|>", "<|eot_id|>", "</s>", "<｜end▁of▁sentence｜>", "[e~["]
ENDS += ["<|tool_response>", "<turn|>"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "find-notes.v2",
            "description": "Notes with some words.",
            "parameters": {
                "type": "object",
                "properties": {
                    "words": {"type": "array", "items": {"type": "string"}},
                    "where": {"type": "object", "properties": {"folder": {"type": "string"}}},
                },
                "required": ["words"],
            },
        },
    },
]
CALLS = [
    ("get_weather", {"city": 'Zürich "am See"', "days": 3}),
    ("find-notes.v2", {"words": ["a\nb", "</x>", "{"], "where": {"folder": "päper\\"}}),
    ("get_weather", {"city": ""}),
]
#: Text, calls, and thinking.
ANSWERS: list[tuple[str, list[int], str]] = [
    ("", [0], ""),
    ("", [1], ""),
    ("", [0, 1], ""),
    ("", [2, 1, 0], ""),
    ("Let me look.", [0], ""),
    ("One moment: ü.", [1, 2], ""),
    ("It rains.", [], ""),
    ("", [0], "They ask for the weather."),
    ("No calls < 3 are needed.", [], "That was easy.\nAnd short."),
]


def templates(source: Path) -> dict[str, str]:
    """Return the templates in a source distribution."""
    wanted = {name for _, name, _ in TEMPLATES}
    made = {}
    with tarfile.open(source) as archive:
        for member in archive:
            path = Path(member.name)
            if path.parent.name == "templates" and path.stem in wanted:
                template = archive.extractfile(member)
                assert template is not None, "it is a file"
                made[path.stem] = template.read().decode()
    return made


def rendered(template: str, answer: tuple[str, list[int], str], form: str) -> str | None:
    """Return a conversation with an answer; None if the template cannot write it."""
    content, numbers, thinking = answer
    if form == "gemma4" and content and numbers:
        return None  # it has the text after the calls, where their results come from elsewhere
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if numbers:
        message["tool_calls"] = [
            {
                "id": f"callnumb{place}",
                "type": "function",
                "function": dict(zip(("name", "arguments"), CALLS[number], strict=True)),
            }
            for place, number in enumerate(numbers)
        ]
        message["content"] = content or (None if form == "deepseek_v3" else "")
    if thinking:
        message["thinking" if form == "harmony" else "reasoning_content"] = thinking
        message["content"] = content if not (form == "harmony" and numbers) else ""
    try:
        return str(
            _compile_jinja_template(template).render(
                messages=[{"role": "user", "content": "Hello"}, message],
                tools=TOOLS,
                bos_token="<s>",
                eos_token="</s>",
                add_generation_prompt=False,
                strftime_now=lambda _: "2026-01-01",
            )
        )
    except Exception as error:  # a template refuses what its model does not do
        sys.stderr.write(f"{error}\n")
        return None


def said(answer: tuple[str, list[int], str], text: str) -> dict[str, Any]:
    """Return what of an answer its template has written: some leave out what they do not know."""
    content, numbers, thinking = answer
    if "analysis<|message|>" in text and not thinking:  # Harmony has no other place for it
        content, thinking = "", content
    names = [CALLS[number][0] for number in numbers]
    return {
        "content": content if content in text else "",
        "calls": [CALLS[number] for number in numbers][: sum(map(text.count, set(names)))],
        "thinking": thinking if thinking in text else "",
    }


def main() -> None:
    """Render all answers by all templates."""
    source = Path(sys.argv[1])
    found = templates(source)
    cases = []
    for form, name, start in TEMPLATES:
        for answer in ANSWERS:
            text = rendered(found[name], answer, form)
            if text is None or start not in text:
                continue
            text = text[text.index(start) + len(start) :]
            for end in ENDS:
                text = text.partition(end)[0]
            cases.append({"format": form, "template": name, "text": text, **said(answer, text)})
    whole = {"source": source.name, "tools": TOOLS, "cases": cases}
    TARGET.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.stderr.write(f"{len(cases)} messages\n")


if __name__ == "__main__":
    main()
