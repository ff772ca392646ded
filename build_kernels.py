"""Compiles the kernels, the modules of `KERNELS`, from Python to C with Cython.

A wheel's build also compiles the bundled grammars into it (``tools/compile_grammars.py``), two
thirds of its time; not with `CFGGUIDE_PACKAGE_GRAMMARS=off`, for an installation from a checkout in
a hurry. There, and in a checkout, they are compiled when they are first asked for, and kept in the
user's cache.

The build of a wheel or an editable installation runs the hook at the end. In a checkout, ::

    python build_kernels.py          compile beside the sources what was compiled from others
    python build_kernels.py --check  fail if the checkout would run kernels of other sources

Each module stays Python that also runs uncompiled; `NAME.pxd` beside it has the types that C needs.
Without a C compiler the installation succeeds, and the kernels run uncompiled. So they do where
`CFGGUIDE_UNCOMPILED=1` is set, which makes a wheel for every machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent

#: The modules that are compiled. A new one is added here, with its `.pxd` beside it.
KERNELS = [
    "cfgguide/automata/partition_kernels",
    "cfgguide/engine/index/memo",
    "cfgguide/engine/machine/reading",
    "cfgguide/engine/masks/views",
    "cfgguide/engine/masks/kernels",
    "cfgguide/engine/masks/effect_kernels",
    "cfgguide/engine/masks/rows",
    "cfgguide/engine/masks/trie_kernels",
    "cfgguide/engine/byte_machine/byte_views",
    "cfgguide/engine/byte_machine/byte_kernels",
    "cfgguide/models/bitmask_kernels",
]

#: What Cython writes for all of them alike, as one more module: in each of them it would take more
#: than half of the time, and of the space.
SHARED = "cfgguide/shared_by_kernels"
COMPILED = [SHARED, *KERNELS]

#: C's arithmetic and no checks: what uncompiled kernels do without an error, they do compiled.
DIRECTIVES = {
    "annotation_typing": False,  # the types stand in the `.pxd`
    "boundscheck": False,
    "cdivision": True,
    "cpow": True,
    "freethreading_compatible": True,
    "infer_types": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0"]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
#: For each module that was compiled in this checkout the digest of its sources.
DIGESTS = ROOT / "build" / "kernels.json"

NO_COMPILER = """\
The kernels could not be compiled ({}).
cfgguide works without them, but makes masks about 100 times slower. Install a C compiler (for
Debian or Ubuntu: apt install gcc python3-dev; macOS: xcode-select --install; Windows: the build
tools of Visual Studio), and install cfgguide again."""


class NoCompilerError(Exception):
    """The C compiler is missing or fails."""


def compile_kernels(modules: list[str], folder: Path) -> None:
    """Compile modules into a folder, each to the path that it has in the package."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.errors import BaseError, CompileError, LinkError

    with tempfile.TemporaryDirectory() as work:
        sources = {name: f"{name}.py" for name in modules}
        sources[SHARED] = f"{work}/{Path(SHARED).name}.c"  # which names the module
        extensions = cythonize(
            [
                Extension(name.replace("/", "."), [source], extra_compile_args=FLAGS)
                for name, source in sources.items()
            ],
            build_dir=work,
            compiler_directives=DIRECTIVES,
            quiet=True,
            shared_utility_qualified_name=SHARED.replace("/", "."),
        )
        command: Any = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.parallel = str(folder), work, True
        command.ensure_finalized()
        try:
            command.run()
        except (BaseError, CompileError, LinkError) as error:
            raise NoCompilerError(NO_COMPILER.format(error)) from error


def digest(module: str) -> str:
    """Return what changes with all that a compiled module is made from, but for Cython."""
    sources = [Path(__file__)]
    if module != SHARED:
        sources += [ROOT / f"{module}.py", *sorted(ROOT.glob("cfgguide/**/*.pxd"))]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


def stale() -> list[str]:
    """Return the modules that are not compiled, or from other sources."""
    known = json.loads(DIGESTS.read_text()) if DIGESTS.is_file() else {}
    return [
        name
        for name in COMPILED
        if not (ROOT / (name + SUFFIX)).is_file() or known.get(name + SUFFIX) != digest(name)
    ]


def is_misleading() -> bool:
    """Return whether the checkout would run a kernel that was compiled from other sources."""
    return any((ROOT / (name + SUFFIX)).is_file() for name in stale())


def compile_in_place() -> None:
    """Compile beside the sources what is stale; without a compiler nothing stays there."""
    from Cython import __version__ as version  # of which all have to be that use what is shared

    known = json.loads(DIGESTS.read_text()) if DIGESTS.is_file() else {}
    modules = stale() if known.get("Cython") == version else COMPILED
    for name in modules:
        (ROOT / (name + SUFFIX)).unlink(missing_ok=True)
    if not modules:
        return
    with tempfile.TemporaryDirectory() as folder:
        compile_kernels(modules, Path(folder))
        for name in modules:
            shutil.move(Path(folder) / (name + SUFFIX), ROOT / (name + SUFFIX))
    known |= {name + SUFFIX: digest(name) for name in modules} | {"Cython": version}
    DIGESTS.parent.mkdir(exist_ok=True)
    DIGESTS.write_text(json.dumps(known, indent=1))


def compile_grammars() -> str | None:
    """Compile the bundled grammars in place; return what went wrong, if anything did."""
    command = [sys.executable, "tools/compile_grammars.py"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").split("\n")
    return next(filter(str.strip, reversed(said)), f"exit status {done.returncode}").strip()


class KernelsHook(BuildHookInterface):
    """Compiles in place: kernels, and for a wheel the grammars, which it then holds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and have the wheel say for which Python and machine it is."""
        if self.target_name != "wheel":
            return
        os.chdir(ROOT)
        is_compiled = os.environ.get("CFGGUIDE_UNCOMPILED") != "1"
        if is_compiled:  # first: grammars take much longer without
            try:
                compile_in_place()
            except NoCompilerError as error:
                self.app.display_warning(str(error))
                is_compiled = False
        if version == "editable":
            return
        if os.environ.get("CFGGUIDE_PACKAGE_GRAMMARS") == "off":
            failure = "CFGGUIDE_PACKAGE_GRAMMARS is off"
        else:
            failure = compile_grammars()
        if failure:
            self.app.display_warning(f"The bundled grammars are compiled when used: {failure}")
        else:
            build_data["force_include"]["cfgguide/compiled"] = "cfgguide/compiled"
        if not is_compiled:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for name in COMPILED:
            build_data["force_include"][name + SUFFIX] = name + SUFFIX


def main() -> int:
    """Compile in place, or check; return the exit status."""
    os.chdir(ROOT)
    if "--check" in sys.argv:
        return int(is_misleading())
    try:
        compile_in_place()
    except NoCompilerError as error:
        sys.stderr.write(f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
