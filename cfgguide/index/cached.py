"""The masks of indexes in the user's cache.

In: the digest of an index, and its masks as arrays. Out: the same masks in a later process, if the
cache is on and cfgguide's code has not changed. The bounds of :mod:`cfgguide.storage.cache` hold;
masks of more than 50 MB are not stored.
"""

from __future__ import annotations

from typing import Any

from cfgguide.recognizer.cached import ENVIRONMENT
from cfgguide.storage import archive
from cfgguide.storage.archive import Arrays
from cfgguide.storage.cache import user_cache

KIND = "masks"
MAX_BYTES = 50_000_000


def load(digest: str) -> tuple[Arrays, Any] | None:
    """Return the masks of the index with a digest; None if there are none."""
    cache = user_cache()
    return cache.load(KIND, _key(digest)) if cache else None


def drop(digest: str) -> None:
    """Remove masks that turned out to be damaged."""
    cache = user_cache()
    if cache:
        cache.drop(KIND, _key(digest))


def store(digest: str, arrays: Arrays, value: object) -> None:
    """Store masks, if there is room and they are not too large."""
    cache = user_cache()
    if cache and sum(array.nbytes for array in arrays.values()) <= MAX_BYTES:
        cache.store(KIND, _key(digest), arrays, value)


def _key(digest: str) -> str:
    return archive.digest({}, [digest, ENVIRONMENT])
