"""The playground's page in a real Chromium without a screen, driven as a user would.

Skipped only where no chromium with its driver is installed (Debian: `apt-get install chromium
chromium-driver`).
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
if BINARY is None or DRIVER is None:
    pytest.skip("no chromium and chromedriver are installed", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

from cfgguide.engine.vocabulary.vocabulary import Vocabulary  # noqa: E402
from cfgguide.studio.playground.server import PlaygroundServer  # noqa: E402
from cfgguide.studio.playground.tokenizers import Loaded, TokenizerChoice  # noqa: E402

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-sync", "--disable-background-networking",
    "--disable-component-update", "--window-size=1400,900",
)  # fmt: skip
N_MANY = 12_000
SUMS = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/\n'
ENDLESS = "".join(
    [
        f"start: {' | '.join(f'A{i}' for i in range(40))}\n",
        *(f"A{i}: /{i:02}(a|b)*a(a|b){{12}}/\n" for i in range(40)),
    ]
)


class Page:
    """The page in a browser."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver = driver
        self.url = url

    def __getitem__(self, element_id: str) -> Any:
        return self.driver.find_element("id", element_id)

    def open(self, *, width: int = 1400, dark: bool = False, url: str | None = None) -> Page:
        command = self.driver.execute_cdp_cmd
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get("about:blank")
        self.driver.get(url or self.url)
        self.until(lambda: self["grammar-status"].text.startswith("Compiled"))
        return self

    def until(self, holds: Callable[[], object], seconds: float = 30) -> None:
        WebDriverWait(self.driver, seconds, poll_frequency=0.03).until(lambda _: holds())

    def write(self, element_id: str, text: str) -> None:
        """Put a text into a field as pasting does."""
        self.driver.execute_script(
            "const it = document.getElementById(arguments[0]); it.value = arguments[1];"
            "it.setSelectionRange?.(it.value.length, it.value.length);"
            "it.dispatchEvent(new Event('input', {bubbles: true}))",
            element_id,
            text,
        )

    def use(self, grammar: str, text: str = "") -> None:
        compiled = "return document.body.dataset.compiled"
        before = self.driver.execute_script(compiled)
        self.write("text", text)
        self.write("grammar", grammar)
        self.until(lambda: self.driver.execute_script(compiled) != before)
        self.until(lambda: self["grammar-status"].text.startswith("Compiled"))

    def keys(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def tokens(self) -> list[str]:
        script = "return [...document.querySelectorAll('.token .pieces')].map((p) => p.textContent)"
        return self.driver.execute_script(script)

    def rows(self) -> list[str]:
        script = (
            "return [...document.querySelectorAll('.row')]"
            ".sort((a, b) => a.dataset.index - b.dataset.index)"
            ".map((r) => r.querySelector('.text').textContent)"
        )
        return self.driver.execute_script(script)

    def problems(self) -> list[str]:
        return [each["message"] for each in self.driver.get_log("browser")]

    def requests(self) -> set[str]:
        """Return where Chromium sent requests to, by its own log."""
        found = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.add(message["params"]["request"]["url"])
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[PlaygroundServer]:
    with PlaygroundServer(0) as made:
        words = [f"w{number}" for number in range(N_MANY)]
        vocabulary = Vocabulary.of_bytes(word.encode() for word in words)
        made.actions.choices["many"] = TokenizerChoice("many", "many", lambda: Loaded(vocabulary))
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.actions.end()
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BINARY
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield made
    made.quit()


@pytest.fixture
def page(driver: Any, server: PlaygroundServer) -> Iterator[Page]:
    page = Page(driver, server.url)
    yield page
    assert page.problems() == []  # nothing on the console, no refusal of the page's own policy


def test_a_text_is_typed_and_each_key_is_answered(page):
    page.open().use(SUMS)
    page["text"].click()
    page.keys("12+3")
    page.until(lambda: page["verdict"].text == "a sentence")
    assert page.tokens() == ["1", "2", "+", "3", "next"]
    # ten digits, seven numbers (10 100 19 20 00 25 42), "+" and EOS
    page.until(lambda: page["n-allowed"].text == "19")
    page.keys("x")
    page.until(lambda: "refused" in page["verdict"].text)
    page.until(lambda: page["refusal"].is_displayed())
    assert "NUMBER" in page["refusal"].text


def test_a_place_is_chosen_by_the_caret_by_a_click_and_by_keys(page):
    page.open().use(SUMS, "1+2")
    page.until(lambda: page.tokens() == ["1", "+", "2", "next"])
    selected = "return document.querySelector('.token[aria-selected=true]').id"
    page["text"].click()
    page.keys(Keys.END, Keys.ARROW_LEFT)
    page.until(lambda: page.driver.execute_script(selected) == "token-2")
    page["token-1"].click()
    assert page.driver.execute_script(selected) == "token-1"
    page["tokens"].send_keys(Keys.ARROW_LEFT)
    assert page.driver.execute_script(selected) == "token-0"
    page.until(lambda: page["where"].text == "at the beginning")
    page["tokens"].send_keys(Keys.END)
    assert page.driver.execute_script(selected) == "token-3"


def test_tokens_are_searched_explained_and_taken_with_the_keyboard_alone(page):
    page.open().use('start: "yes" | "yet" | "no"')
    page["search"].click()
    page.keys("y")
    page.until(lambda: page.rows() == ["y"])
    page.keys(Keys.ARROW_DOWN)
    page.until(lambda: "allowed" in page["why"].text)
    page.keys(Keys.ENTER)
    page.until(lambda: page["text"].get_attribute("value") == "y")
    page["search"].clear()
    page.keys(Keys.TAB)
    page["piece"].click()
    page.keys("ex", Keys.ENTER)
    page.until(lambda: "refused" in page["why"].text)
    assert "YES" in page["why"].text


def test_all_of_it_is_reached_with_the_tab_key(page):
    page.open()
    page.driver.execute_script("document.body.focus()")
    reached = set()
    for _ in range(40):
        page.keys(Keys.TAB)
        element = page.driver.switch_to.active_element
        reached.add(element.get_attribute("id"))
        outline = element.value_of_css_property("outline-style")
        is_editor = element.get_attribute("id") == "grammar"  # the frame around it has the outline
        assert is_editor or outline != "none" or element.tag_name == "body"
    assert {"tokenizer", "choice", "grammar", "start", "parser", "text", "tokens"} <= reached
    assert {"tab-follow", "search", "which", "order", "list", "piece"} <= reached


def test_a_mistake_is_shown_at_its_place(page):
    page.open()
    page.write("grammar", 'start: "a"\nx: "b" %\n')
    page.until(lambda: page["error"].is_displayed())
    assert "Line 2, column 8" in page["error"].text
    mark = page.driver.find_element("css selector", "#backdrop mark")
    assert mark.text == "%"
    page["error"].find_element("tag name", "button").click()
    at = page.driver.execute_script("return document.getElementById('grammar').selectionStart")
    assert at == 18
    page.use(SUMS)
    assert not page["error"].is_displayed()


def test_the_panels_show_stack_tree_drawing_and_report(page):
    page.open().use('start: a "," a\na: X\nX: "x"\nY: "y"\n', "x,x")
    page.until(lambda: page["verdict"].text == "a sentence")
    page["tab-follow"].click()
    page.keys(Keys.ARROW_RIGHT)
    page.until(lambda: "COMMA" in page["stacks"].text)
    page.keys(Keys.ARROW_RIGHT)
    rules = "return [...document.querySelectorAll('#tree summary')].map((s) => s.textContent)"
    page.until(lambda: page.driver.execute_script(rules) == ["start", "a", "a"])
    page.keys(Keys.ARROW_RIGHT)
    loaded = "const i = document.querySelector('#drawing img'); return i && i.naturalWidth > 50"
    page.until(lambda: page.driver.execute_script(loaded))
    page.keys(Keys.ARROW_RIGHT)
    page.until(lambda: "Y" in page["report"].text)


def test_texts_of_users_are_shown_as_texts(page):
    page.open()
    evil = "<img src=x onerror=alert(1)>"
    page.use(f'start: A\nA: "{evil}"\n', evil)
    page.until(lambda: page["verdict"].text == "a sentence")
    assert "".join(page.tokens()[:-1]) == evil
    for tab in ("tree", "terminals", "report"):
        page[f"tab-{tab}"].click()
        page.until(lambda: page["tree-note"] is not None)
    assert page.driver.execute_script("return document.querySelectorAll('img[src=x]').length") == 0


def test_ten_thousand_tokens_are_listed_without_drawing_them(page):
    page.open().use("start: /[w0-9 ]+/")
    Select(page["tokenizer"]).select_by_visible_text("many")
    page.until(lambda: page["n-allowed"].text == f"{N_MANY + 12:,}")  # w, ten digits, a space
    drawn = "return document.querySelectorAll('.row').length"
    assert page.driver.execute_script(drawn) < 100
    page["list"].send_keys(Keys.END)
    page.until(lambda: page.rows()[-1] == f"w{N_MANY - 1}")
    assert page.driver.execute_script(drawn) < 100
    page.write("search", "w1199")
    page.until(lambda: page.rows() == ["w1199", *(f"w1199{digit}" for digit in range(10))])


@pytest.mark.parametrize("width", [360, 700, 1000])
@pytest.mark.parametrize("dark", [False, True])
def test_narrow_screens_and_the_dark_have_room_and_contrast(page, width, dark):
    page.open(width=width, dark=dark)
    page.until(lambda: page.rows())
    wide = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scrolled, shown = page.driver.execute_script(wide)
    assert scrolled <= shown <= width
    assert page.driver.execute_script(CONTRASTS) == []


#: Texts whose contrast with what is behind them is less than WCAG's AA asks for (4.5).
CONTRASTS = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
  const layers = [];
  for (let it = element; it; it = it.parentElement) {
    layers.push(rgba(getComputedStyle(it).backgroundColor));
    if (layers.at(-1)[3] === 255) break;
  }
  return layers.reverse().reduce((below, [r, g, b, a]) =>
    [r, g, b].map((c, i) => (c * a + below[i] * (255 - a)) / 255), [255, 255, 255]);
};
const found = [];
for (const element of document.querySelectorAll('body *')) {
  const hasText = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!hasText || !element.checkVisibility()) continue;
  if (element.closest('.unread, textarea, option')) continue;
  const [one, other] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (ratio < 4.5) found.push(`${element.className} ${element.textContent} ${ratio}`);
}
return found;
"""


def test_a_link_restores_what_was_there(page):
    page.open().use(SUMS, "1+2")
    page.until(lambda: page["verdict"].text == "a sentence")
    page["token-1"].click()
    page.until(lambda: "#" in page.driver.current_url)
    old = page.driver.current_url
    page.until(lambda: page.driver.current_url != old or True)
    page.driver.execute_async_script("setTimeout(arguments[0], 500)")
    page.open(url=page.driver.current_url)
    assert page["grammar"].get_attribute("value") == SUMS
    assert page["text"].get_attribute("value") == "1+2"
    selected = "return document.querySelector('.token[aria-selected=true]')?.id"
    page.until(lambda: page.driver.execute_script(selected) == "token-1")


def test_a_damaged_link_says_so(page):
    page.open(url=page.url + "#%%%")
    assert "damaged" in page["banner"].text


def test_compiling_is_cancelled_by_its_button(page):
    page.open()
    page.write("grammar", ENDLESS)
    page.until(lambda: page["cancel"].is_displayed())
    assert "Compiling" in page["grammar-status"].text
    page["cancel"].click()
    page.until(lambda: page["grammar-status"].text.startswith("Cancelled"))
    page.write("grammar", SUMS)
    page.until(lambda: page["grammar-status"].text.startswith("Compiled"))


def test_two_tabs_are_apart(page):
    page.open().use(SUMS, "1")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.open().use('start: "x"+', "xx")
    page.until(lambda: page["verdict"].text == "a sentence")
    page.driver.close()
    page.driver.switch_to.window(first)
    page["text"].click()
    page.keys("+1")
    page.until(lambda: page.tokens() == ["1", "+", "1", "next"])
    page.until(lambda: page["verdict"].text == "a sentence")


def test_no_request_leaves_the_machine(page, server):
    page.open()
    page.until(lambda: page.rows())
    found = page.requests()
    assert any("/api/read" in url for url in found)
    here = (f"http://127.0.0.1:{server.server_port}/", "about:", "data:", "chrome:", "devtools:")
    assert [url for url in found if not url.startswith(here)] == []


def test_without_the_secret_the_page_says_what_to_do(driver, server):
    page = Page(driver, server.url)
    driver.get(server.url.split("?")[0])
    page.until(lambda: "cfgguide playground" in page["banner"].text)
    page.problems()  # Chromium notes the status 403


def test_screens_are_where_the_documents_show_them():
    pictures = Path(__file__).parents[3] / "docs" / "pictures"
    for name in ("light", "dark", "narrow"):
        assert 10_000 < (pictures / f"playground-{name}.png").stat().st_size < 200_000
