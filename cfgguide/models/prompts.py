"""The tokens of a prompt, which is a text or a chat.

In: a prompt and a tokenizer of transformers. Out: its token ids, at least one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cfgguide.errors import GenerationError, shown

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: Where the name of a special token begins: `<|im_end|>`, DeepSeek's with wide bars, `</s>`,
#: `[INST]`, `<<SYS>>`.
_SPECIAL = re.compile(r"<(?=[|\uff5c<]|/?[A-Za-z_][\w-]*>)|\[(?=/?[A-Z_]{3,}\])")


def prompt_ids(
    prompt: str | Sequence[Mapping[str, str]],
    tokenizer: PreTrainedTokenizerBase,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
) -> list[int]:
    """Return the tokens of a prompt: of an empty one, that with which texts begin.

    Parameters
    ----------
    prompt : str, or sequence of mapping with "role" and "content"
        A text, or the messages of a chat; the answer goes on from the last one, if that is the
        assistant's.
    tokenizer : PreTrainedTokenizerBase
        The model's.
    tools : sequence of mapping
        What the chat template is told that may be called, as OpenAI's API has it.

    Raises
    ------
    GenerationError
        If there are tools, and the prompt is no chat; if it is one, and the tokenizer has no chat
        template, or a message no content, or one that the template does not take; if a text has
        half a surrogate pair.
    """
    encode: Any = tokenizer
    if not isinstance(prompt, str):
        if not getattr(tokenizer, "chat_template", None):
            raise GenerationError(
                "the prompt is a chat, but the tokenizer has no chat template; "
                "give the prompt as a text"
            )
        messages = [_message(message, number) for number, message in enumerate(prompt)]
        is_begun = bool(messages) and messages[-1].get("role") == "assistant"
        encode = tokenizer.apply_chat_template
        from jinja2 import TemplateError  # transformers needs it for templates

        try:
            encoded = encode(
                messages,
                add_generation_prompt=not is_begun,
                continue_final_message=is_begun,
                return_dict=True,
                **({"tools": list(tools)} if tools else {}),
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise GenerationError(
                f"the tokenizer's chat template does not take this chat: {error}; most templates "
                "take messages whose content is a text, the user's and the assistant's in turn"
            ) from error
        return list(encoded["input_ids"])
    if tools:
        raise GenerationError(
            "a model is told of its tools in a chat: give the prompt as a list of messages, as in "
            '[{"role": "user", "content": "..."}]'
        )
    check_encodable(prompt, "the prompt")
    if not prompt:  # a model needs at least one token to start from
        prompt = tokenizer.bos_token or tokenizer.eos_token
    return list(encode(prompt)["input_ids"])


def with_description(
    prompt: str | Sequence[Mapping[str, Any]],
    told: str,
    tokenizer: PreTrainedTokenizerBase | None,
) -> str | list[Mapping[str, Any]]:
    """Return a prompt that begins with what is to be written.

    Parameters
    ----------
    prompt : str, or sequence of mapping with "role" and "content"
        As for :func:`prompt_ids`.
    told : str
        What is to be written. It is text: the names of special tokens in it are broken.
    tokenizer : PreTrainedTokenizerBase, optional
        The model's. None of a model behind a server: then all that looks like the name of a special
        token is broken, and a system text is taken to be shown.
    """
    told = _SPECIAL.sub(r"\g<0> ", told) if tokenizer is None else _without_tokens(told, tokenizer)
    if isinstance(prompt, str):
        return f"{told}\n\n{prompt}"
    messages = [_message(message, number) for number, message in enumerate(prompt)]
    roles = [message["role"] for message in messages]
    if roles[:1] in (["system"], ["developer"]):
        return [_told_in(messages[0], told, is_first=False), *messages[1:]]
    told_first: list[Mapping[str, Any]] = [{"role": "system", "content": told}, *messages]
    if tokenizer is None or _is_shown(told, told_first, tokenizer):
        return told_first
    place = roles.index("user") if "user" in roles else 0
    return [
        _told_in(message, told, is_first=True) if number == place else message
        for number, message in enumerate(messages)
    ]


def _told_in(message: Mapping[str, Any], told: str, *, is_first: bool) -> Mapping[str, Any]:
    """Return a message that says something more, before all else or after it."""
    content = message.get("content") or ""
    if isinstance(content, str):
        parts = [told, content] if is_first else [content, told]
        return {**message, "content": "\n\n".join(filter(None, parts))}
    part = {"type": "text", "text": told}
    return {**message, "content": [part, *content] if is_first else [*content, part]}


def _is_shown(
    told: str, messages: Sequence[Mapping[str, Any]], tokenizer: PreTrainedTokenizerBase
) -> bool:
    """Return whether a chat template has room for a text: some refuse it, and some drop it."""
    from jinja2 import TemplateError  # transformers needs it for templates

    render: Any = tokenizer.apply_chat_template
    try:
        return told.strip() in render(messages, tokenize=False)
    except (TemplateError, TypeError, ValueError):
        return False


def _without_tokens(text: str, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a text in which no name of a special token is one: each is broken by a space."""
    given: Any = tokenizer
    added = getattr(given, "added_tokens_decoder", {}).values()
    names = {*map(str, getattr(given, "all_special_tokens", ())), *map(str, added)}
    # Some vocabularies have added runs of white space, which mean nothing.
    names = {name for name in names if len(name) > 1 and not name.isspace()}
    while found := next((name for name in sorted(names) if name in text), None):
        text = text.replace(found, f"{found[0]} {found[1:]}")
    return text


