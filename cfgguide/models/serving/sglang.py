"""SGLang's plug-in: a grammar backend of its official registry.

SGLang calls :func:`register` by the entry point ``sglang.srt.plugins``, before it reads its
arguments. ``--grammar-backend cfgguide`` then chooses ours. A request's ``ebnf`` is a grammar in
Lark's language, or a name such as ``cfgguide:sql`` (:mod:`cfgguide.models.serving.backend`); JSON
Schemas, patterns and structural tags are as everywhere. The environment says what it says for vLLM
(:mod:`cfgguide.models.serving.settings`), but for ``CFGGUIDE_VLLM``. By SGLang's hooks, a grammar
knows its request, so that JSON, calls of tools and SQL end within ``max_new_tokens``.

No server was run, since it needs a GPU: the tests call SGLang's own classes.
"""

from __future__ import annotations

import logging

NAME = "cfgguide"

_LOG = logging.getLogger("cfgguide.serving")


def register() -> None:
    """Tell SGLang of the backend; more than once does no harm."""
    try:
        from sglang.srt.arg_groups.choices import (
            GRAMMAR_BACKEND_CHOICES,
            add_grammar_backend_choices,
        )
        from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        from cfgguide.models.serving.sglang_parts import backend_of, note_request, note_requests
    except ImportError as error:
        _LOG.error("cfgguide's plug-in does not fit this SGLang, which is left alone: %s", error)
        return
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])
        manager = "sglang.srt.constrained.grammar_manager.GrammarManager"
        for method, hook in (
            ("process_req_with_grammar", note_request),
            ("get_ready_grammar_requests", note_requests),
        ):
            HookRegistry.register(f"{manager}.{method}", hook, HookType.AFTER)
    register_grammar_backend(NAME, backend_of)
