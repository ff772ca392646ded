"""The parser of rustc as a judge of texts of Rust 2024."""

from __future__ import annotations

import functools

from support import rust_judge

PROGRAM = rust_judge.PROGRAM
error = functools.partial(rust_judge.error, edition="2024")
errors = functools.partial(rust_judge.errors, edition="2024")