def _message(message: object, number: int) -> dict[str, Any]:
    """Return a message that a template can render."""
    if not isinstance(message, Mapping):
        raise GenerationError(
            f"message {number} of the chat is {shown(message)}; a message is a mapping with `role` "
            "and `content`"
        )
    missing = [name for name in ("role", "content") if name not in message]
    if "role" in missing or (missing and not message.get("tool_calls")):
        raise GenerationError(
            f"message {number} of the chat has no `{missing[0]}`: a message is a mapping with "
            "`role` and `content`"
        )
    if isinstance(message.get("content"), str):
        check_encodable(message["content"], f"message {number} of the chat")
    return dict(message)


def check_encodable(text: str, name: str) -> None:
    """Raise a `GenerationError` if no bytes spell a text, which the message calls by a name."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise GenerationError(
            f"{name} has half a surrogate pair at character {error.start}, which is no character"
        ) from None


# What a chat template has, and no other: the name of the format of calls.
_MARKS = (
    ("<|channel|>", "harmony"),
    ("<|tool_calls_section_begin|>", "kimi_k2"),
    ("<minimax:tool_call>", "minimax_m2"),
    ("<|tool_call>", "gemma4"),
    ("<start_function_call>", "functiongemma"),
    ("<｜DSML｜", "deepseek_v32"),
    ("<arg_key>", "glm45"),
    ("<function=", "qwen3_coder"),
    ("<｜tool▁sep｜>' + tool['function']['name']", "deepseek_v31"),
    ("<｜tool▁calls▁begin｜>", "deepseek_v3"),
    ("<tool_call>", "qwen"),
    ("[ARGS]", "mistral_v11"),
    ("[TOOL_CALLS]", "mistral"),
    ("<|python_tag|>", "llama3"),
    ('"parameters": ', "llama3"),
)


def tool_format(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the name of the format of calls that a tokenizer's chat template renders.

    Raises
    ------
    GenerationError
        If it renders none that is known.
    """
    template = getattr(tokenizer, "chat_template", None) or ""
    for mark, name in _MARKS:
        if mark in str(template):
            return name
    raise GenerationError(
        "the chat template of this tokenizer has no calls of tools in a format that is known: give "
        "generate(model, prompt, cfgguide.tools(tools, format=...)), with the tools in the prompt"
    )
