"""The plug-in where vLLM is not, or is another: it is left alone. With vLLM: `tests/engines`."""

from __future__ import annotations

import logging
import sys
import types

import pytest

from cfgguide.models.serving import vllm


def test_without_vllm_nothing_happens_but_a_line_in_the_log(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "vllm", None)
    vllm.register()
    (message,) = caplog.messages
    assert "left alone" in message


def test_a_vllm_without_the_parts_is_left_alone(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "vllm", types.SimpleNamespace(__version__="9.9.9"))
    monkeypatch.delitem(sys.modules, "cfgguide.models.serving.vllm_parts", raising=False)
    vllm.register()
    (message,) = caplog.messages
    assert "left alone" in message


@pytest.mark.parametrize("vllm_there", [None, types.SimpleNamespace(__version__="9.9.9")])
def test_a_server_that_counts_on_it_does_not_start(monkeypatch, vllm_there):
    monkeypatch.setenv("CFGGUIDE_VLLM", "all")
    monkeypatch.setitem(sys.modules, "vllm", vllm_there)
    monkeypatch.delitem(sys.modules, "cfgguide.models.serving.vllm_parts", raising=False)
    with pytest.raises(RuntimeError, match=r"install vLLM 0\.32, or set CFGGUIDE_VLLM=off"):
        vllm.register()


def test_it_can_be_switched_off(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CFGGUIDE_VLLM", "off")
    monkeypatch.setitem(sys.modules, "vllm", None)
    vllm.register()
    assert not caplog.messages


def test_an_unknown_mode_is_an_error(monkeypatch):
    monkeypatch.setenv("CFGGUIDE_VLLM", "always")
    with pytest.raises(ValueError, match="marked, all, off"):
        vllm.register()
