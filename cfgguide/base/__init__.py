"""What every room needs and no user sees: limits, locks, files, caches, bounded memories, sets.

Knows nothing of grammars or texts. What an error may lose, and what an interruption may leave, is
decided here: files are written whole or not at all (``archive``, ``cache``), locks are free in a
child of ``fork`` (``locks``), and a step that costs too much is ended (``limits``).

Read first: ``limits``, ``archive``, ``cache``, ``locks``, ``derived``, ``bounded``.
"""
