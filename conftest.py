"""Tests compute everything themselves: nothing comes from a cache unless a test makes one."""

from __future__ import annotations

import os

os.environ["CFGGUIDE_CACHE"] = "off"
