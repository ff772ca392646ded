"""Masks made before their first use, by this process or by several, on top of an index.

Whatever it makes is what an index would make when asked: it saves time, and changes no mask.

Read first: ``ahead``, ``frontier``, ``workers``.
"""
