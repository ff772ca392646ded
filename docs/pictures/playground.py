"""Draw playground-light.png, playground-dark.png and playground-narrow.png: the page in Chromium.

Run it from the root of a checkout, with SmolLM2 (``cfgguide model smollm2``), chromium and
chromedriver installed: ``python docs/pictures/playground.py``.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import threading
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from cfgguide.studio.playground.server import PlaygroundServer

FOLDER = Path(__file__).parent
#: Name, width, height, whether it is dark, a grammar, a text, and the tab to show.
SCREENS = (
    (
        "light",
        1440,
        760,
        False,
        "json",
        '{"name": "Ronia", "year": 1981, "tags": ["forest", ',
        "follow",
    ),
    (
        "dark",
        1440,
        760,
        True,
        "python",
        "def total(items):\n    result = 0\n    for item in items:\n        result += item.",
        "parser",
    ),
    ("narrow", 360, 780, False, "sums", "(12 + 3) * * 4", "follow"),
)
_SECONDS = 90


def main() -> None:
    with PlaygroundServer(0, model="smollm2") as server, tempfile.TemporaryDirectory() as profile:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            for name, *screen in SCREENS:
                _take(driver, server.url, FOLDER / f"playground-{name}.png", *screen)
        finally:
            driver.quit()
            server.shutdown()
            thread.join()


def _take(
    driver: webdriver.Chrome,
    url: str,
    path: Path,
    width: int,
    height: int,
    is_dark: bool,
    grammar: str,
    text: str,
    tab: str,
) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get("about:blank")
    driver.get(url)
    _wait(driver, "return document.body.dataset.compiled")
    before = driver.execute_script("return document.body.dataset.compiled")
    driver.execute_script(
        "const it = document.getElementById('choice');"
        "it.value = [...it.options].find((each) => each.text === arguments[0]).value;"
        "it.dispatchEvent(new Event('change'))",
        grammar,
    )
    _wait(driver, f"return document.body.dataset.compiled !== '{before}'")
    driver.execute_script(
        "const it = document.getElementById('text'); it.value = arguments[0];"
        "it.setSelectionRange(it.value.length, it.value.length);"
        "it.dispatchEvent(new Event('input'))",
        text,
    )
    driver.find_element(By.ID, f"tab-{tab}").click()
    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    _wait(driver, "return ![...document.querySelectorAll('.n')].some((n) => n.textContent === '…')")
    time.sleep(3)  # whatever is asked for after the picture: chances, the stack, why not
    if width < 500:
        driver.execute_script("document.querySelector('.text').scrollIntoView()")
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    path.write_bytes(base64.b64decode(shot["data"]))


def _wait(driver: webdriver.Chrome, script: str) -> None:
    end = time.monotonic() + _SECONDS
    while not driver.execute_script(script):
        if time.monotonic() > end:
            raise TimeoutError(script)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
