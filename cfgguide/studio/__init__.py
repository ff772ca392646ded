"""What people look at: the command line, pictures, the playground, evaluation.

Nothing imports it, so a picture or a command can change without a mask changing.

Read first: ``cli/main``, ``cli/parsing``; ``draw/picture``; ``playground/server``;
``evaluation/evaluation``.
"""
