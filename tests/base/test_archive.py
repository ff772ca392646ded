"""Files of arrays: what is written is read, and what is damaged or hostile is refused."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from torture.interrupts import timed

from cfgguide.base import archive
from cfgguide.base.replaced import PARTIAL
from cfgguide.errors import IndexFormatError, LimitError

safetensors_numpy = pytest.importorskip("safetensors.numpy")

ARRAYS = {
    "bytes": np.arange(7, dtype=np.uint8),
    "empty": np.zeros((0, 3), dtype=np.int32),
    "flags": np.array([[True, False], [False, False]]),
    "number": np.array(-5, dtype=np.int16),
    "wide": np.arange(6, dtype=np.int64).reshape(2, 3),
}
VALUE = {"names": ["a", "\ud800", "日"], "none": None, "nested": [[1, 2.5], {}]}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "file"


def write(path: Path, arrays=ARRAYS, value=VALUE, **other) -> None:
    archive.write(path, arrays, value, **{"kind": "test", "digest": "d1", **other})


def is_equal(first, second) -> bool:
    return first.keys() == second.keys() and all(
        (first[name].dtype, first[name].shape) == (second[name].dtype, second[name].shape)
        and first[name].tobytes() == second[name].tobytes()
        for name in first
    )


# --- What is right -------------------------------------------------------------------------------


def test_what_is_written_is_read(path):
    write(path)
    arrays, value = archive.read(path, kind="test", digest="d1")
    assert is_equal(arrays, ARRAYS)
    assert value == VALUE


@given(
    st.dictionaries(
        st.text(max_size=5).filter(lambda name: name != "__metadata__"),
        arrays_of.arrays(
            dtype=st.sampled_from(["?", "i1", "u1", "<i2", "<u4", "<i4", "<i8", "<f4", "<f8"]),
            shape=arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=5,
    )
)
def test_any_arrays_are_read_as_they_were(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("any") / "file"
    write(path, arrays)
    assert is_equal(archive.read(path, kind="test")[0], arrays)


def test_arrays_that_lie_otherwise_in_memory_are_written_in_order(path):
    turned = np.arange(6, dtype=np.int32).reshape(2, 3).T
    foreign = np.arange(3, dtype=">i4")
    write(path, {"turned": turned, "foreign": foreign})
    arrays, _ = archive.read(path, kind="test")
    assert arrays["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert arrays["foreign"].tolist() == [0, 1, 2]


def test_another_library_reads_the_file(path):
    write(path)
    assert is_equal(safetensors_numpy.load_file(path), ARRAYS)


def test_the_same_content_gives_the_same_bytes(tmp_path):
    write(tmp_path / "first")
    write(tmp_path / "second", dict(reversed(ARRAYS.items())), dict(reversed(VALUE.items())))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_arrays_are_aligned_read_only_views_of_the_file(path):
    write(path)
    for array in archive.read(path, kind="test")[0].values():
        assert array.flags.aligned
        assert not array.flags.writeable
        assert not array.flags.owndata


def test_views_outlive_the_replacement_of_their_file(path):
    write(path, {"x": np.arange(5)})
    arrays, _ = archive.read(path, kind="test")
    write(path, {"x": np.zeros(9)})
    path.unlink()
    assert arrays["x"].tolist() == [0, 1, 2, 3, 4]


def test_what_was_read_stays_whatever_happens_to_the_file(path):
    write(path, {"x": np.arange(5), "y": np.arange(100_000)})
    arrays, _ = archive.read(path, kind="test")
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.truncate(0)
    assert arrays["x"].tolist() == [0, 1, 2, 3, 4]
    assert int(arrays["y"].sum()) == 99_999 * 50_000


def test_a_mapped_file_is_read_when_it_is_looked_at(path):
    write(path, {"x": np.arange(5)})
    arrays, value = archive.read(path, kind="test", is_mapped=True)
    assert is_equal(arrays, {"x": np.arange(5)})
    assert value == VALUE
    assert not arrays["x"].flags.writeable
    assert arrays["x"].flags.aligned


def test_a_file_that_grows_shorter_while_it_is_read_is_refused(path, monkeypatch):
    write(path, {"x": np.arange(100_000)})
    status = os.stat(path)
    os.truncate(path, 5000)
    monkeypatch.setattr(archive.os, "fstat", lambda descriptor: status)
    with pytest.raises(IndexFormatError, match="cut short: 5000 of"):
        archive.read(path, kind="test")


def test_a_file_larger_than_memory_is_refused(path):
    resource = pytest.importorskip("resource")
    with path.open("wb") as file:
        file.truncate(1 << 42)  # takes no room on the disk
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, before[1]))
    try:
        with pytest.raises(IndexFormatError, match="cannot be read"):
            archive.read(path, kind="test")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_a_long_json_value_is_refused_before_anything_is_written(path):
    with pytest.raises(LimitError, match="need more than 16777216 bytes"):
        write(path, value="x" * archive.MAX_HEADER)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_not_written(path, value):
    with pytest.raises(ValueError, match="JSON"):
        write(path, value=value)


def test_digests_tell_names_types_shapes_contents_and_values_apart():
    x = np.arange(6, dtype=np.int32)
    different = [
        ({"x": x}, None),
        ({"y": x}, None),
        ({"x": x.reshape(2, 3)}, None),
        ({"x": x.view(np.uint32)}, None),
        ({"x": x[::-1]}, None),
        ({"x": x}, []),
        ({"x": x, "y": x[:0]}, None),
    ]
    assert len({archive.digest(*each) for each in different}) == len(different)
    assert archive.digest({"x": x, "y": x}, 1) == archive.digest({"y": x, "x": x.copy()}, 1)


# --- What is wrong -------------------------------------------------------------------------------


def metadata(**other) -> dict:
    told = {"digest": "d1", "format": "cfgguide 1", "json": "null", "kind": "test"}
    return {**told, **other}


def sealed(header: str | bytes, data: bytes = b"") -> bytes:
    """A file with the right checksum: the header has `00000000` where that goes."""
    header = header.encode() if isinstance(header, str) else header
    whole = len(header).to_bytes(8, "little") + header + data
    place = whole.index(b'"checksum":"00000000"') + len(b'"checksum":"')
    return whole[:place] + b"%08x" % zlib.crc32(whole) + whole[place + 8 :]


def forged(described: dict, data: bytes = b"", **other) -> bytes:
    """A file with the right checksum and this description of its arrays."""
    told = {"checksum": "00000000", **metadata(**other)}
    return sealed(json.dumps({"__metadata__": told, **described}, separators=(",", ":")), data)


def array(dtype="I32", shape=(2,), start=0, end=8) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def raw(text: str, data: bytes = b"") -> bytes:
    """A file with the right checksum and this text behind the metadata."""
    told = json.dumps({"checksum": "00000000", **metadata()}, separators=(",", ":"))
    return sealed(f'{{"__metadata__":{told}{text}', data)


EIGHT = bytes(8)


def bomb() -> bytes:
    """An .npz of which 10 MB of zeros are 10 kB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("x.npy", bytes(10_000_000))
    return file.getvalue()


