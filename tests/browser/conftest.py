"""A real browser for the tests of the page: Debian's Chromium, headless, without a network."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="install it: pip install termwise[dev]")
    path = shutil.which("chromium")
    if path is None:
        reason = "there is no chromium; make test installs it, or: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Shown:
    """A page that was opened from its file with the network off, and all that it complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> "Shown":
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=true]", timeout=20_000)
        return self


@pytest.fixture
def show(browser: Any) -> Iterator[Any]:
    contexts = []

    def opened(path: Path, **options: Any) -> Shown:
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        return Shown(context.new_page()).open(path)

    yield opened
    for context in contexts:
        context.close()
