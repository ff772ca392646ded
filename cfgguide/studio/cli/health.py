"""What ``cfgguide doctor`` looks at: each part of an installation, and what to do about it.

In: the installation. Out: a :class:`Check` for each part. torch is not imported: versions come from
the packages' metadata. Only `tokenizer_checks` loads transformers.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cfgguide import __version__
from cfgguide.errors import CfgGuideError
from cfgguide.studio.cli.listing import size


class Status(StrEnum):
    """How well a part is."""

    OK = "ok"
    WARNING = "warning"  # slower than need be, or only some of it works
    ERROR = "error"  # masks cannot be made, or would be wrong


class Check(NamedTuple):
    """A part that was looked at: its name, how it is, what was seen, and what to do."""

    name: str
    status: Status
    seen: str
    advice: str = ""


#: The kernels, as in `build_kernels.py`, and what they do.
KERNELS = {
    "automata.partition_kernels": "finds equivalent states",
    "engine.index.memo": "remembers what was reached",
    "engine.machine.reading": "reads bytes",
    "engine.masks.views": "arrays for masks of grammars",
    "engine.masks.kernels": "makes masks of grammars",
    "engine.masks.effect_kernels": "finds tokens with equal effects",
    "engine.masks.rows": "copies masks into batches",
    "engine.masks.trie_kernels": "puts the tokens of a walk together",
    "engine.byte_machine.byte_views": "arrays for masks of JSON Schemas",
    "engine.byte_machine.byte_kernels": "makes masks of JSON Schemas",
    "models.bitmask_kernels": "applies masks to numpy's logits",
}
_OPTIONAL = ("tokenizers", "transformers", "torch", "vllm", "sglang", "llama-cpp-python", "mlx")
_MIN_MEMORY = 1_000_000_000  # a large grammar with a large vocabulary
_MIN_DISK = 460_000_000  # the conversion of SmolLM2
_BOUND = re.compile(r"(>=|<=|<|>|==|!=)\s*([0-9][0-9.]*)")


def looked_at(*parts: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """Yield the checks of some parts.

    A part that cannot be looked at is an error, and the others are looked at nevertheless.
    """
    for part in parts:
        try:
            yield from part()
        except Exception as error:  # whatever a broken installation does
            name = getattr(part, "__name__", "tokenizer")
            advice = "the message says what to do; or install cfgguide again, or report this"
            yield Check(name, Status.ERROR, f"{type(error).__name__}: {error}", advice)


def versions() -> Iterator[Check]:
    """Yield the versions of Python and of packages."""
    yield Check("cfgguide", Status.OK, __version__)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield Check("Python", Status.OK, f"{python}, {8 * struct.calcsize('P')} bits")
    yield Check("platform", Status.OK, f"{platform.platform()}, {os.cpu_count()} cores")
    try:
        needed = [each for each in importlib.metadata.requires("cfgguide") or [] if ";" not in each]
    except importlib.metadata.PackageNotFoundError:
        needed = ["lark", "interegular", "numpy", "platformdirs", "pygtrie", "tqdm"]
    for requirement in sorted(needed):
        name = re.split(r"[^\w.-]", requirement)[0]
        yield _package(name, requirement)
    for name in _OPTIONAL:
        try:
            yield Check(name, Status.OK, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, Status.OK, "not installed")


def _package(name: str, requirement: str) -> Check:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, Status.ERROR, "not installed", f"pip install '{requirement}'")
    bounds = _BOUND.findall(requirement)
    if all(_holds(version, relation, bound) for relation, bound in bounds):
        return Check(name, Status.OK, version)
    advice = f"cfgguide was tested with others: pip install '{requirement}'"
    return Check(name, Status.WARNING, f"{version}, not {requirement}", advice)


def _holds(version: str, relation: str, bound: str) -> bool:
    """Return whether a version keeps a bound; of pre-releases the numbers count."""
    numbers = [
        [int(number) for number in re.findall(r"\d+", re.split(r"[^\d.]", each)[0])] + [0] * 4
        for each in (version, bound)
    ]
    seen, wanted = (each[:4] for each in numbers)
    relations = {">=": seen >= wanted, "<=": seen <= wanted, "<": seen < wanted}
    relations |= {">": seen > wanted, "==": seen == wanted, "!=": seen != wanted}
    return relations[relation]


def kernels() -> Iterator[Check]:
    """Yield whether each kernel is compiled."""
    compiled = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    for name, about in KERNELS.items():
        found = importlib.util.find_spec(f"cfgguide.{name}")
        if found is not None and (found.origin or "").endswith(compiled):
            yield Check(f"kernel {name}", Status.OK, f"compiled ({about})")
            continue
        advice = (
            "it works, but up to 100 times slower: install a C compiler, such as gcc, and then "
            "cfgguide again (pip install --force-reinstall --no-deps --no-cache-dir)"
        )
        yield Check(f"kernel {name}", Status.WARNING, f"not compiled ({about})", advice)


def grammars() -> Iterator[Check]:
    """Yield whether each bundled grammar is there, compiled by this code and this Python."""
    from cfgguide.base.cache import packaged, user_cache
    from cfgguide.base.limits import Limits
    from cfgguide.engine.machine.grammar_cache import CachedGrammar
    from cfgguide.engine.machine.grammar_file import KIND
    from cfgguide.grammar.grammar import Grammar

    names = Grammar.bundled_names()
    if not names:
        yield Check("grammars", Status.ERROR, "none is there", "install cfgguide again")
    for name in names:
        key = CachedGrammar(Grammar.bundled(name), Limits()).key
        if packaged(KIND, key) is not None:
            yield Check(f"grammar {name}", Status.OK, "compiled with the package")
            continue
        cache = user_cache()
        if cache is not None and cache.path(KIND, key).exists():
            yield Check(f"grammar {name}", Status.OK, "compiled, in the cache")
            continue
        advice = "compiled at its first use, python in about a minute; or install cfgguide again"
        seen = "not compiled for this Python, Lark and code"
        yield Check(f"grammar {name}", Status.WARNING, seen, advice)


def cache() -> Iterator[Check]:
    """Yield where the cache is, how full, and whether it can be used."""
    from cfgguide.base.cache import folder, user_cache

    found = user_cache()
    if found is None:
        seen, advice = "off (CFGGUIDE_CACHE)", "grammars are compiled anew in each process"
        yield Check("cache", Status.WARNING, seen, advice)
        return
    entries = found.entries()
    used = size(sum(entry.n_bytes for entry in entries))
    seen = f"{found.folder}: {len(entries)} entries, {used} of {size(found.max_bytes)}"
    problem = found.problem()
    if problem:
        advice = "make it your own (chown, chmod 700), or set CFGGUIDE_CACHE to another folder"
        yield Check("cache", Status.WARNING, f"{found.folder} {problem}", advice)
    else:
        yield Check("cache", Status.OK, seen)
    models = folder() / "models"
    n_bytes = sum(each.stat().st_size for each in models.rglob("*") if each.is_file())
    yield Check("models", Status.OK, f"{models}: {size(n_bytes)}")
    yield _disk(found.folder)


def _disk(folder: Path) -> Check:
    existing = next((each for each in (folder, *folder.parents) if each.exists()), Path("."))
    free = shutil.disk_usage(existing).free
    if free >= _MIN_DISK:
        return Check("disk", Status.OK, f"{size(free)} free for the cache")
    advice = "SmolLM2 needs 460 MB at first; set CFGGUIDE_CACHE to a folder with more room"
    return Check("disk", Status.WARNING, f"{size(free)} free for the cache", advice)


def memory() -> Iterator[Check]:
    """Yield how much memory there is, as far as the system tells."""
    found = [_number(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo"), 1024)]
    limit = _number(r"(\d+)", Path("/sys/fs/cgroup/memory.max"), 1)
    used = _number(r"(\d+)", Path("/sys/fs/cgroup/memory.current"), 1)
    if limit is not None and used is not None:
        found.append(limit - used)
    known = [each for each in found if each is not None]
    if not known:
        yield Check("memory", Status.OK, "not told by this system")
    elif min(known) >= _MIN_MEMORY:
        yield Check("memory", Status.OK, f"{size(min(known))} available")
    else:
        advice = "large grammars with large vocabularies may need 1 GB; bound them with max_memory"
        yield Check("memory", Status.WARNING, f"{size(max(0, min(known)))} available", advice)


def _number(pattern: str, path: Path, unit: int) -> int | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return int(found[1]) * unit if found else None


#: The self-test: a text, and ends of which one completes it after every byte that may come next.
_BEGUN, _ENDS = b'{"a": [1', (b"", b"}", b"]}", b"0]}")


def engine() -> Iterator[Check]:
    """Yield whether a mask of single bytes is what Lark says."""
    started = time.perf_counter()
    differing = _differing_bytes()
    seconds = time.perf_counter() - started
    if differing:
        seen = f"the mask and Lark differ in the bytes {', '.join(map(hex, differing))}"
        yield Check("self-test", Status.ERROR, seen, "report this: masks are wrong here")
    else:
        seen = f"a mask of json's is what Lark says, for all 256 bytes ({seconds:.1f} s)"
        yield Check("self-test", Status.OK, seen)


def _differing_bytes() -> list[int]:
    """Return the bytes that a mask of json allows and Lark does not, or the other way round."""
    from cfgguide.compiler import compile
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary
    from cfgguide.grammar.grammar import Grammar
    from cfgguide.grammar.lark_frontend import parser_of
    from cfgguide.guide.guide import Guide

    grammar = Grammar.bundled("json")
    guide = Guide(compile(grammar, Vocabulary.of_bytes()))
    for byte in _BEGUN:
        guide.advance(byte)
    allowed = set(guide.allowed_token_ids().tolist())
    lark = parser_of(grammar)

    def is_sentence(text: bytes) -> bool:
        try:
            lark.parse(text.decode())
        except Exception:  # Lark's errors, and those of UTF-8
            return False
        return True

    by_lark = {
        byte
        for byte in range(256)
        if any(is_sentence(_BEGUN + bytes([byte]) + end) for end in _ENDS)
    }
    return sorted(allowed ^ by_lark)


#: All parts of an installation.
PARTS = (versions, kernels, grammars, cache, memory, engine)


def tokenizer_checks(path: str) -> Iterator[Check]:
    """Yield what is wrong with the tokenizer in a folder."""
    from cfgguide.diagnostics.tokenizer import check_tokenizer
    from cfgguide.engine.vocabulary.checks import Severity
    from cfgguide.models.load import load_tokenizer
    from cfgguide.models.smollm2 import quiet_transformers

    try:
        with quiet_transformers():
            report = check_tokenizer(load_tokenizer(path))
    except CfgGuideError as error:
        yield Check("tokenizer", Status.ERROR, str(error), "name the folder of a tokenizer.json")
        return
    known = {Severity.ERROR: Status.ERROR, Severity.WARNING: Status.WARNING}
    for finding in report.findings:
        status = known.get(finding.severity, Status.OK)
        yield Check(f"tokenizer {finding.name}", status, finding.message, finding.advice)
    seen = f"{report.n_texts} texts encoded, {report.n_tokens:,} tokens decoded"
    yield Check("tokenizer", Status.OK if report.is_fine else Status.ERROR, f"{path}: {seen}")