BLANK = b'{"__metadata__":{"checksum":"00000000"}}'
GOOD = forged({"x": array()}, EIGHT)
#: Name: content and what the message says.
BAD = {
    "nothing": (b"", "cut short"),
    "five bytes": (b"abcde", "cut short"),
    "header cut": (GOOD[:40], "cut short"),
    "data cut": (GOOD[:-1], "damaged"),
    "data flipped": (GOOD[:-1] + b"\x01", "damaged"),
    "one byte more": (GOOD + b"\x00", "damaged"),
    "header length flipped": (bytes([GOOD[0] ^ 1]) + GOOD[1:], "damaged"),
    "header length huge": (b"\xff" * 8 + GOOD[8:], "header claims"),
    "header length negative": (GOOD[:7] + b"\x80" + GOOD[8:], "header claims"),
    "zip bomb": (bomb(), "zip archive"),
    "empty zip": (b"PK\x05\x06" + bytes(18), "zip archive"),
    "a pickle": (b"\x80\x04\x95" + bytes(100), "header claims|cut short"),
    "text": (b"hello, world, this is a text file", "header claims"),
    "not our JSON": ((20).to_bytes(8, "little") + b"{}" + b" " * 18, "does not start as"),
    "JSON unfinished": (raw(""), "JSON cannot be read"),
    "JSON and more": (raw("} 1"), "JSON cannot be read"),
    "JSON not UTF-8": (sealed(BLANK[:-1] + b',"\xff":1}'), "JSON cannot be read"),
    "JSON nested": (raw(',"x":' + "[" * 200_000 + "]" * 200_000 + "}"), "JSON cannot be read"),
    "JSON names twice": (raw(',"x":1,"x":1}'), "occurs twice"),
    "JSON NaN": (raw(',"x":NaN}'), "NaN"),
    "JSON long number": (raw(',"x":' + "1" * 10_000 + "}"), "JSON cannot be read"),
    "metadata twice": (raw(',"__metadata__":{}}'), "occurs twice"),
    "metadata not texts": (forged({}, kind=3), "not an object of strings"),
    "value nested": (forged({}, json="[" * 200_000), "JSON cannot be read"),
    "value cut": (forged({}, json='{"a":'), "JSON cannot be read"),
    "value twice": (forged({}, json='{"a":1,"a":2}'), "occurs twice"),
    "other format": (forged({}, format="cfgguide 2"), "format 'cfgguide 2'"),
    "other kind": (forged({}, kind="index"), "kind 'index'"),
    "other digest": (forged({}, digest="d2"), "made from something else"),
    "arrays overlap": (forged({"x": array(), "y": array(start=4, end=12)}, bytes(12)), "overlaps"),
    "arrays share": (forged({"x": array(), "y": array()}, EIGHT), "overlaps"),
    "a gap": (forged({"x": array(), "y": array(start=9, end=17)}, bytes(17)), "overlaps"),
    "outside": (forged({"x": array(shape=[200], end=800)}, EIGHT), "outside the file"),
    "unused data": (forged({"x": array()}, bytes(16)), "8 bytes after"),
    "not aligned": (forged({"x": array("U8", [1], 0, 1), "y": array("I32", [1], 1, 5)}, bytes(5)),
                    "overlaps"),
    "dtype unknown": (forged({"x": array("I128")}, EIGHT), "dtype 'I128'"),
    "dtype object": (forged({"x": array("O")}, EIGHT), "dtype 'O'"),
    "dtype no text": (forged({"x": array(["I32"])}, EIGHT), "dtype"),
    "shape negative": (forged({"x": array(shape=[-2, -1])}, EIGHT), "not have the shape"),
    "shape true": (forged({"x": array(shape=[True, 2])}, EIGHT), "not have the shape"),
    "shape fraction": (forged({"x": array(shape=[2.0])}, EIGHT), "not have the shape"),
    "shape no list": (forged({"x": {**array(), "shape": 2}}, EIGHT), "not have the shape"),
    "shape huge": (forged({"x": array(shape=[2**62])}, EIGHT), "not have the shape"),
    "shape huge and empty": (forged({"x": array(shape=[0, 2**50, 2**50], end=0)}), "more than"),
    "shape overflows": (forged({"x": array(shape=[2**32, 2**32])}, EIGHT), "more than"),
    "shape of many": (forged({"x": array(shape=[1] * 99)}, EIGHT), "not have the shape"),
    "shape does not fit": (forged({"x": array(shape=[3])}, EIGHT), "do not fit"),
    "offsets backwards": (forged({"x": array(start=8, end=0)}, EIGHT), "do not fit"),
    "offsets negative": (forged({"x": array(start=-8, end=0)}, EIGHT), "do not fit"),
    "offsets of three": (forged({"x": {**array(), "data_offsets": [0, 8, 8]}}, EIGHT), "do not"),
    "described by less": (forged({"x": {"dtype": "I32", "shape": [2]}}, EIGHT), "not described"),
    "described by a number": (forged({"x": 5}, EIGHT), "not described"),
}  # fmt: skip


