"""The tabs that show the page: what each has compiled and read, and which of its work is wanted.

In: the ids that the tabs chose for themselves. Out: a :class:`Tab` for each, of which the least
recently used are forgotten. Work of one kind is done once at a time for a tab: a newer request
takes the place of the older, which is cancelled, as is one whose page has gone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cfgguide.errors import CfgGuideError
from cfgguide.studio.playground.allowed import TokenList
from cfgguide.studio.playground.reading import MaskMaker, Reading

MAX_TABS = 32


class SupersededError(CfgGuideError):
    """A newer request of the same tab has taken the place of this one."""

    code = "error"


class Tab:
    """One tab.

    Attributes
    ----------
    lock : lock
        Held while its text is read.
    reading : Reading or None
        Its text; None until a grammar is compiled.
    token_list : TokenList
        The list that it shows.
    masks : MaskMaker
        Makes its masks.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reading: Reading | None = None
        self.token_list = TokenList()
        self.masks = MaskMaker()
        self.sent: tuple[int, list[object]] = (0, [])  # the last answer, and its tokens
        self._turns: dict[str, int] = {}
        self._turns_lock = threading.Lock()

    @contextmanager
    def turn(self, kind: str, has_left: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
        """Begin work of a kind, which ends what is under way; yield whether to give up.

        Raises
        ------
        SupersededError
            If newer work, or :meth:`cancel`, has ended this.
        """
        with self._turns_lock:
            mine = self._turns[kind] = self._turns.get(kind, 0) + 1
        try:
            yield lambda: self._turns[kind] != mine or has_left()
        except CfgGuideError as error:
            if self._turns[kind] != mine:
                raise SupersededError("cancelled") from error
            raise
        if self._turns[kind] != mine:
            raise SupersededError("cancelled")

    def cancel(self) -> None:
        """End all work that is under way."""
        with self._turns_lock:
            for kind in self._turns:
                self._turns[kind] += 1


class Tabs:
    """The tabs by their ids; bounded.

    Examples
    --------
    >>> tabs = Tabs()
    >>> tabs.get("one") is tabs.get("one"), tabs.get("one") is tabs.get("two")
    (True, False)
    """

    def __init__(self) -> None:
        self._tabs: OrderedDict[str, Tab] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tab_id: str) -> Tab:
        """Return a tab, a new one if its id is not known."""
        with self._lock:
            tab = self._tabs.setdefault(tab_id, Tab())
            self._tabs.move_to_end(tab_id)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)[1].cancel()
            return tab

    def close(self, tab_id: str) -> Tab | None:
        """Forget a tab, and end its work; return it."""
        with self._lock:
            tab = self._tabs.pop(tab_id, None)
        if tab is not None:
            tab.cancel()
        return tab

    def all(self) -> list[Tab]:
        """Return the tabs."""
        with self._lock:
            return list(self._tabs.values())
