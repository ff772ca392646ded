"""Checks an installed cfgguide: the right kernels, compiled grammars, masks, the command line.

::

    python tools/check_installed.py               what a wheel for one machine must be
    python tools/check_installed.py --uncompiled  the wheel for every machine

It needs what cfgguide needs and nothing else, and runs outside of the checkout, which it must not
import. cibuildwheel runs it after each build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check_import() -> None:
    """Require that ``import cfgguide`` takes the installed package, and loads nothing large."""
    import cfgguide

    place = Path(cfgguide.__file__).resolve()
    assert ROOT not in place.parents or Path(sys.prefix).resolve() in place.parents, place
    assert cfgguide.__version__ == metadata.version("cfgguide"), cfgguide.__version__
    loaded = {"numpy", "torch", "transformers"} & set(sys.modules)
    assert not loaded, loaded


def check_kernels(*, are_compiled: bool) -> None:
    """Require that the kernels are compiled for this Python, or none of them is."""
    from cfgguide.engine.byte_machine import byte_kernels as pushdown_kernels
    from cfgguide.engine.machine import reading
    from cfgguide.engine.masks import kernels, rows, trie_kernels
    from cfgguide.models import bitmask_kernels

    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for module in (bitmask_kernels, kernels, rows, trie_kernels, pushdown_kernels, reading):
        path = module.__file__
        assert path is not None
        assert path.endswith(suffix if are_compiled else ".py"), path


def check_grammars() -> None:
    """Require that the bundled grammars come compiled, for this Python and this Lark."""
    import cfgguide
    from cfgguide.engine.machine.grammar_cache import CachedGrammar

    for name in cfgguide.Grammar.bundled_names():
        grammar = cfgguide.Grammar.bundled(name)
        assert CachedGrammar(grammar, cfgguide.Limits()).load() is not None, name


def check_masks() -> None:
    """Require masks that were worked out by hand: of JSON, of a grammar, and of a schema."""
    import numpy as np

    import cfgguide

    vocabulary = cfgguide.Vocabulary.of_bytes()
    guide = cfgguide.Guide(cfgguide.compile("json", vocabulary))
    for byte in b'{"a": [1, tru':
        guide.advance(byte)
    assert guide.allowed_token_ids().tolist() == list(b"e")
    bitmask = np.zeros(-(-vocabulary.size // 32), np.int32)
    guide.fill_bitmask(bitmask)
    bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == list(b"e")

    brackets = cfgguide.Grammar('start: "(" start ")" | "x"')
    guide = cfgguide.Guide(cfgguide.compile(brackets, vocabulary))
    for byte in b"((x)":
        guide.advance(byte)
    assert guide.allowed_token_ids().tolist() == list(b")")

    schema = cfgguide.json_schema({"enum": ["yes", "no"]})
    guide = cfgguide.Guide(cfgguide.compile(schema, vocabulary))
    guide.advance(ord('"'))
    assert guide.allowed_token_ids().tolist() == sorted(b"yn")


def check_command_line() -> None:
    """Require that the program tells sentences from other texts."""
    program = [sys.executable, "-m", "cfgguide.studio.cli.main"]
    scripts = Path(sysconfig.get_path("scripts"))
    assert any(scripts.glob("cfgguide*")), scripts
    with tempfile.TemporaryDirectory() as folder:
        for text, status in (("SELECT 1;", 0), ("SELECT ;", 1)):
            file = Path(folder, "text.sql")
            file.write_text(text, encoding="utf-8")
            command = [*program, "check", "sql", file.name]
            done = subprocess.run(command, cwd=folder, capture_output=True)  # not in the checkout
            assert done.returncode == status, (done.stdout + done.stderr).decode()


def main() -> None:
    """Check everything; an `AssertionError` says what is wrong."""
    os.environ["CFGGUIDE_CACHE"] = "off"
    sys.path[:] = [path for path in sys.path if Path(path).resolve() not in (ROOT, ROOT / "tools")]
    are_compiled = "--uncompiled" not in sys.argv
    warnings.simplefilter("error" if are_compiled else "ignore")
    check_import()
    check_kernels(are_compiled=are_compiled)
    check_grammars()
    check_masks()
    check_command_line()
    sys.stdout.write(f"cfgguide {metadata.version('cfgguide')} works: Python {sys.version}\n")


if __name__ == "__main__":
    main()
