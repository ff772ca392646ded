"""vLLM's plug-in: requests whose grammar is marked, or all of them, are cfgguide's.

vLLM calls :func:`register` in each of its processes, by the entry point ``vllm.general_plugins``.
It has no registry of grammar backends, so three of its methods are wrapped:

* `SamplingParams._validate_structured_outputs`, in the front end: a wrong grammar is the client's
  error (HTTP 400) with our message;
* `AsyncLLM.add_request`, there as well: compiling happens in another thread, so that one request
  does not keep the others waiting;
* `StructuredOutputManager.grammar_init`, in the engine: makes a matcher in vLLM's own threads.

A request that is not ours takes vLLM's way, unchanged; so does a structural tag with a format that
we do not know, such as arguments of a tool in XML, with a warning in the log. The environment says
what is ours::

    CFGGUIDE_VLLM       marked      grammars that begin with `cfgguide:` (the default)
                        all         all
                        off         nothing
    CFGGUIDE_GRAMMARS   a folder    of `.lark` files: `cfgguide:mine` is `mine.lark`
    CFGGUIDE_MEMORY     megabytes   that the indexes of a process may hold
    CFGGUIDE_MASK_SECONDS  seconds  of the processor that a mask of a stranger's request may take

A version of vLLM in which one of the methods is missing or takes other arguments is left alone,
with an error in the log; one that was not tested gets a warning.
"""

from __future__ import annotations

import inspect
import logging
import os

TESTED = ("0.32",)  # minor versions
MODES = ("marked", "all", "off")

_LOG = logging.getLogger("cfgguide.serving")


def register() -> None:
    """Wrap vLLM's methods, once in a process."""
    mode = os.environ.get("CFGGUIDE_VLLM", "marked")
    if mode not in MODES:
        raise ValueError(f"CFGGUIDE_VLLM is {mode!r}; it may be {', '.join(MODES)}")
    if mode == "off":
        return
    try:
        from vllm import __version__ as version

        from cfgguide.models.serving import vllm_parts
    except ImportError as error:
        _LOG.error("cfgguide's plug-in does not fit this vLLM, which is left alone: %s", error)
        return
    for owner, name, parameters in vllm_parts.WRAPPED:
        has = list(inspect.signature(getattr(owner, name, lambda: None)).parameters)
        if has[: len(parameters)] != parameters:
            _LOG.error(
                "cfgguide's plug-in does not fit vLLM %s, which is left alone: %s.%s takes %s",
                version,
                owner.__name__,
                name,
                has,
            )
            return
    if not version.startswith(tuple(f"{minor}." for minor in TESTED)):
        _LOG.warning("cfgguide was tested with vLLM %s, not %s", ", ".join(TESTED), version)
    vllm_parts.wrap(takes_all=mode == "all")
