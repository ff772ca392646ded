"""Monitors: what a grammar cannot say of a text, such as which names are known.

A ``Monitor`` is a value that is asked which texts of a terminal may stand here, and what it becomes
when one has come. A grammar's machine with a monitor is a machine again.

Read first: ``monitor``, ``text_sets``, ``watched_machine``, ``watched_masks``; who asks a monitor
what, and when, is in ``machine.places`` and ``machine.watching``.
"""