def test_the_recipe_of_bad_files_makes_good_ones_too(path):
    path.write_bytes(GOOD)
    assert archive.read(path, kind="test", digest="d1")[0]["x"].tolist() == [0, 0]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused(path, name):
    content, says = BAD[name]
    path.write_bytes(content)
    with pytest.raises(IndexFormatError, match=says) as raised:
        archive.read(path, kind="test", digest="d1")
    assert re.search("make it again", str(raised.value))


# --- Compressed files ----------------------------------------------------------------------------


def test_what_is_written_compressed_is_read_as_it_was(path):
    write(path, {**ARRAYS, "zeros": np.zeros((1000, 100), dtype=np.int16)}, is_compressed=True)
    assert path.stat().st_size < 2000
    arrays, value = archive.read(path, kind="test", digest="d1", is_compressed=True)
    assert not arrays.pop("zeros").any()
    assert is_equal(arrays, ARRAYS)
    assert value == VALUE
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays.values())


def test_zlib_inflates_it_to_the_file_that_is_not_compressed(tmp_path):
    write(tmp_path / "plain")
    write(tmp_path / "compressed", is_compressed=True)
    inflated = zlib.decompress((tmp_path / "compressed").read_bytes())
    assert inflated == (tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_if_it_is_compressed(path, name):
    content, says = BAD[name]
    path.write_bytes(zlib.compress(content))
    with pytest.raises(IndexFormatError, match=says):
        archive.read(path, kind="test", digest="d1", is_compressed=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD, "cannot be inflated"),
        (zlib.compress(GOOD)[:-1], "not one whole"),
        (zlib.compress(GOOD)[:-1] + b"?", "cannot be inflated"),
        (zlib.compress(GOOD) + b"?", "not one whole"),
        (zlib.compress(GOOD + bytes(10_000)), "too large"),
        (b"", "cut short"),
    ],
)
def test_what_is_no_stream_of_such_a_size_is_refused(path, monkeypatch, content, says):
    monkeypatch.setattr(archive, "_MAX_INFLATED", 5000)
    path.write_bytes(content)
    with pytest.raises(IndexFormatError, match=says):
        archive.read(path, kind="test", is_compressed=True)


