"""Python whose names are bound, judged by `compile` and pyflakes."""

from __future__ import annotations

import ast
import builtins
import random
import symtable
import warnings
from pathlib import Path

import pytest
from support.ci import or_in_ci
from support.monitored import allowed_tokens, read_tokens

import cfgguide
from cfgguide.models import load_model
from cfgguide.monitors import python_names

checker = pytest.importorskip("pyflakes.checker")
messages = pytest.importorskip("pyflakes.messages")

pytestmark = pytest.mark.slow  # Python's grammar and its masks take their time

GOOD = [
    "x = y = 1\nprint(x, y)",
    "(x, [y, *z]) = 1, 2\nx, y, z",
    "x: int = 1\nx += 1",
    "x: int\ny: len",
    "x = {}\nx[1] = 2\nx.a.b, y = 1, 2",
    "[[y for y in x] for x in [[1]]]",
    "print(*(x.a + 1 for x in []), sep='')",
    "x = [a for a in [1] if a for b in [a] if b]",
    "if (y := 1):\n    y",
    "any((y := x) for x in [1])\ny",
    "[y for x in [1] if (y := x) if y]",
    "def f(a, b=1, *c, d, **e):\n    return a + b\nf(1)",
    "class A:\n    x = 1\n    y = x\n    def f(self):\n        return A, __class__",
    "for i, (j, k) in []:\n  print(i, j)",
    "with open('x') as f, open('y') as (g, h):\n    f, g, h",
    "try:\n  pass\nexcept ValueError as e:\n  print(e)",
    "import os.path, sys as s\nos.path, s",
    "from os import (a, b as c,)\na, c",
    "lambda x, *y, z=1: x + y[0] + z",
    "def f():\n  global q\n  q = 1\nq",
    "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n  return g",
    'x = [f"{v:{w}} {v!r} {w=}" for v, w in []]',
    'f"{x for x in []}"',
    "match 1:\n  case [a, b]:\n    a\n  case str(x=y) if y:\n    y",
    "match 1:\n  case 1 | (2 | None) as x:\n    x",
    "match 1:\n  case [x, 1 | 2 as y, *z]:\n    x, y, z",
    "match 1:\n  case {'a': 1 | 2 as x, **y}:\n    x, y",
    "match = 1\nmatch",
    "async def f(x):\n  async with x as y:\n    await y\n  return [z async for z in y]",
    '"doc"\nfrom __future__ import annotations\nimport os',
    "x = 1\ndel x",
    "def f():\n  yield 1\n  x = yield\n  return (yield x)",
    "@staticmethod\ndef f(x: int = 1, *, y: 'z' = 2) -> int: return x",
    "__name__, __file__",
]

REFUSED = [
    "x", "x = x", "x.a = 1", "f(1)", "x += 1", "x, 1", "x, y", "(x, x.a) = 1",
    "[x, y for y in []]", "[x for y in []]", "[x for x in x]",
    "[y for x in y for y in []]", "{x: y for x in []}", "(y := 1 for x in y)",
    "(y := y)", "def f(): return y", "def f():\n  print(f)\n  f = 1",
    "x = 1\ndef f():\n  x = x", "x = 1\ndef f():\n  x += 1", "def f():\n  del print",
    "def f(a, a): pass", "lambda: x", "del x", "x = 1\ndel x\nx", "print(x, y=1)",
    "for x in x: pass", "*x = 1", "import a as b\na", "import a.b as c\nb",
    "class A:\n  A", "class A:\n  x = 1\n  def f(self): return x",
    "class A:\n  x = 1\n  y = [x for z in []]",
    "try: pass\nexcept ValueError as e: pass\ne", 'f"{x}"', "x: int\nx",
    "match x:\n  case 1: pass", "match 1:\n  case x.y: pass", "global x", "yield 1",
    "match 1:\n  case (1 as x) | 2: pass", "match 1:\n  case [1 | [x]]: pass",
    "match 1:\n  case {1: 2 | {**x}}: pass",
]  # fmt: skip

WORDS = (  # noqa: SIM905
    "x y z a.b self = == : | , ( ) [ ] { } (x [x def class for in if else elif while with as "
    "import from lambda return yield await async del global nonlocal try except finally raise not "
    'and None True pass match case print len := ** -> += - * f( 1 f" " \' ): __class__ __future__'
).split()
PHRASES = [
    *(" for x in y", "def f(x):", "class A:", "for x in ", "except x as y:", "with x as y:"),
    *("(y := ", "print(x)", "\nx = ", "\ny = ", "\n ", "\n  ", "try:", "match x", "lambda x:"),
]
BEGINNINGS = [
    *("", "def f(x, *y):\n ", "async def f(x):\n ", "class A:\n x = 1\n ", "match 1:\n case "),
    *("match 1:\n case [x, y] if ", "try:\n pass\nexcept ", "def f():\n global x\n ", "with "),
    *("import ", "from ", "def f(", "class ", 'x = f"{len', "lambda ", "x = 1\ndel ", "@", "x: "),
    *("def f(x):\n y = 1\n def g():\n  nonlocal ", "x = 1\ndef f():\n print(x)\n x"),
    *("class A:\n x = 1\n def f(self):\n  ", "def f():\n y = [x for x in [1] if ("),
]


