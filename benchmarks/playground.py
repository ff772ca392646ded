"""From a key press to a painted picture in the playground, in a headless Chromium.

``python benchmarks/playground.py --tokenizer FOLDER`` types a text of JSON and one of Python key by
key, each `--passes` times, the first with an empty cache. It needs Selenium, and Chromium with its
driver (Debian: ``apt-get install chromium chromium-driver``). A time is that from `keydown` to the
frame after the change of the tokens, and to that of the list of allowed tokens beside them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

TEXTS = {
    "json": (
        '{"name": "Ronia", "year": 1981, "tags": ["forest", "robber", "daughter"], '
        '"price": {"amount": 12.5, "currency": "SEK"}, "available": true, "isbn": null, '
        '"pages": [1, 2, 3, 5, 8, 13], "note": "first edition"}'
    ),
    "python": (
        'def total(items, rate=0.25):\n    """Return the price of all items."""\n    result = 0\n'
        "    for item in items:\n        if item.price > 10:\n"
        "            result += item.price * (1 + rate)\n    return result\n"
    ),
}
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1500,1000",
)
BETWEEN = 0.12  # seconds between two keys
#: Notes when the page has changed what it says of itself: `data-picture`, then `data-list`.
WATCH = """
window.times = {picture: [], list: []};
let began = null, waits = {};
document.getElementById('text').addEventListener('keydown', () => {
  began = performance.now(); waits = {picture: true, list: true};
}, true);
new MutationObserver((records) => {
  for (const record of records) {
    const kind = record.attributeName.slice(5), start = began;
    if (!waits[kind]) continue;
    waits[kind] = false;
    requestAnimationFrame(() => setTimeout(
      () => window.times[kind].push(performance.now() - start), 0));
  }
}).observe(document.body, {attributes: true, attributeFilter: ['data-picture', 'data-list']});
"""
CLEAR = """
window.times.picture = []; window.times.list = [];
const area = document.getElementById('text');
area.value = ''; area.dispatchEvent(new Event('input'));
"""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--tokenizer", required=True, help="a folder or tokenizer.json")
    options.add_argument("--passes", type=int, default=2, help="how often each text is typed")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CFGGUIDE_CACHE"] = cache  # before cfgguide is imported
        from cfgguide.studio.playground.server import PlaygroundServer

        with PlaygroundServer(0, [given.tokenizer]) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            driver = _driver()
            try:
                _measure(driver, server.url, Path(given.tokenizer).name, given.passes)
            finally:
                driver.quit()
                server.actions.end()
                server.shutdown()
    return 0


def _driver() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    binary, program = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or program is None:
        sys.exit("install chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(program))


def _measure(driver: Any, url: str, tokenizer: str, n_passes: int) -> None:
    from selenium.webdriver.support.ui import Select, WebDriverWait

    driver.get(url)
    WebDriverWait(driver, 60).until(
        lambda _: driver.find_elements("css selector", "#choice option")
    )
    Select(driver.find_element("id", "tokenizer")).select_by_visible_text(tokenizer)
    driver.execute_script(WATCH)
    print("| text | pass | what | keys | median, ms | p95, ms | longest, ms | over 100 ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name, text in TEXTS.items():
        Select(driver.find_element("id", "choice")).select_by_visible_text(name)
        status = driver.find_element("id", "grammar-status")
        time.sleep(1)
        WebDriverWait(driver, 120).until(lambda _, s=status: s.text.startswith("Compiled"))
        for number in range(1, n_passes + 1):
            driver.execute_script(CLEAR)
            time.sleep(1)
            driver.find_element("id", "text").click()
            _type(driver, text)
            time.sleep(2)
            written = driver.find_element("id", "text").get_attribute("value")
            assert written == text, f"the page has {written!r}"
            for kind in ("picture", "list"):
                times = sorted(driver.execute_script(f"return window.times.{kind}"))
                shown = [
                    statistics.median(times),
                    times[min(len(times) - 1, int(len(times) * 0.95))],
                    times[-1],
                ]
                n_late = sum(each > 100 for each in times)
                cells = " | ".join(f"{each:.0f}" for each in shown)
                row = f"| {name} | {number} | {kind} | {len(times)} of {len(text)} | {cells}"
                print(f"{row} | {n_late} |", flush=True)


def _type(driver: Any, text: str) -> None:
    for character in text:
        event = {"text": character, "key": character}
        if character == "\n":
            event = {"text": "\r", "key": "Enter", "windowsVirtualKeyCode": 13}
        driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", "key": event["key"]})
        time.sleep(BETWEEN)


if __name__ == "__main__":
    sys.exit(main())
