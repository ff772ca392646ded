"""The server of the playground: whom it answers, what it refuses, and what its answers say."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.studio.cli.main import main
from cfgguide.studio.playground import guarding
from cfgguide.studio.playground.server import PlaygroundServer, page_files

SUMS = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/\n'
#: Takes half a minute to compile: 40 FSMs with 2^13 states each.
ENDLESS = "".join(
    [
        f"start: {' | '.join(f'A{i}' for i in range(40))}\n",
        *(f"A{i}: /{i:02}(a|b)*a(a|b){{12}}/\n" for i in range(40)),
    ]
)
PAGE = Path(cfgguide.__file__).parent / "studio" / "playground" / "page"


# --- Whom it answers -----------------------------------------------------------------------------


def test_the_page_and_its_files_are_served_with_headers_that_keep_others_out(client):
    for path, (kind, data) in page_files().items():
        status, headers, body = client.request("GET", path)
        assert (status, headers["Content-Type"], body) == (200, kind, data)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers
    assert {"/" + path.name for path in PAGE.iterdir()} | {"/"} == page_files().keys()


@pytest.mark.parametrize("path", ["/../server.py", "/main.py", "/%2e%2e/server.py", "//etc/passwd"])
def test_no_other_file_is_served(client, path):
    assert client.request("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "playground.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"X-Playground-Key": "wrong"}, 403),
        ({"X-Playground-Key": ""}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Length": "ten"}, 411),
        ({"Content-Length": str(guarding.MAX_BODY + 1)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
    ],
)
def test_calls_from_elsewhere_are_refused(client, headers, status):
    found, answer = client.call_as("start", {"tab": "a"}, headers)
    assert found == status
    assert answer["error"]["code"] == "http"


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_the_page_itself_is_not_given_to_others(client, headers):
    assert client.request("GET", "/", headers=headers)[0] in (403, 421)


def test_localhost_is_a_name_of_this_machine(client):
    host = f"localhost:{client.port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert client.call_as("start", {"tab": "a"}, headers)[0] == 200


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "HEAD"])
def test_other_methods_are_refused(client, method):
    assert client.request(method, "/api/start")[0] == 501


def test_it_listens_on_the_loopback_only(client):
    assert client.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'"text"'])
def test_bodies_that_are_no_objects_are_refused(client, body):
    assert client.call_as("read", body)[0] == 400


@pytest.mark.parametrize("path", ["/api/", "/api/nothing", "/api/_start", "/start", "/api/start/x"])
def test_there_are_no_other_calls(client, path):
    headers = {"Content-Type": "application/json", "X-Playground-Key": client.server.secret}
    assert client.request("POST", path, b"{}", headers)[0] == 404


def test_the_secret_differs_in_each_session(client):
    with PlaygroundServer(0) as other:
        assert other.secret != client.server.secret
        assert len(other.secret) >= 32


def test_a_port_in_use_is_a_clear_error(client, capsys):
    with pytest.raises(CfgGuideError, match=f"port {client.port} cannot be used.*--port"):
        PlaygroundServer(client.port)
    assert main(["playground", "--no-browser", "--port", str(client.port)]) == 2
    assert "--port 0" in capsys.readouterr().err
    assert main(["playground", "--port", "70000"]) == 2
    assert "70000" in capsys.readouterr().err


# --- What its answers say ------------------------------------------------------------------------


def test_a_text_is_read_token_by_token(client):
    assert client.compile(SUMS)["terminals"] == ["NUMBER", "PLUS"]
    answer = client.call("read", text="12+3")
    assert answer["is_sentence"]
    assert [token["pieces"] for token in answer["tokens"]] == [
        [["1", "NUMBER"]],
        [["2", "NUMBER"]],
        [["+", "PLUS"]],
        [["3", "NUMBER"]],
    ]
    # ten digits; then also "+" and EOS; after "+" digits alone
    assert answer["counts"] == [10, 12, 12, 10, 12]


def test_only_what_has_changed_is_sent_again(client):
    client.compile(SUMS)
    first = client.call("read", text="12+3")
    second = client.call("read", text="12+45", base=first["base"])
    assert (second["n_kept"], len(second["tokens"]), second["n_text"]) == (3, 2, 5)
    again = client.call("read", text="12+45", base=first["base"])  # of an older answer
    assert (again["n_kept"], len(again["tokens"])) == (0, 5)


def test_a_text_that_is_no_sentence_is_read_up_to_where_it_is_one(client):
    client.compile(SUMS)
    answer = client.call("read", text="1+x+2")
    assert (answer["n_read"], answer["n_text"], answer["is_sentence"]) == (2, 5, False)
    assert answer["tokens"][2]["pieces"] == [["x", ""]]
    why = client.call("explain", place=2, token_id=ord("x"))
    assert (why["is_allowed"], why["refused"]) == (False, "x")
    assert [each["terminal"] for each in why["expected"]] == ["NUMBER"]
    assert client.call("allowed", place=3, first=0, n=5)["error"]["code"] == "text"


def test_places_of_characters_are_those_of_javascript(client):
    client.compile("start: /[^x]+/")
    answer = client.call("read", text="é😀a")
    assert [(token["start"], token["end"]) for token in answer["tokens"]] == [
        *[(0, 1), (1, 1)],
        *[(1, 3), (3, 3), (3, 3), (3, 3)],
        (3, 4),
    ]


def test_tokens_are_listed_searched_and_sorted(client):
    client.compile(SUMS)
    client.call("read", text="1")
    found = client.call("allowed", place=1, first=0, n=3)
    assert (found["n_allowed"], found["n_tokens"], found["n_found"]) == (12, 257, 12)
    assert [item["text"] for item in found["items"]] == ["+", "0", "1"]
    assert client.call("allowed", place=1, query="#43", first=0, n=9)["items"][0]["text"] == "+"
    assert client.call("allowed", place=1, query="zz", first=0, n=9)["n_found"] == 0
    refused = client.call("allowed", place=1, is_refused=True, first=0, n=9999)
    assert (refused["n_found"], len(refused["items"])) == (257 - 12, 257 - 12)
    last = client.call("allowed", place=1, order="text", first=10, n=9)["items"]
    assert [item["text"] for item in last] == ["8", "9"]


def test_a_place_has_a_stack_and_what_is_expected(client):
    client.compile('start: "(" start ")" | "x"')
    client.call("read", text="((x")
    (way,) = client.call("place", place=3)["ways"]
    assert [symbol for _, symbol in way["stack"]] == ["", "LPAR", "LPAR"]
    assert (way["open"], way["ahead"]) == ("x", ["X"])
    expected = client.call("expected", place=3)["expected"]
    assert expected == [{"terminal": "RPAR", "example": ")"}]


def test_the_tree_is_larks(client):
    client.compile('start: a "," a\na: X\nX: "x"')
    client.call("read", text="x,x")
    leaf = {"terminal": "X", "text": "x"}
    node = {"rule": "a", "children": [leaf]}
    assert client.call("tree")["tree"] == {"rule": "start", "children": [node, node]}
    client.call("read", text="x,")
    assert "no sentence" in client.call("tree")["error"]["message"]


def test_a_terminal_is_drawn_and_the_grammar_reported_on(client):
    client.compile('start: A | B\nA: /a+/\nB: /[ab]/\nC: "c"')
    svg = client.call("draw", terminal="A")["svg"]
    assert svg.lstrip().startswith("<svg") or "<svg" in svg
    assert client.call("draw", terminal="NONE")["error"]["message"]
    assert any("C" in section for section in client.call("report")["sections"])


def test_one_can_go_on_with_a_token(client):
    client.compile(SUMS, tokenizer="small")
    client.call("read", text="1+2")
    ten = client.call("allowed", place=2, query="10", first=0, n=1)["items"][0]
    answer = client.call("go_on", place=2, token_id=ten["id"])
    assert (answer["text"], answer["n_read"]) == ("1+10", 3)
    assert client.call("read", text="1+10")["n_text"] == 3  # the same tokens


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('start: "a" %', 1, 12, "Unexpected input"),
        ('start: "a"\n  | b', 2, 5, "used but not defined"),
        ("start: A\nA: /(a)\\1/", 2, 1, "backreference"),
        ("start: A\n\nA: /[a/", 3, 1, "unterminated"),
        ('start: x | y\nx: "a"\ny: "a"', 2, 1, "there are two readings"),
    ],
)
def test_a_mistake_in_a_grammar_is_told_at_its_place(client, text, line, column, said):
    error = client.compile(text, parser="lalr")["error"]
    assert (error["line"], error["column"]) == (line, column)
    assert said in error["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rule"),
        ("%import .secrets\nstart: secrets", ""),
        ("%import secrets.X\nstart: X", ""),
        ("start: " + "a" * 300_000, "characters"),
        ("start: start", ""),
    ],
)
def test_what_cannot_be_used_is_an_error(client, text, said):
    error = client.compile(text)["error"]
    assert error["code"] in ("grammar", "limit")
    assert said in error["message"]


def test_grammars_read_no_files(client, tmp_path, monkeypatch):
    (tmp_path / "secrets.lark").write_text('X: "x"\n')
    monkeypatch.chdir(tmp_path)
    for text in ("%import .secrets.X\nstart: X", "%import secrets.X\nstart: X"):
        assert "error" in client.compile(text)


def test_bundled_grammars_are_known_by_their_texts_and_may_be_changed(client):
    texts = {each["name"]: each["grammar"] for each in client.call("start")["bundled"]}
    assert texts.keys() == set(cfgguide.Grammar.bundled_names())
    assert client.compile(texts["json"])["is_bundled"]
    assert not client.compile(texts["json"] + "\n")["is_bundled"]


def test_every_example_compiles_and_reads_its_text(client):
    for example in client.call("start")["examples"]:
        assert "error" not in client.compile(example["grammar"], tokenizer="small"), example["name"]
        answer = client.call("read", text=example["text"])
        assert answer["n_read"] == answer["n_text"] > 0, example["name"]


def test_a_folder_without_a_tokenizer_is_a_clear_error(client):
    names = {each["name"]: each["id"] for each in client.call("start")["tokenizers"]}
    error = client.compile(SUMS, tokenizer=names["folder"])["error"]
    assert "no tokenizer.json" in error["message"] or "not installed" in error["message"]
    assert "no such tokenizer" in client.compile(SUMS, tokenizer="/etc")["error"]["message"]


def test_two_tabs_do_not_know_of_each_other(client):
    client.compile(SUMS, "one")
    client.compile('start: "x"+', "two")
    assert client.call("read", "one", text="1+1")["is_sentence"]
    assert client.call("read", "two", text="xx")["is_sentence"]
    assert client.call("read", "one", text="1+1")["n_read"] == 3
    client.call("close", "two")
    assert "no grammar" in client.call("read", "two", text="x")["error"]["message"]


def test_masks_of_bundled_grammars_are_kept_for_the_next_session(client, tmp_path, monkeypatch):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "cache"))
    texts = {each["name"]: each["grammar"] for each in client.call("start")["bundled"]}
    client.compile(texts["json"], "kept", tokenizer="small")
    assert client.call("read", "kept", text='{"a": [1')["n_read"]
    index = client.server.actions.tabs.get("kept").reading.compiled.index
    client.call("close", "kept")
    again = cfgguide.compile(cfgguide.Grammar.bundled("json"), index.vocabulary)
    assert set(again.known_paths()) == set(index.known_paths())
    assert again.known_paths() != []
    assert again.n_made == 0


def test_a_huge_text_is_refused(client):
    client.compile(SUMS)
    error = client.call("read", text="1" * 20_001)["error"]
    assert "20,001 characters" in error["message"]
    assert client.call("read", text="\ud800")["error"]["code"] == "text"
    assert client.call("read", text="1")["is_sentence"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("allowed", {"place": "0"}),
        ("allowed", {"place": -1}),
        ("allowed", {}),
        ("explain", {"place": 10**30}),
        ("go_on", {"place": 0, "token_id": None}),
        ("place", {"place": True}),
        ("write", {}),
    ],
)
def test_wrong_calls_are_errors_not_failures(client, name, body):
    client.compile(SUMS)
    assert client.call(name, **body)["error"]["message"]


def test_a_failure_inside_is_told(client, monkeypatch):
    def fail(*_: object) -> Any:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(client.server.actions._actions, "tree", fail)
    status, answer = client.call_as("tree", {"tab": "a"})
    assert status == 500
    assert "ZeroDivisionError: division by zero" in answer["error"]["message"]


# --- What takes long -----------------------------------------------------------------------------


def _in_background(work: Any) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    time.sleep(0.15)
    return thread, found


def test_compiling_can_be_cancelled(client):
    thread, found = _in_background(lambda: client.compile(ENDLESS, "slow"))
    assert not found
    client.call("cancel", "slow")
    thread.join(30)
    assert found[0]["is_cancelled"]


def test_a_newer_grammar_takes_the_place_of_the_older(client):
    thread, found = _in_background(lambda: client.compile(ENDLESS, "slow"))
    assert client.compile(SUMS, "slow")["terminals"]
    thread.join(30)
    assert found[0]["is_cancelled"]
    assert client.call("read", "slow", text="1+1")["is_sentence"]


def test_other_tabs_go_on_while_one_compiles(client):
    thread, found = _in_background(lambda: client.compile(ENDLESS, "slow"))
    client.compile(SUMS, "quick")
    assert client.call("read", "quick", text="1")["is_sentence"]
    assert not found
    client.call("cancel", "slow")
    thread.join(30)


def test_a_page_that_is_closed_in_the_midst_ends_its_work(client, capfd):
    body = json.dumps({"tab": "gone", "text": ENDLESS + "\n", "tokenizer": "bytes"}).encode()
    head = (
        f"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
        f"Content-Type: application/json\r\nX-Playground-Key: {client.server.secret}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    before = threading.active_count()
    connection = socket.create_connection(("127.0.0.1", client.port))
    connection.sendall(head.encode() + body)
    time.sleep(0.15)
    connection.close()
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before
    assert capfd.readouterr().err == ""


# --- The page ------------------------------------------------------------------------------------


def test_the_page_asks_for_nothing_from_elsewhere():
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}", text)
        assert [each for each in found if "www.w3.org" not in each] == [], path.name


def test_texts_never_become_html():
    for path in PAGE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


@pytest.mark.slow
def test_the_command_prints_its_address_and_ends_cleanly_with_an_interrupt():
    command = [sys.executable, "-m", "cfgguide.studio.cli.main", "playground", "--port", "0"]
    with subprocess.Popen(
        [*command, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores interrupts, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            address = process.stdout.readline().strip()
            port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?key=[\w-]{32}", address)[1])
            socket.create_connection(("127.0.0.1", port)).close()
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, error) == (0, "", "")
