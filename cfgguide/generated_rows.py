"""Where each row of a batch is in its grammar, told by the ids that it has generated.

In: the rows of one call of ``generate``, step by step: beams may have been reordered, drafts
rejected, and rows that have ended keep coming. Out: a visit of an index for each row. It is found
by what the row has written, in a table from generated ids to visits, from which only the last token
is new in the usual case. What is not in the table is read again; so a visit depends on nothing but
the grammar and the generated ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cfgguide.errors import GenerationError
from cfgguide.index import Index
from cfgguide.visits import Visit

_KEPT_STEPS = 256  # steps of each row that are remembered

Ids = tuple[int, ...]
IdArray = npt.NDArray[np.int64]


class GeneratedRows:
    """The rows of one call of ``generate``.

    Parameters
    ----------
    indexes : sequence of Index
        One for all rows, or one for each prompt; then the rows of a prompt (its beams, or its
        texts) follow each other.
    prompts : int64, shape (n_rows, prompt_length)
        How the rows begin, padding included.

    Raises
    ------
    GenerationError
        If the rows cannot be shared out among the indexes.
    """

    def __init__(self, indexes: Sequence[Index], prompts: IdArray) -> None:
        self._indexes = indexes
        self._prompts = prompts.copy()
        # By index: after each row's generated ids, where it is, or None where it has ended.
        self._states: list[dict[Ids, Visit | None]] = [{} for _ in indexes]
        self._n_rows_each = self._shared_out()

    def _shared_out(self) -> int:
        """Return how many rows each index has."""
        n_rows, n_indexes = len(self._prompts), len(self._indexes)
        if n_indexes == 1:
            return n_rows
        if n_rows % n_indexes:
            raise GenerationError(
                f"{n_rows} rows cannot be shared out among {n_indexes} indexes; "
                "give one index for each prompt of the batch, or one for all"
            )
        n_each = n_rows // n_indexes
        for number, prompt in enumerate(self._prompts):
            first = number - number % n_each
            if not np.array_equal(prompt, self._prompts[first]):
                raise GenerationError(
                    f"rows {first} and {number} have one index and different prompts: "
                    f"{n_rows} rows, {n_indexes} indexes; "
                    "give one index for each prompt of the batch, or one for all"
                )
        return n_each

    def begin_alike(self, ids: IdArray) -> bool:
        """Return whether rows begin with the prompts.

        Where one index serves all, rows may have been reordered, or left out.

        Parameters
        ----------
        ids : int64, shape (n_rows, length)
            Prompt and generated ids of each row.
        """
        length = self._prompts.shape[1]
        if ids.shape[1] < length:
            return False
        prompts = ids[:, :length]
        if len(self._indexes) > 1 or prompts.shape == self._prompts.shape:
            is_same = np.array_equal(prompts, self._prompts)
            if is_same or len(self._indexes) > 1:
                return is_same
        return {*map(tuple, prompts.tolist())} <= {*map(tuple, self._prompts.tolist())}

    def go_on(self, ids: IdArray) -> bool:
        """Return whether each row is one seen before, or that and one token more.

        Not if all of the new tokens are such as were ruled out: nobody wrote those.
        """
        if not self.begin_alike(ids):
            return False
        n_likely = 0
        for number, generated in enumerate(self._generated(ids)):
            index, states = self.index_of(number), self._states[self._place(number)]
            if generated not in states:
                if not generated or generated[:-1] not in states:
                    return False
                before = states[generated[:-1]]
                if before is not None and generated[-1] not in index.allowed(before):
                    continue
            n_likely += 1
        return n_likely > 0

    def index_of(self, number: int) -> Index:
        """Return the index of a row."""
        return self._indexes[self._place(number)]

    def _place(self, number: int) -> int:
        return number // self._n_rows_each if len(self._indexes) > 1 else 0

    def visits(self, ids: IdArray) -> list[Visit | None]:
        """Return where each row is, or None for a row that has ended.

        A token that the mask forbids ends a row too: beam search fills up with such rows where
        fewer tokens are allowed than it has beams, and drops them for their score.
        """
        found = [
            self._visit(self.index_of(number), self._states[self._place(number)], generated)
            for number, generated in enumerate(self._generated(ids))
        ]
        for states in self._states:
            self._forget(states, len(ids))
        return found

    def _generated(self, ids: IdArray) -> Iterator[Ids]:
        return map(tuple, ids[:, self._prompts.shape[1] :].tolist())

    @staticmethod
    def _visit(index: Index, states: dict[Ids, Visit | None], generated: Ids) -> Visit | None:
        known = len(generated)
        while known and generated[:known] not in states:
            known -= 1
        visit = states[generated[:known]] if known else index.start
        for token_id in generated[known:]:
            if visit is None:
                break
            is_last = token_id in index.vocabulary.eos_token_ids
            is_allowed = token_id in index.allowed(visit)
            visit = index.advance(visit, token_id) if is_allowed and not is_last else None
        states[generated] = visit
        return visit

    @staticmethod
    def _forget(states: dict[Ids, Visit | None], n_rows: int) -> None:
        """Forget the oldest rows, but none that a rejected draft may go back to."""
        while len(states) > _KEPT_STEPS * n_rows:
            del states[next(iter(states))]
