"""A real PostgreSQL server in a temporary folder, which prepares statements and runs none of them.

``running()`` makes a cluster, starts a server that listens on a socket in that folder only, and
removes both in the end. It takes half a second. PostgreSQL refuses to run as root; then the server
runs as the user `postgres`, whom its package makes. `MISSING` says why there can be no server.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PROGRAMS = ("initdb", "pg_ctl", "postgres", "psql")
_MARK = "\x1e"  # after each answer, since messages may have several lines
# It prepares a text and returns the error's code and message. An error in the end undoes whatever
# ran, if the text is more than one statement.
_PREPARES = r"""
CREATE FUNCTION pg_temp.problem(text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE code text; message text;
BEGIN
    DEALLOCATE ALL;
    EXECUTE 'PREPARE judged AS ' || $1;
    RAISE EXCEPTION USING ERRCODE = 'ZZZZZ';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
    RETURN CASE code WHEN 'ZZZZZ' THEN '' ELSE code || ' ' || message END;
END $$;
"""


def _folder() -> Path | None:
    """Return the folder of the server's programs; Debian has one for each version."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next(
        (each for each in folders if all((each / name).exists() for name in _PROGRAMS)), None
    )


def _missing() -> str:
    if _folder() is None:
        return f"no PostgreSQL server is installed, with {', '.join(_PROGRAMS)}"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "a PostgreSQL server does not run as root, and there is no setpriv"
    if os.geteuid() == 0 and not _is_user("postgres"):
        return "a PostgreSQL server does not run as root, and there is no user postgres"
    return ""


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _program(name: str) -> str:
    return str((_folder() or Path()) / name)


#: Why no server can be started; nothing if one can.
MISSING = _missing()


@dataclass(frozen=True)
class Server:
    """A server that is running.

    Attributes
    ----------
    folder : Path
        Where its socket is.
    """

    folder: Path

    def run(self, script: str) -> str:
        """Run a script, and return what its queries return.

        Raises
        ------
        RuntimeError
            If a statement fails.
        """
        command = [_program("psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
        command += ["--set=ON_ERROR_STOP=1", f"--host={self.folder}", "--username=postgres"]
        done = subprocess.run(command, input=script.encode(), capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return done.stdout.decode()

    def problems(self, statements: Iterable[str]) -> list[str]:
        """Return for each statement the SQLSTATE and the message of its error, or nothing."""
        asked = [f"SELECT pg_temp.problem({_literal(text)}) || E'\\x1e';" for text in statements]
        said = self.run(_PREPARES + "\n".join(asked))
        return [part.removeprefix("\n") for part in said.split(_MARK)[:-1]]

    def prepares(self, statement: str) -> str | None:
        """Return the SQLSTATE and the message of the error, or None if a statement is prepared."""
        (said,) = self.problems([statement])
        return said or None


def _literal(text: str) -> str:
    """Return a text as a string of SQL in which nothing is special to psql."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@contextmanager
def running() -> Iterator[Server]:
    """Run a server as long as the context lasts."""
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))  # a short path: that of a socket is short
    as_whom: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        as_whom = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def call(name: str, *arguments: str) -> None:
        command = [*as_whom, _program(name), f"--pgdata={folder / 'data'}", *arguments]
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()}")

    try:
        call(
            "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        call("pg_ctl", "--wait", f"--log={folder / 'log'}", f"--options={options}", "start")
        try:
            yield Server(folder)
        finally:
            call("pg_ctl", "--mode=immediate", "--wait", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
