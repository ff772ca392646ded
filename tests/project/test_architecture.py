"""The package keeps to its plan: ARCHITECTURE.md's order of rooms, and a few house rules.

Imports inside functions count too; those for type checkers only (`if TYPE_CHECKING:`) do not.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cfgguide

PACKAGE = Path(cfgguide.__file__).parent
ARCHITECTURE = Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
#: Every module by its dotted name below `cfgguide`; a folder's `__init__` by the folder's name.
FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path != PACKAGE / "__init__.py"
}
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
FOLDERS = [name for name, path in FILES.items() if path.stem == "__init__"]
MODULES = [name for name in FILES if name not in FOLDERS]
#: Modules that only name what is public, for `import cfgguide.sql` and the like.
NAMESPACES = {
    path.stem for path in PACKAGE.glob("*.py") if "lazy_names(" in path.read_text(encoding="utf-8")
} - {"__init__"}
#: Constructors of a class that lies lower than what they make: the class is imported everywhere,
#: what a method of it makes only when that is called.
CONSTRUCTORS = {
    ("engine.index.saved_index", "compiler"): "Index.load compiles the schema that a file holds",
    ("grammar.grammar", "engine.monitors.monitored_grammar"): "Grammar.watched_by",
    ("grammar.grammar", "languages.tidy_forms"): "Grammar.bundled with tidy=True",
    ("grammar.grammar", "schema.embedded_rules"): "Grammar.llguidance: %json in a grammar",
    ("grammar.combinators.parts", "schema.messages.message_grammar"): "concat: schemas as parts",
}
#: Functions that import what they are given by its name.
IMPORTING = ("import_module", "__import__")
#: Modules that look at what is imported already, or import by a name that is not written there.
LOOKING = {
    "base.lazy": "public names, imported when they are first used; a test compares them",
    "base.locks": "a child of fork renews the locks of all modules",
    "models.dense_mask": "a value can be torch's only if torch is imported",
    "models.serving.settings": "CFGGUIDE_GRAMMARS=module:function names a module of the operator's",
    "models.transformers.generate_calls": "where transformers keeps its processors, if it has any",
    "studio.cli.arguments": "--postlex MODULE:CLASS names a module of the user's",
    "studio.draw.notebook": "whether a notebook runs this",
    "studio.evaluation.mass": "logits can be of torch only if torch is imported",
}


def listed_rooms() -> list[str]:
    """The rooms, and modules beside them, in the order in which ARCHITECTURE.md lists them."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = text.split("\n## The rooms\n")[1].split("\n## ")[0]
    return re.findall(r"^\* `(\w+)(?:\.py|/)`", section, re.MULTILINE)


@functools.cache
def text_of(module: str) -> str:
    return FILES[module].read_text(encoding="utf-8")


