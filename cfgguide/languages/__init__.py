"""What bundled languages know beyond their grammars: names, scopes, tidy forms, presets.

Uses the public interface of monitors, and nothing that a user could not use. Each language is one
module or a few that begin with its name; ``sql`` has a folder.

Read first: ``states`` (what all of them share), ``python_monitor``,
``sql/select_monitor``; ``presets`` and ``tidy_forms`` are data.
"""
