"""What the operator of a server says, in variables of its environment, read and checked at once.

In: the environment. Out: :class:`Settings`, and a warning in the log for each variable that begins
as ours do and is none of them. ``docs/serving.md`` has the table; a test compares it with this one.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from cfgguide.base.cache import DEFAULT_MAX_BYTES as MAX_CACHE_BYTES
from cfgguide.base.cache import FOLDER_VARIABLE, SIZE_VARIABLE
from cfgguide.grammar.rules.facts import not_known
from cfgguide.index_pool import DEFAULT_MAX_BYTES
from cfgguide.models.serving.http_calls import ADDRESS
from cfgguide.models.serving.isolation import MASK_SECONDS

PREFIX = "CFGGUIDE_"
MODES = ("marked", "all", "off")

#: Each variable, and what it is where it is not set.
VARIABLES = {
    "CFGGUIDE_VLLM": "marked",
    "CFGGUIDE_GRAMMARS": "",
    "CFGGUIDE_WARM": "",
    "CFGGUIDE_TIDY": "on",
    "CFGGUIDE_FINISH": "on",
    "CFGGUIDE_MEMORY": str(DEFAULT_MAX_BYTES // 1_000_000),
    "CFGGUIDE_MASK_SECONDS": f"{MASK_SECONDS:g}",
    "CFGGUIDE_ISOLATE": "on",
    "CFGGUIDE_QUEUE": "32",
    "CFGGUIDE_WAIT_SECONDS": "20",
    "CFGGUIDE_CLIENT": ADDRESS,
    FOLDER_VARIABLE: "",
    SIZE_VARIABLE: str(MAX_CACHE_BYTES),
    # Read by the installation.
    "CFGGUIDE_UNCOMPILED": "",
    "CFGGUIDE_PACKAGE_GRAMMARS": "on",
}

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_LOG = logging.getLogger("cfgguide.serving")


@dataclass(frozen=True)
class Settings:
    """What an operator has chosen.

    Attributes
    ----------
    mode : str
        Which requests of vLLM are ours: one of :data:`MODES`.
    folder : Path or None
        Of the operator's `.lark` files.
    grammars : mapping of str to object
        What the operator's function returns: what may be written, by name.
    warm : tuple of str
        Names of grammars that are compiled when the server starts.
    is_tidy, is_finishing, is_isolated : bool
        Whether what has no end is left out, whether texts end within `max_tokens`, and whether
        requests are tried in a process of their own.
    max_bytes : int
        That the indexes of a process may hold.
    max_mask_seconds : float
        That a mask of a stranger's request may take.
    n_queued : int
        Requests that may wait to be compiled.
    max_wait_seconds : float
        For which a request may wait until it is compiled.
    client : str
        What clients are told apart by: their `address`, or the name of a header.
    """

    mode: str
    folder: Path | None
    grammars: Mapping[str, object] = field(repr=False)
    warm: tuple[str, ...]
    is_tidy: bool
    is_finishing: bool
    is_isolated: bool
    max_bytes: int
    max_mask_seconds: float
    n_queued: int
    max_wait_seconds: float
    client: str

    @classmethod
    def of_environment(cls) -> Settings:
        """Read the environment.

        Raises
        ------
        ValueError
            If a variable has no such value; the message names both.
        """
        places = _value("CFGGUIDE_GRAMMARS", "a folder, or module:function")
        is_function = _FUNCTION.fullmatch(places) is not None and not Path(places).is_dir()
        return cls(
            mode=_value("CFGGUIDE_VLLM", f"one of {', '.join(MODES)}", MODES.__contains__),
            folder=Path(places) if places and not is_function else None,
            grammars=_called(places) if is_function else {},
            warm=tuple(filter(None, re.split(r"[,\s]+", _value("CFGGUIDE_WARM", "names")))),
            is_tidy=_is_on("CFGGUIDE_TIDY"),
            is_finishing=_is_on("CFGGUIDE_FINISH"),
            is_isolated=_is_on("CFGGUIDE_ISOLATE"),
            max_bytes=1_000_000 * _number("CFGGUIDE_MEMORY", "megabytes"),
            max_mask_seconds=_seconds("CFGGUIDE_MASK_SECONDS"),
            n_queued=_number("CFGGUIDE_QUEUE", "requests"),
            max_wait_seconds=_seconds("CFGGUIDE_WAIT_SECONDS"),
            client=_value("CFGGUIDE_CLIENT", "address, or a header's name", _HEADER.fullmatch),
        )

    def __str__(self) -> str:
        """Return what the log says of them."""
        switches = {
            "tidy": self.is_tidy,
            "finish": self.is_finishing,
            "isolate": self.is_isolated,
        }
        said = [f"{name} {'on' if is_on else 'off'}" for name, is_on in switches.items()]
        said += [
            f"memory {self.max_bytes // 1_000_000} MB",
            f"masks {self.max_mask_seconds:g} s",
            f"queue {self.n_queued} requests and {self.max_wait_seconds:g} s",
        ]
        said += [f"clients by {self.client}"] if self.client != ADDRESS else []
        named = sorted({*self.grammars, *self.names_in_folder()})
        said += [f"own grammars: {', '.join(named)}"] if named else []
        said += [f"warm: {', '.join(self.warm)}"] if self.warm else []
        return ", ".join(said)

    def names_in_folder(self) -> list[str]:
        """Return the names of the operator's files."""
        return [] if self.folder is None else [each.stem for each in self.folder.glob("*.lark")]


def warn_of_unknown_variables() -> None:
    """Log each variable that begins as ours do and that nothing reads."""
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in VARIABLES:
            said = not_known(f"nothing reads the variable {name}", name, VARIABLES)
            _LOG.warning("%s; docs/serving.md lists those there are", said)


def _value(name: str, expected: str, is_right: Callable[[str], object] = lambda _: True) -> str:
    value = os.environ.get(name, VARIABLES[name])
    if not is_right(value):
        raise ValueError(f"{name} is {value!r}; it is {expected}")
    return value


def _is_on(name: str) -> bool:
    return _value(name, "on or off", ("on", "off").__contains__) == "on"


def _number(name: str, unit: str) -> int:
    return int(_value(name, f"a number of {unit}", str.isdecimal))


def _seconds(name: str) -> float:
    def is_right(value: str) -> bool:
        return _SECONDS.fullmatch(value) is not None and float(value) > 0

    return float(_value(name, "a number above 0", is_right))


def _called(place: str) -> Mapping[str, object]:
    """Return what the operator's function returns.

    Raises
    ------
    ValueError
        If there is none, or it returns no mapping of names.
    """
    module, _, name = place.partition(":")
    try:
        found: Any = getattr(import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"CFGGUIDE_GRAMMARS is {place!r}, and that fails: {error}") from error
    if not isinstance(found, Mapping) or not all(
        isinstance(each, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,100}", each) for each in found
    ):
        raise ValueError(
            f"CFGGUIDE_GRAMMARS is {place!r}, which returns {type(found).__name__}: it is a "
            "mapping of names (letters, digits, - and _) to what may be written"
        )
    return found
