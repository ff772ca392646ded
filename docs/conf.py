"""Sphinx's settings for the documentation site. `make site` runs Sphinx through `make_site.py`."""

from __future__ import annotations

from cfgguide import __version__

project = "cfgguide"
version = release = __version__
language = "en"
author = "the authors of cfgguide"
copyright = author  # no year: the same pages on any day

extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
source_suffix = {".md": "markdown"}
nitpicky = True
highlight_language = "none"  # a block without a language is what a program prints

myst_heading_anchors = 4  # headings have the anchors that GitHub gives them

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("animation.js", {"defer": "defer"}), ("search.js", {"defer": "defer"})]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#8ab8f0", "color-brand-content": "#8ab8f0"},
    "top_of_page_buttons": [],
}
