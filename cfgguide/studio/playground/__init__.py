"""A page on this machine that shows what a mask does, and the server behind it."""