@functools.cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def last_name(node: ast.expr) -> str:
    """`name` of an expression `name` or `....name`, else nothing."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def run_nodes(node: ast.AST) -> list[ast.AST]:
    """All nodes below `node` but those under `if TYPE_CHECKING:`."""
    found: list[ast.AST] = []
    pending = [node]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            is_typing = isinstance(child, ast.If) and last_name(child.test) == "TYPE_CHECKING"
            found.append(child)
            pending += child.orelse if is_typing else [child]
    return found


@functools.cache
def every_node(module: str) -> list[ast.AST]:
    return list(ast.walk(tree_of(module)))


@functools.cache
def nodes_of(module: str) -> list[ast.AST]:
    """All nodes of a module but those for type checkers."""
    return run_nodes(tree_of(module))


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """What a module imports, anywhere in it: "lark", or "cfgguide.errors" for one of ours."""
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            if node.module != "__future__":
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and last_name(node.func) in IMPORTING:
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                found.add(str(argument.value))
    return frozenset(found)


def internal(module: str) -> set[str]:
    """Our modules and folders that a module imports."""
    found = set()
    for name in imports_of(module):
        if name.startswith("cfgguide."):
            path = name.removeprefix("cfgguide.")
            found.add(path if path in FILES else path.rpartition(".")[0] or path)
    return found & FILES.keys()


def external(module: str) -> set[str]:
    return {name.split(".")[0] for name in imports_of(module)} - {"cfgguide"}


def reachable(module: str) -> set[str]:
    """The module and all of ours that it imports, directly or not, but for constructors."""
    found, pending = {module}, [module]
    while pending:
        here = pending.pop()
        for name in internal(here) - found:
            if (here, name) not in CONSTRUCTORS:
                found.add(name)
                pending.append(name)
    return found


def room_of(module: str) -> str:
    return module.split(".")[0]


def imported_first(module: str) -> set[str]:
    """Our modules that a module imports when it is imported itself."""
    functions = [
        node
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    late = {id(node) for function in functions for node in run_nodes(function)}
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom) and id(node) not in late:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name.removeprefix("cfgguide.") for name in names}
            found.add(str(node.module).removeprefix("cfgguide."))
    return found & FILES.keys()


# --- Order ---------------------------------------------------------------------------------------


def test_every_room_is_listed_once():
    alone = {name for name in MODULES if "." not in name} - NAMESPACES
    assert sorted(listed_rooms()) == sorted([*ROOMS, *alone])


def test_modules_import_only_from_their_own_rooms_and_those_listed_before():
    listed = listed_rooms()
    later = {
        (module, name)
        for module in MODULES
        if module not in NAMESPACES
        for name in internal(module)
        if room_of(name) not in listed[: listed.index(room_of(module)) + 1]
    }
    assert later - CONSTRUCTORS.keys() == set()


def test_constructors_are_the_only_exceptions():
    assert all(name in internal(module) for module, name in CONSTRUCTORS)


@pytest.mark.slow
def test_modules_load_one_after_the_other():
    order = graphlib.TopologicalSorter({name: imported_first(name) - {name} for name in FILES})
    order.prepare()  # raises CycleError


def is_looking(module: str) -> bool:
    by_name = [
        node
        for node in nodes_of(module)
        if isinstance(node, ast.Call)
        and last_name(node.func) in IMPORTING
        and not isinstance(node.args[0], ast.Constant)
    ]
    return bool(by_name) or "sys.modules" in text_of(module)


def test_imports_are_written_where_they_are_made():
    assert {module for module in MODULES if is_looking(module)} == LOOKING.keys()


PAGES = [name for name in FOLDERS if "Read" in (ast.get_docstring(tree_of(name)) or "")]


def test_every_room_has_a_page():
    assert {*ROOMS} <= {*PAGES}


@pytest.mark.parametrize("room", PAGES)
def test_a_page_names_modules_that_exist(room):
    """After `Read`, names in double quotes of code are modules, below the room or a part of it."""
    page = ast.get_docstring(tree_of(room))
    reading = page[page.index("Read ") :]
    names = [name.replace("/", ".") for name in re.findall(r"``([a-z0-9_./]+)``", reading)]
    assert len(names) > 1
    missing = [each for each in names if f"{room}.{each}" not in FILES]
    assert [each for each in missing if f"{room.split('.')[0]}.{each}" not in FILES] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_two_modules_of_a_room_have_one_name(room):
    stems = [name.rpartition(".")[2] for name in MODULES if room_of(name) == room]
    assert len(stems) == len(set(stems))


#: Which modules may know a library, and no others.
KNOWN_BY = {
    # Tables come from one, what Lark reads from another; the rest ask why it refuses something.
    "lark": {
        "grammar.expansions",
        "grammar.lr_automaton",
        "grammar.lark_frontend",
        "grammar.indenters",
        "grammar.lark_parts",
        "grammar.rejections",
        "grammar.fragments",
    },
    "interegular": {"diagnostics.overlaps", "grammar.rejections"},
    "cython": {
        *("automata.partition_kernels", "engine.masks.kernels", "engine.masks.rows"),
        *("engine.masks.trie_kernels", "engine.masks.effect_kernels", "engine.index.memo"),
        *("engine.byte_machine.byte_kernels", "engine.byte_machine.byte_views"),
        "models.bitmask_kernels",
    },
    "pygtrie": {"engine.index.configuration_trie"},
    "torch": {
        *(
            "models.bitmask", "models.dense_mask", "studio.evaluation.mass",
            "models.transformers.logits_processor",
        ),
        *(
            "models.transformers.generation", "studio.evaluation.evaluation",
            "models.transformers.causal_model",
            "models.transformers.continuous_batching", "models.load", "models.smollm2",
            "models.serving.vllm_parts", "models.serving.sglang_parts",
        ),
    },
    "llama_cpp": {"models.llama_cpp"},
    "vllm": {
        "models.serving.vllm",
        "models.serving.vllm_custom_tools",
        "models.serving.vllm_parts",
    },
    "mlx": {"models.serving.mlx"},
    "sglang": {"models.serving.sglang", "models.serving.sglang_parts"},
    "transformers": {
        *(
            "models.transformers.logits_processor", "models.transformers.generation",
            "models.transformers.causal_model", "models.load",
        ),
        "models.transformers.continuous_batching",
        "models.smollm2",
    },
    "tokenizers": {"engine.vocabulary.tokenizer_bytes", "models.smollm2"},
    "gguf": {"models.smollm2"},
    "argparse": {
        *(
            "studio.cli.main", "studio.cli.arguments", "studio.cli.parsing",
            "studio.cli.checking", "studio.cli.comparing", "studio.cli.converting",
            "studio.cli.describing",
        ),
        *(
            "studio.cli.generating", "studio.cli.indexing", "studio.cli.tracing",
            "studio.cli.listing", "studio.cli.completing",
        ),
        *("studio.cli.doctor", "studio.cli.playing"),
    },
    # Private modules of Python: how `re` reads a pattern, and how it ignores case.
    "re._parser": {"automata.syntax"},
    "re._constants": set(),
    "re._compiler": set(),
    "_sre": {"automata.charset"},
    "re._casefix": {"automata.charset"},
}  # fmt: skip


@pytest.mark.parametrize("library", KNOWN_BY)
def test_a_library_is_known_to_few_modules(library):
    knowing = {
        module
        for module in MODULES
        if any(f"{name}.".startswith(f"{library}.") for name in imports_of(module))
    }
    assert knowing <= KNOWN_BY[library]


VOCABULARY_SIDE = {
    "engine.vocabulary.tokenizer_bytes",
    "engine.vocabulary.vocabulary",
    "engine.vocabulary.trie",
    "engine.vocabulary.vocabulary_cache",
}
#: Which byte strings can be spelled is the only word that the grammar side hears of a vocabulary;
#: finding what is alike is arithmetic, and files are files.
SHARED = {"errors", "base.symbols", "engine.vocabulary.spelling", "automata.partition"} | {
    "base.archive",
    "base.cache",
    "base.replaced",
}


def test_the_grammar_side_knows_no_vocabulary_and_the_vocabulary_side_no_grammar():
    grammar_side = reachable("engine.liveness.liveness") | reachable("grammar.lark_frontend")
    vocabulary_side = {name for module in VOCABULARY_SIDE for name in reachable(module)}
    assert {
        "grammar.lark_frontend",
        "engine.lexer.scanner",
        "engine.machine.recognizer",
    } <= grammar_side
    assert grammar_side & VOCABULARY_SIDE == set()
    assert vocabulary_side & grammar_side <= SHARED


# --- What docstrings and documents name ----------------------------------------------------------


def named_in(tree: ast.Module) -> set[str]:
    """Names of a module and, after a dot, those of the bodies of its classes."""
    found: set[str] = set()
    pending: list[tuple[str, ast.AST]] = [("", node) for node in tree.body]
    while pending:
        prefix, node = pending.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(prefix + node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {prefix + (alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {prefix + each.id for each in targets if isinstance(each, ast.Name)}
        if isinstance(node, ast.ClassDef | ast.If | ast.Try):
            inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
            pending += [(inner, each) for each in ast.iter_child_nodes(node)]
    return found


def is_there(target: str) -> bool:
    """Whether a dotted name is a module of ours, or is defined in one, or inherited there."""
    parts = target.split(".")[1:]
    n = max((n for n in range(len(parts) + 1) if ".".join(parts[:n]) in FILES), default=0)
    home, rest = ".".join(parts[:n]), parts[n:]
    if not rest or (home and ".".join(rest) in named_in(tree_of(home))):
        return True
    try:
        found = importlib.import_module(f"cfgguide.{home}".rstrip("."))
        for part in rest:
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return True


def test_what_docstrings_refer_to_exists():
    pattern = r":(?:mod|class|func|meth):`~?(cfgguide(?:\.\w+)+)(?:\(\))?`"
    named = {(module, each) for module in FILES for each in re.findall(pattern, text_of(module))}
    assert {(module, each) for module, each in named if not is_there(each)} == set()


def remembers(module: str) -> bool:
    """Whether a module keeps results: on disk, or in memory by a key that callers give."""
    if imports_of(module) & {"cfgguide.base.bounded.BoundedDict", "cfgguide.base.cache.user_cache"}:
        return True
    return any(
        re.search(r"\blru_cache\b", ast.unparse(each))
        or (re.search(r"\bcache$", ast.unparse(each)) and ast.unparse(node.args))
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef)
        for each in node.decorator_list
    )


def test_every_memory_is_listed_with_its_bound():
    page = (ARCHITECTURE.parent / "docs" / "capacity.md").read_text(encoding="utf-8")
    section = page.split("\n## What is remembered\n")[1]
    listed = {each.replace("/", ".") for each in re.findall(r"`([\w/]+)\.py`", section)}
    assert listed <= {*MODULES}
    assert {module for module in MODULES if remembers(module)} <= listed


# --- What is loaded ------------------------------------------------------------------------------


def loaded_by(statement: str) -> set[str]:
    """The top-level modules of a fresh interpreter after a statement."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); {statement}; print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.split()}