@pytest.fixture(scope="module")
def index():
    words = [word + " " if word[-1].isalpha() else word for word in WORDS]
    tokens = [word.encode() for word in dict.fromkeys([*words, *PHRASES])]
    return cfgguide.compile(python_names(), cfgguide.Vocabulary.of_bytes(tokens))


def accepts(index, text):
    configuration = index.machine.initial
    for byte in text.encode():
        configuration = index.machine.advance(configuration, bytes((byte,)))
        if configuration is None or not index.machine.is_live(configuration):
            return False
    return index.machine.is_sentence(configuration)


@pytest.mark.parametrize("text", GOOD)
def test_names_that_are_bound_may_be_read(index, text):
    assert accepts(index, text)
    assert not undefined(text)


@pytest.mark.parametrize("text", REFUSED)
def test_names_that_are_not_bound_may_not_be_read(index, text):
    assert not accepts(index, text)


class _WithoutStrings(ast.NodeTransformer):
    """pyflakes looks into strings in annotations, which the monitor does not."""

    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant("1"), node) if isinstance(node.value, str) else node


def undefined(text):
    """Compile a text, and return what pyflakes finds undefined in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "text", "exec")
        found = checker.Checker(_WithoutStrings().visit(ast.parse(text))).messages
    wanted = (messages.UndefinedName, messages.UndefinedLocal)
    return [str(each) for each in found if isinstance(each, wanted)]


def walked(index, seed):
    """Return a guide after random tokens, longer ones first."""
    rng = random.Random(seed)
    tokens = index.vocabulary.tokens
    guide = cfgguide.Guide(index)
    for byte in rng.choice(BEGINNINGS).encode():
        guide.advance(tokens.index(bytes((byte,))))
    for _ in range(rng.randrange(2, 30)):
        order = [each for each in range(len(tokens)) if tokens[each] is not None]
        rng.shuffle(order)
        order.sort(key=lambda each: len(tokens[each]) == 1 and rng.random() < 0.9)
        for token_id in order:
            after = index.machine.advance(guide.configuration, tokens[token_id])
            if after is not None and index.machine.is_live(after):
                guide.advance(token_id)
                break
        else:
            pytest.fail(f"nothing may follow {guide.text!r}")
    return guide


def test_random_texts_compile_and_read_only_names_that_are_bound(index):
    for seed in range(or_in_ci(150, 50)):
        guide = walked(index, seed)
        for token_id in guide.shortest_completion():
            guide.advance(token_id)
        assert not undefined(guide.text.decode()), guide.text


def test_budgets_hold(index):
    rng = random.Random(1)
    for n_tokens in (3, 12, 12, 40):
        guide = cfgguide.Guide(index)
        for left in range(n_tokens, 0, -1):
            token_ids = guide.allowed_within(left).tolist()
            longer = [each for each in token_ids if len(index.vocabulary.tokens[each] or b"") > 1]
            guide.advance(rng.choice(longer or token_ids))
            if guide.is_finished:
                break
        assert guide.is_finished
        assert not undefined(guide.text.decode()), guide.text


def test_masks_are_those_of_reading_every_token(index):
    tokens = index.vocabulary.tokens
    for seed in range(1000, 1060):
        guide = walked(index, seed)
        here = guide.configuration
        allowed = {each for each in guide.allowed_token_ids() if tokens[each] is not None}
        live = set()
        for token_id, token in enumerate(tokens):
            after = None if token is None else index.machine.advance(here, token)
            if after is not None and index.machine.is_live(after):
                live.add(token_id)
        assert allowed == live, guide.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun", ["def", "def f(x):\n    return", "x = [", "node_t = 1\nx = node", "import os\no"]
)
def test_masks_of_a_real_vocabulary_are_what_reading_says(begun):
    """Where thousands of names may begin, the mask has judged them together."""
    _, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    index = cfgguide.compile(python_names(), vocabulary)
    guide = cfgguide.Guide(index)
    for token_id in tokenizer.encode(begun, add_special_tokens=False):
        guide.advance(token_id)
    assert allowed_tokens(guide) == read_tokens(guide)


def definitions(module):
    """Yield functions and classes of a module, each after lines that bind what it needs."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    lines = source.split("\n")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            text = "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
            names = global_names(symtable.symtable(text, "text", "exec"))
            names -= {node.name, *dir(builtins)}
            yield "".join(f"{name} = 1\n" for name in sorted(names)) + text


def global_names(table):
    is_module = table.get_type() == "module"
    names = {
        each.get_name()
        for each in table.get_symbols()
        if (each.is_referenced() if is_module else each.is_global())
    }
    return names.union(*map(global_names, table.get_children()))


@pytest.mark.parametrize("name", ["bisect", "textwrap", "shlex", "heapq", "dis"])
def test_definitions_of_the_standard_library_are_accepted(index, name):
    texts = list(definitions(__import__(name)))
    assert texts
    for text in texts:
        if len(text) < 4000:
            assert accepts(index, text), text
