"""The documentation site: it builds without a warning, is whole, and needs no network."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = runpy.run_path(str(ROOT / "docs" / "make_site.py"))

#: Attributes that make a browser load something; an `href` of a link only leads there.
LOADING = {
    ("script", "src"), ("img", "src"), ("img", "srcset"), ("source", "src"), ("iframe", "src"),
    ("link", "href"), ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"),
}  # fmt: skip

MADE_BY_SPHINX = {"search.html", "genindex.html"}


class Page(HTMLParser):
    """What the tests ask of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.pictures: list[str | None] = []  # their alternative texts
        self.language: str | None = None
        self.titles: list[str] = []
        self.headings = 0
        self._is_in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if found.get(name)}
        if tag == "html":
            self.language = found.get("lang")
        if tag == "img":
            self.pictures.append(found.get("alt"))
        self.headings += tag == "h1"
        self._is_in_title = tag == "title"
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.loaded += [value or "" for name, value in attrs if (tag, name) in LOADING]

    def handle_data(self, data: str) -> None:
        if self._is_in_title:
            self.titles.append(data)
            self._is_in_title = False


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> Path:
    """The folder of a new site; Sphinx has made an error of each warning."""
    folder = tmp_path_factory.mktemp("build").resolve()
    assert SITE["main"](folder) == 0
    return folder / "site"


@pytest.fixture(scope="module")
def site(target) -> dict[str, Page]:
    """Its pages by their path."""
    return {
        path.relative_to(target).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(target.rglob("*.html"))
    }


def local_links(target: Path, page: str, links: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the file and the anchor of each link that stays on the site."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            file = target / page
            if parts.path:
                file = (file.parent / unquote(parts.path)).resolve()
            yield file.relative_to(target).as_posix(), unquote(parts.fragment)


@pytest.mark.slow
def test_every_local_link_leads_to_a_file_and_an_anchor(target, site):
    assert len(site) > 60
    for page, found in site.items():
        for file, anchor in local_links(target, page, found.links):
            assert (target / file).is_file(), (page, file)
            if anchor and file.endswith(".html"):
                assert anchor in site[file].anchors, (page, file, anchor)


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(target, site):
    for page, found in site.items():
        for address in found.loaded:
            assert not re.match(r"([a-z]+:)?//", address), (page, address)
    for style in target.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import", text), style


@pytest.mark.slow
def test_every_page_has_a_language_a_title_and_texts_for_its_pictures(site):
    for page, found in site.items():
        assert found.language == "en", page
        assert found.titles, page
        assert found.titles[0].strip(), page
        assert found.headings == 1 or page in MADE_BY_SPHINX, page
        assert all(found.pictures), page


@pytest.mark.slow
def test_every_document_is_in_the_contents(target, site):
    contents = {file for file, _ in local_links(target, "index.html", site["index.html"].links)}
    for names in SITE["SECTIONS"].values():
        for name in names:
            assert f"{name}.html" in contents or f"{name}.html" not in site, name
    for document in (ROOT / "docs").rglob("*.md"):
        path = document.relative_to(ROOT).as_posix()
        page = SITE["OUTSIDE"].get(path, path.removeprefix("docs/"))
        assert page.replace(".md", ".html") in site


def test_pages_are_laid_out_alike_each_time(tmp_path):
    """Before Sphinx: the same files with the same bytes, and links from one page to another."""
    texts = []
    for name in ("once", "twice"):
        SITE["lay_out"](tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        texts.append(
            [(str(path.relative_to(tmp_path / name)), path.read_bytes()) for path in files]
        )
    assert texts[0] == texts[1]
    pages = dict(texts[0])
    assert b"](architecture.md)" in pages["how-a-mask-is-made.md"]
    assert b"](files/examples/own_grammar.py.md)" in pages["quickstart.md"]
    assert b'<figure class="moving"' in pages["how-a-mask-is-made.md"]