HEAVY = {"torch", "transformers", "lark", "tokenizers", "numpy"}


@pytest.mark.few(7)
@pytest.mark.parametrize(
    ("statement", "light_of"),
    [
        ("import cfgguide", HEAVY),
        ("import cfgguide; cfgguide.Grammar.bundled('json')", HEAVY),
        ("import cfgguide; cfgguide.Vocabulary([b'a'], eos_token_ids=0)", HEAVY),
        ("import cfgguide.sql", HEAVY),
        ("from cfgguide.errors import CfgGuideError", HEAVY),
        ("import cfgguide.studio.cli.main", {"torch", "transformers"}),
        ("import cfgguide; cfgguide.LogitsProcessor, cfgguide.generate", {"torch", "transformers"}),
        ("import cfgguide; cfgguide.apply_bitmask", {"torch", "transformers"}),
        (
            "import cfgguide; cfgguide.sample, cfgguide.integrations.TransformersModel",
            {"torch", "transformers", "tokenizers"},
        ),
        (
            "import cfgguide; cfgguide.diagnostics.check_tokenizer",
            {"torch", "transformers", "tokenizers"},
        ),
        (
            "import cfgguide; cfgguide.evaluation.evaluate, cfgguide.evaluation.masks_for",
            {"torch", "transformers"},
        ),
        (
            "import cfgguide; cfgguide.evaluation.kept_mass, cfgguide.integrations.bool_mask",
            {"torch", "transformers"},
        ),
        (
            "import cfgguide; cfgguide.integrations.LlamaCppProcessor",
            {"torch", "transformers", "llama_cpp"},
        ),
        ("import cfgguide.models.load", {"torch", "transformers"}),
    ],
)
def test_imports_load_no_more_than_they_need(statement, light_of):
    assert loaded_by(statement) & light_of == set()


