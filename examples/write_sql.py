"""A real model asks a database: SmolLM2-135M writes queries, SQLite runs them.

The grammar is one SQLite query that prepares on this database: the model can use no other table,
column or function, each only where it belongs, and cannot write. Its query need not answer the
question: the model is small. Run it with ``make demo``, or with your own question:
``python examples/write_sql.py "Which books are older than 1950?"``.
"""

from __future__ import annotations

import sqlite3
import sys
import time

import cfgguide
from cfgguide.languages.presets import is_past_statement
from cfgguide.models import load_model

SCHEMA = """\
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER, year INTEGER,
                    copies INTEGER);
"""
ROWS = """
INSERT INTO authors VALUES (1, 'Selma Lagerlöf', 'Sweden'), (2, 'Italo Calvino', 'Italy'),
                           (3, 'Astrid Lindgren', 'Sweden');
INSERT INTO books VALUES (1, 'Invisible Cities', 2, 1972, 3), (2, 'Ronia', 3, 1981, 5),
                         (3, 'Gösta Berlings saga', 1, 1891, 1), (4, 'Cosmicomics', 2, 1965, 2);
"""
QUESTIONS = [
    "How many books are there?",
    "Which books are newer than 1970?",
    "Which authors come from Sweden?",
]
# A small model needs to see a few answers first.
ANSWERED = """\
-- Which books are older than 1900?
SELECT title FROM books WHERE year < 1900;

-- Which authors come from Norway?
SELECT name FROM authors WHERE country = 'Norway';

-- How many authors are there?
SELECT COUNT(*) FROM authors;
"""


def main() -> int:
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA + ROWS)
    database.execute("PRAGMA query_only = ON")
    model, tokenizer = load_model()
    started = time.perf_counter()
    grammar = cfgguide.sql.runs_on(database, new_columns=False)
    index = cfgguide.compile(grammar, tokenizer)
    print(f"compiled the grammar for {index.vocabulary.size} tokens ", end="")
    print(f"in {time.perf_counter() - started:.2f} s\n")
    n_answered = 0
    for question in sys.argv[1:] or QUESTIONS:
        print(f"> {question}")
        stream = cfgguide.stream(
            model,
            f"{SCHEMA}\n{ANSWERED}\n-- {question}\n",
            tokenizer=tokenizer,
            what=index,
            until=is_past_statement,
            max_new_tokens=80,
        )
        for part in stream:
            print(part.text, end="", flush=True)
        result = stream.result
        if not result.is_complete:
            print("\n-- incomplete: the query did not end within the tokens\n")
            continue
        rows = database.execute(result.text).fetchmany(5)
        n_answered += 1
        print("\n-- SQLite answers: " + ", ".join(map(repr, rows)) + "\n")
    return 0 if n_answered == len(sys.argv[1:] or QUESTIONS) else 1


if __name__ == "__main__":
    sys.exit(main())