def test_a_compressed_file_is_read_only_where_one_is_expected(path):
    write(path, is_compressed=True)
    with pytest.raises(IndexFormatError, match="header claims"):
        archive.read(path, kind="test")


# --- What is no file -----------------------------------------------------------------------------


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(IndexFormatError, match="cannot be opened"):
        archive.read(tmp_path / "missing", kind="test")
    with pytest.raises(IndexFormatError, match="cannot be opened"):
        archive.read("a\0b", kind="test")
    with pytest.raises(IndexFormatError, match="not a regular file"):
        archive.read(tmp_path, kind="test")
    with pytest.raises(IndexFormatError, match="not a regular file"):
        archive.read(os.devnull, kind="test")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(path):
    os.mkfifo(path)
    with pytest.raises(IndexFormatError, match="not a regular file"):
        archive.read(path, kind="test")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "file"
    write(path)
    return path.read_bytes()


@given(data=st.data())
def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path_factory, whole, data):
    path = tmp_path_factory.mktemp("flipped") / "file"
    place = data.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[place // 8] ^= 1 << place % 8
    path.write_bytes(flipped)
    with pytest.raises(IndexFormatError):
        archive.read(path, kind="test")


@given(data=st.data())
def test_a_cut_file_is_noticed_wherever_it_is_cut(tmp_path_factory, whole, data):
    path = tmp_path_factory.mktemp("cut") / "file"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(IndexFormatError):
        archive.read(path, kind="test")


# --- Interruptions and company -------------------------------------------------------------------


@contextlib.contextmanager
def room_for(n_bytes: int):
    """Files may not grow beyond so many bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path):
    write(path, value="old")
    with pytest.raises(OSError, match="File too large"), room_for(500):
        write(path, {"x": np.zeros(100_000)}, value="new")
    assert os.listdir(path.parent) == ["file"]
    assert archive.read(path, kind="test")[1] == "old"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_an_interruption_leaves_a_whole_file_and_nothing_else(path):
    n_interrupted = 0
    for number in range(1, 40):
        arrays = {"x": np.full(300_000, number)}
        n_interrupted += timed(lambda each=arrays, n=number: write(path, each, n), number / 4000)
        assert set(os.listdir(path.parent)) <= {"file"}
        if path.exists():
            read, written = archive.read(path, kind="test")
            assert set(read["x"].tolist()) == {written}
    assert n_interrupted


WRITER = """
    import sys
    import numpy as np
    from cfgguide.base import archive
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        arrays = {"x": np.full(4_000_000, number, dtype=np.int32)}
        archive.write(sys.argv[1], arrays, number, kind="test", digest="d")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_leaves_a_whole_file(path):
    write(path, {"x": np.zeros(4, dtype=np.int32)}, 0)
    numbers = []
    for delay in (0.0, 0.01, 0.03, 0.05, 0.08, 0.13, 2.0):  # the last for a busy machine
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(delay)
            writer.kill()
        arrays, number = archive.read(path, kind="test")
        assert set(arrays["x"].tolist()) == {number}
        numbers.append(number)
    assert numbers[-1] > 0  # some writer did write
    others = [name for name in os.listdir(path.parent) if name != "file"]
    assert all(name.startswith(".") and name.endswith(PARTIAL) for name in others)


def rewrite(path: str, number: int) -> None:
    for _ in range(60):
        arrays = {"x": np.full(10_000 + number, number)}
        archive.write(path, arrays, number, kind="test", digest="d", is_durable=False)


def reread(path: str, failures) -> None:
    for _ in range(200):
        arrays, number = archive.read(path, kind="test")
        if set(arrays["x"].tolist()) != {number} or len(arrays["x"]) != 10_000 + number:
            failures.put(number)


@pytest.mark.slow
def test_writers_and_readers_of_one_file_meet_whole_files_only(path):
    processes = multiprocessing.get_context("spawn")
    archive.write(path, {"x": np.full(10_000, 0)}, 0, kind="test", digest="d")
    failures = processes.Queue()
    running = [
        *(processes.Process(target=rewrite, args=(str(path), number)) for number in (1, 2)),
        *(processes.Process(target=reread, args=(str(path), failures)) for _ in range(2)),
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0, 0, 0, 0]
    assert failures.empty()
    assert os.listdir(path.parent) == ["file"]
