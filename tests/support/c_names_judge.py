"""The judges of C11, for texts whose own typedefs say which names are types."""

from __future__ import annotations

from support import c_judge

try:
    from pycparser import c_ast
except ImportError:  # a development package
    c_ast = None

PROGRAM = c_judge.PROGRAM


def error(text: str) -> str | None:
    """Return why a text is refused, "" if it is not, and None if no syntax of it is refused.

    Before gcc reads it, all names are declared that it makes no types.
    """
    tree = c_judge.parse(text)
    if tree is None or isinstance(tree, str):
        return tree
    types = set()

    class Types(c_ast.NodeVisitor):  # type: ignore[misc,unused-ignore]
        def visit_Typedef(self, node: c_ast.Typedef) -> None:
            types.add(node.name)
            self.generic_visit(node)

    Types().visit(tree)
    others = c_judge.words(text) - types
    return c_judge.said_by_gcc(f"{c_judge.declarations((), others)}\n{text}")
