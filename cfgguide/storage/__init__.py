"""Files: named arrays and a JSON value in one file, and the folder in which they are cached.

Nothing that a file says is believed before it is checked.
"""
