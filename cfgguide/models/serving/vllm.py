"""vLLM's plug-in: requests whose grammar is marked, or all of them, are cfgguide's.

vLLM calls :func:`register` in each of its processes, by the entry point ``vllm.general_plugins``.
It has no registry of grammar backends, so some of its methods are wrapped:

* `SamplingParams._validate_structured_outputs`, in the front end: a wrong grammar is the client's
  error (HTTP 400) with our message;
* `AsyncLLM.add_request`, there as well: compiling happens in another thread, so that one request
  does not keep the others waiting;
* `StructuredOutputManager.grammar_init`, in the engine: makes a matcher in vLLM's own threads;
* `extract_structured_outputs` of the bodies of requests, for what stands under `cfgguide` there;
* constructors of the second and the third: a server says at its start that we are there, and what
  `CFGGUIDE_WARM` names is compiled then.

A request that is not ours takes vLLM's way, unchanged; so does a structural tag with a format that
we do not know, such as arguments of a tool in XML, with a warning in the log. The environment says
what is ours (:mod:`cfgguide.models.serving.settings`): by default grammars that begin with
`cfgguide:`, and with `CFGGUIDE_VLLM=all` all structured outputs.

The log has one line at the start that says so. In a version of vLLM in which one of the methods is
missing or takes other arguments, the server does not start with `all`, whose requests would become
another backend's, and vLLM is left alone otherwise; a version that was not tested gets a warning.
"""

from __future__ import annotations

import inspect
import logging
import multiprocessing

from cfgguide import __version__
from cfgguide.models.serving.settings import Settings, warn_of_unknown_variables

TESTED = ("0.32",)  # minor versions

_LOG = logging.getLogger("cfgguide.serving")


def register() -> None:
    """Wrap vLLM's methods, once in a process.

    Raises
    ------
    ValueError
        If a variable of the environment has no such value.
    RuntimeError
        If the plug-in does not fit this vLLM, and is to take all requests.
    """
    settings = Settings.of_environment()
    if settings.mode == "off":
        return
    try:
        from vllm import __version__ as version

        from cfgguide.models.serving import vllm_parts
    except ImportError as error:
        _misfit(settings, str(error))
        return
    for owner, name, parameters in vllm_parts.WRAPPED:
        has = list(inspect.signature(getattr(owner, name, lambda: None)).parameters)
        if has[: len(parameters)] != parameters:
            _misfit(settings, f"in {version}, {owner.__name__}.{name} takes {has}")
            return
    taken = "all structured outputs" if settings.mode == "all" else "grammars marked cfgguide:"
    said = f"cfgguide {__version__} takes {taken} of vLLM {version}: {settings}"
    vllm_parts.wrap(takes_all=settings.mode == "all", said=said, warms=bool(settings.warm))
    if multiprocessing.parent_process() is not None:
        return  # of a server that has said the rest
    if not version.startswith(tuple(f"{minor}." for minor in TESTED)):
        _LOG.warning("cfgguide was tested with vLLM %s, not %s", ", ".join(TESTED), version)
    warn_of_unknown_variables()


def _misfit(settings: Settings, reason: str) -> None:
    """Log that the plug-in does not fit, or keep a server from starting that counts on it."""
    said = f"cfgguide {__version__} does not fit this vLLM: {reason}"
    if settings.mode == "all":
        raise RuntimeError(
            f"{said}. With CFGGUIDE_VLLM=all its requests would silently become another "
            f"backend's: install vLLM {TESTED[-1]}, or set CFGGUIDE_VLLM=off to start without"
        )
    _LOG.error("%s; it is left alone, and requests marked cfgguide: are refused", said)
