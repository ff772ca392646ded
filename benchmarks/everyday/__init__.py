"""Fifteen tasks of everyday work, as each library has its users write them.

`given` has what is declared before any snippet. The module of a library has a function for each
task that it can do, and says of the others why it cannot. The body of a function is the snippet
that `everyday_tasks.py` counts and runs; its parameters are what is there already: the model, the
tokenizer, the prompt, and what the module's own `set_up` makes once.
"""
