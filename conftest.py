"""Tests compute everything themselves: nothing comes from a cache unless a test makes one."""

from __future__ import annotations

import os
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

os.environ["CFGGUIDE_CACHE"] = "off"
for _name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"):  # tests set their own
    os.environ.pop(_name, None)

if runpy.run_path(str(Path(__file__).with_name("build_kernels.py")))["is_misleading"]():
    pytest.exit("the kernels were compiled from other sources: run `make install`", returncode=3)

collect_ignore = [  # the doctests import each module
    f"cfgguide/serving/{engine}_{part}.py"
    for engine, parts in (("vllm", ("parts", "metrics", "custom_tools")), ("sglang", ("parts",)))
    for part in parts
    if find_spec(engine) is None
]
