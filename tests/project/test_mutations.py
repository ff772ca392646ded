"""Each part of the engine that can be switched off is still there, and so are the tests of it."""

from __future__ import annotations

from collections import Counter

import mutations
import pytest


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.what)
def test_a_mutation_fits_the_engine(mutation: mutations.Mutation) -> None:
    assert mutations.misfit(mutation) is None
    assert mutation.new != mutation.old


def test_mutations_have_names_of_their_own() -> None:
    counts = Counter(mutation.what for mutation in mutations.MUTATIONS)
    assert [what for what, n_found in counts.items() if n_found > 1] == []


def test_the_tests_that_mutations_run_exist() -> None:
    paths = [path for suite in mutations.SUITES.values() for path in suite]
    assert [path for path in paths if not (mutations.ROOT / path).exists()] == []
