"""Kernels that Python itself runs: what they take from Cython, and the warning that they are slow.

They run so where no C compiler was there when the package was installed, in a browser, or where the
package was compiled for another Python.
"""

from __future__ import annotations

import functools
import sysconfig
import warnings
from contextlib import nullcontext
from pathlib import Path

from cfgguide.errors import UncompiledWarning

#: Compiled, other threads run inside; here they run anyway.
nogil = nullcontext()
compiled = False


@functools.cache
def warn_if_uncompiled(path: str) -> None:
    """Warn, once in a process, if a kernel's module was loaded from a `.py` file.

    Parameters
    ----------
    path : str
        Where the module was loaded from.
    """
    module = Path(path)
    if module.suffix != ".py":
        return
    others = sorted(
        other.name for other in module.parent.glob("kernels.*") if other.suffix in (".so", ".pyd")
    )
    if others:
        why = (
            f"they are compiled for another Python ({', '.join(others)}), and this one takes "
            f"kernels{sysconfig.get_config_var('EXT_SUFFIX')}: install cfgguide with the Python "
            "that runs it"
        )
    else:
        why = (
            "there was no wheel for this Python and machine, and no C compiler when cfgguide was "
            "installed: install one, such as gcc, and then cfgguide again from its sources "
            "(pip install --force-reinstall --no-deps --no-cache-dir --no-binary cfgguide cfgguide)"
        )
    warnings.warn(
        f"the kernels are not compiled, and make masks about 100 times slower; {why}",
        UncompiledWarning,
        stacklevel=2,
    )
