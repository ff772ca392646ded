"""The machine: what reads the texts of a grammar, byte by byte, as Lark would.

Knows nothing of tokens; a vocabulary is handed through to what makes masks. ``protocol`` is all
that others may ask. ``recognizer`` is the slow and obvious form of the compiled walk in ``masks``:
it reads one byte of one configuration. ``watching`` and ``places`` are the same with a monitor.

Read first: ``protocol``, ``recognizer``, ``lr_machine``; ``places`` before ``watching``.
"""
