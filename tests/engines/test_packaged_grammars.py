"""Lark's version here is another than that of the package's build: bundled grammars mean the same.

Runs in the environment of vLLM, which wants a Lark of its own: `make serve-test`.
"""

from __future__ import annotations

import lark
import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, and with it another Lark")

from cfgguide import Grammar
from cfgguide.base.limits import Limits
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.machine.grammar_cache import SAME_LARK, CachedGrammar


@pytest.mark.parametrize("name", Grammar.bundled_names())
def test_the_tables_of_the_package_are_those_of_this_lark(name):
    assert lark.__version__ in SAME_LARK
    grammar = Grammar.bundled(name)
    assert CachedGrammar(grammar, Limits()).load() is not None, "the package has it"
    packaged = compile_recognizer(grammar)
    assert compile_recognizer(grammar, use_cache=False).digest == packaged.digest
