"""SGLang's plug-in: a grammar backend of its official registry.

SGLang calls :func:`register` by the entry point ``sglang.srt.plugins``, before it reads its
arguments. ``--grammar-backend cfgguide`` then chooses ours. A request's ``ebnf`` is a grammar in
Lark's language, or a name such as ``cfgguide:sql`` (:mod:`cfgguide.models.serving.backend`); JSON
Schemas and patterns are as everywhere. Structural tags are refused. ``CFGGUIDE_GRAMMARS`` in the
environment names a folder of `.lark` files.

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

        from cfgguide.models.serving.sglang_parts import backend_of
    except ImportError as error:
        _LOG.error("cfgguide's plug-in does not fit this SGLang, which is left alone: %s", error)
        return
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, backend_of)
