"""Golden grammars: for each a folder of texts whose verdict is known.

``tests/golden/README.md`` says how a folder is written. First Lark is asked whether the folder is
right, as far as Lark can tell; then cfgguide is asked the same.
"""

from __future__ import annotations

import functools
import re

import lark
import pytest
from support.golden_folders import FOLDERS, ROOT, folder_of
from support.judges import is_parsed
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary

import cfgguide
from cfgguide.diagnostics.diagnosis import Diagnosis, diagnose
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.vocabulary.spelling import Spelling

#: Its automata take many seconds to build.
LARGE = {"python"}


def folders(*, slow: set[str]) -> pytest.MarkDecorator:
    """Parametrise a test by the names of folders."""
    return pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in FOLDERS],
    )


every_folder, every_compiled_folder = folders(slow=set()), folders(slow=LARGE)


# --- The folders are right: Lark ------------------------------------------------------------------


@functools.cache
def judge_of(name: str) -> lark.Lark:
    grammar = folder_of(name).grammar
    return lark.Lark(
        grammar.text,
        start=grammar.start,
        parser="lalr",
        lexer="contextual",
        source_path=grammar.source_path,
    )


def lark_parses(name: str, text: str) -> bool:
    return is_parsed(judge_of(name), text)


@every_folder
def test_a_folder_has_enough_of_each_kind(name):
    folder = folder_of(name)
    texts = [*folder.sentences.values(), *(start.text for start in folder.starts)]
    assert len(set(texts)) == len(texts), "a text occurs twice"
    assert len(folder.sentences) >= 6
    assert max(text.count("\n") for text in folder.sentences.values()) >= 20
    assert len(folder.rejects) >= 8
    assert len(folder.incompletes) >= 5


@pytest.mark.slow
@every_folder
def test_lark_accepts_what_a_folder_calls_a_sentence(name):
    for shown, text in folder_of(name).sentences.items():
        assert lark_parses(name, text), shown


@every_folder
def test_lark_refuses_what_a_folder_calls_none(name):
    for start in folder_of(name).starts:
        assert not lark_parses(name, start.text), start


@every_folder
def test_what_a_folder_calls_a_start_can_be_completed(name):
    for start in folder_of(name).starts:
        good = start.text.encode()[: start.n_good]
        assert start.sentence.encode().startswith(good), start
        assert lark_parses(name, start.sentence), start


@every_folder
def test_no_sentence_of_a_folder_starts_with_what_it_calls_no_start(name):
    folder = folder_of(name)
    sentences = [*folder.sentences.values(), *(start.sentence for start in folder.starts)]
    for start in folder.rejects:
        bad = start.text.encode()[: start.n_good + 1]
        assert not any(text.encode().startswith(bad) for text in sentences), start


def test_the_sentences_of_the_gallery_in_the_documents_are_sentences():
    page = (ROOT.parent.parent / "docs" / "quickstart.md").read_text(encoding="utf-8")
    gallery = re.findall(r"\(../tests/golden/(\w+)/grammar\.lark\) \| `(.+)` \|", page)
    assert gallery
    for name, sentence in gallery:
        assert lark_parses(name, sentence.replace(r"\|", "|")), sentence


@pytest.mark.slow
@every_folder
def test_no_end_of_another_sentence_completes_what_a_folder_calls_no_start(name):
    """What a hand claimed is attacked: each bad start is joined to the ends of short sentences."""
    folder = folder_of(name)
    sentences = [*folder.sentences.values(), *(start.sentence for start in folder.starts)]
    ends = {text[i:] for text in sentences if len(text) <= 60 for i in range(len(text) + 1)}
    for start in folder.rejects:
        try:
            bad = start.text.encode()[: start.n_good + 1].decode()
        except UnicodeDecodeError:
            continue  # it stops inside a letter
        refuted = [end for end in sorted(ends) if lark_parses(name, bad + end)]
        assert not refuted, (start, refuted[:3])


# --- cfgguide says the same -----------------------------------------------------------------------


@functools.cache
def index_of(name: str) -> cfgguide.Index:
    return cfgguide.compile(folder_of(name).grammar, standard_library_vocabulary())


@functools.cache
def liveness_of(name: str) -> Liveness:
    return Liveness(index_of(name).machine.recognizer, Spelling.of_all_bytes())


def diagnosis_of(name: str, text: str) -> Diagnosis:
    return diagnose(LrMachine.of(liveness_of(name)), text.encode())


@every_compiled_folder
def test_sentences_are_sentences(name):
    for shown, text in folder_of(name).sentences.items():
        found = diagnosis_of(name, text)
        assert found.is_sentence, (shown, str(found))


@every_compiled_folder
def test_a_text_is_refused_at_the_mark(name):
    for start in folder_of(name).rejects:
        found = diagnosis_of(name, start.text)
        assert (found.is_sentence, found.offset) == (False, start.n_good), (start, str(found))


@every_compiled_folder
def test_an_incomplete_text_is_refused_nowhere_and_is_no_sentence(name):
    for start in folder_of(name).incompletes:
        found = diagnosis_of(name, start.text)
        assert (found.is_sentence, found.offset) == (False, start.n_good), (start, str(found))


# --- And so does a guide over a real vocabulary ---------------------------------------------------


def usual_ids(text: str) -> list[int]:
    ids: list[int] = standard_library_tokenizer().encode(text).ids
    return ids


def byte_ids(text: str) -> list[int]:
    ids = _ids_of_tokens()
    return [ids[bytes([byte])] for byte in text.encode()]


@functools.cache
def _ids_of_tokens() -> dict[bytes, int]:
    return {
        token: index for index, token in enumerate(standard_library_vocabulary().tokens) if token
    }


@pytest.mark.parametrize("spell", [usual_ids, byte_ids])
@every_compiled_folder
def test_a_guide_lets_every_sentence_be_written(name, spell):
    (eos,) = standard_library_vocabulary().eos_token_ids
    for text in folder_of(name).sentences.values():
        guide = cfgguide.Guide(index_of(name))
        for token_id in [*spell(text), eos]:
            guide.advance(token_id)
        assert guide.is_finished
        assert guide.text.decode() == text


@every_compiled_folder
def test_a_guide_refuses_the_first_byte_that_no_sentence_has(name):
    for start in folder_of(name).rejects:
        guide = cfgguide.Guide(index_of(name))
        ids = byte_ids(start.text)
        for token_id in ids[: start.n_good]:
            guide.advance(token_id)
        assert not guide.accepts(ids[start.n_good]), start


@pytest.mark.slow
@pytest.mark.parametrize("spell", [usual_ids, byte_ids])
@every_compiled_folder
def test_every_mask_on_the_way_to_a_sentence_allows_the_next_token(name, spell):
    (eos,) = standard_library_vocabulary().eos_token_ids
    for text in folder_of(name).sentences.values():
        guide = cfgguide.Guide(index_of(name))
        for token_id in [*spell(text), eos]:
            assert token_id in guide.allowed_token_ids(), (guide.text, token_id)
            guide.advance(token_id)


@pytest.mark.slow
@every_compiled_folder
def test_every_mask_on_the_way_to_a_mark_allows_the_next_byte_until_there(name):
    for start in folder_of(name).rejects:
        guide = cfgguide.Guide(index_of(name))
        for offset, token_id in enumerate(byte_ids(start.text)[: start.n_good + 1]):
            is_allowed = token_id in guide.allowed_token_ids()
            assert is_allowed == (offset < start.n_good), (start, offset)
            if is_allowed:
                guide.advance(token_id)
