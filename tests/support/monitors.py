"""Monitors for random grammars with the terminals A and B (:data:`hostile.tables.WATCHED`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cfgguide.monitors import AllBut, Monitor, OneOf


@dataclass(frozen=True)
class Different(Monitor):
    """No text of A comes twice."""

    terminals = frozenset({"A"})
    seen: frozenset[str] = frozenset()

    def texts(self, terminal: str) -> AllBut:
        return AllBut(self.seen)

    def shifted(self, terminal: str, text: str) -> Different:
        return replace(self, seen=self.seen | {text})


@dataclass(frozen=True)
class Known(Monitor):
    """After the first one, A is a text that B was; there are few of them."""

    terminals = frozenset({"A", "B"})
    known: frozenset[str] | None = None

    def texts(self, terminal: str) -> OneOf | None:
        return OneOf(sorted(self.known)) if terminal == "A" and self.known else None

    def shifted(self, terminal: str, text: str) -> Known:
        known = self.known or frozenset()
        return Known(known | {text}) if terminal == "B" and len(known) < 4 else self


MONITORS = {"different": Different, "known": Known}