PUBLIC = ["cfgguide", *(f"cfgguide.{name}" for name in FILES if "= lazy_names(" in text_of(name))]


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_listed_documented_and_found(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name).__doc__
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018  (the access is what is tested)


@pytest.mark.parametrize("package", PUBLIC)
def test_type_checkers_see_the_public_names(package):
    """Those under `if TYPE_CHECKING:` in the package are the ones that are found at run time."""
    module = importlib.import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (typing,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in typing.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(map(str, seen)) == module.__all__
    for name, path in seen.items():
        if path in PUBLIC:
            assert importlib.import_module(path) is getattr(module, str(name))
        else:
            home, _, attribute = path.rpartition(".")
            assert getattr(importlib.import_module(home), attribute) is getattr(module, str(name))


@pytest.mark.parametrize("package", PUBLIC)
def test_no_public_name_is_that_of_a_module_beside_it(package):
    """Importing the module would put it in the place of what the name stands for."""
    folder = PACKAGE / package.removeprefix("cfgguide").lstrip(".")
    beside = {path.stem for path in folder.glob("*.py")} - NAMESPACES
    beside |= {path.parent.name for path in folder.glob("*/__init__.py")} - {*ROOMS}
    assert set(importlib.import_module(package).__all__) & beside == set()


# --- House rules ---------------------------------------------------------------------------------


def public_definitions(module: ModuleType) -> list[tuple[str, object]]:
    """Functions and classes that a module defines, and the methods of those classes."""
    found: list[tuple[str, object]] = []
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            found.append((name, value))
        if inspect.isclass(value):
            found += [
                (f"{name}.{member}", method)
                for member, method in vars(value).items()
                if not member.startswith("_")
                and isinstance(
                    method, property | classmethod | staticmethod | functools.cached_property
                )
                | inspect.isfunction(method)
            ]
    return found


#: Modules that can be imported only where an engine is.
ENGINES = {
    "models.serving.vllm_custom_tools": "vllm",
    "models.serving.vllm_metrics": "vllm",
    "models.serving.vllm_parts": "vllm",
    "models.serving.sglang_parts": "sglang",
}


def undocumented(name: str) -> list[str]:
    """The public definitions of a module that lack a docstring; "" is the module itself."""
    module = importlib.import_module(name)
    documented = [("", module), *public_definitions(module)]
    return [f"{name}.{path}" for path, value in documented if not inspect.getdoc(value)]


def test_modules_and_all_that_is_public_in_them_have_docstrings():
    names = [f"cfgguide.{name}" for name in FILES if name not in ENGINES]
    assert [each for name in ["cfgguide", *names] for each in undocumented(name)] == []


@pytest.mark.parametrize("name", ENGINES)
def test_modules_for_engines_have_docstrings(name):
    pytest.importorskip(ENGINES[name], reason="only `make serve-test` has it")
    assert undocumented(f"cfgguide.{name}") == []


def prints(module: str) -> bool:
    calls = [node.func for node in every_node(module) if isinstance(node, ast.Call)]
    writing = [each for each in calls if last_name(each) in ("print", "write")]
    return any(ast.unparse(each) in ("print", "sys.stdout.write") for each in writing)


def test_only_the_command_line_prints():
    others = [module for module in FILES if not module.startswith("studio.cli.")]
    assert [module for module in others if prints(module)] == []


def test_no_error_is_swallowed_by_a_bare_except():
    handlers = [
        (module, node)
        for module in MODULES
        for node in every_node(module)
        if isinstance(node, ast.ExceptHandler)
    ]
    assert [(module, node.lineno) for module, node in handlers if node.type is None] == []


def test_tests_stand_in_the_rooms_of_what_they_test():
    """What crosses rooms stands beside them, in folders that no room is called like."""
    tests = ARCHITECTURE.parent / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    inside = {folder for folder in folders if folder.parts[0] in ROOMS}
    assert {folder.parts[0] for folder in inside} == {*ROOMS}
    assert {str(folder) for folder in inside if not (PACKAGE / folder).is_dir()} == set()


def test_no_test_file_imports_another():
    """What two of them need stands in tests/support."""
    tests = ARCHITECTURE.parent / "tests"
    statement = re.compile(r"^\s*(?:from|import)\s.*\b(test_\w+)", re.MULTILINE)
    importing = {
        str(path.relative_to(tests)): others
        for path in sorted(tests.rglob("*.py"))
        if (others := {*statement.findall(path.read_text(encoding="utf-8"))} - {path.stem})
    }
    assert importing == {}


def test_no_work_is_left_as_a_note():
    note = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
    assert [module for module in FILES if note.search(text_of(module))] == []
