"""A page in a real browser, without a network, and what it complained of."""

import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def started():
    """A browser; skips where there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser here: none of {', '.join(NAMES)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, *, width=1280, **settings):
    """A page from a file, all figures drawn; it must load nothing and complain of nothing."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, offline=True, **settings
    )
    page = context.new_page()
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-complete]", state="attached")
    yield page
    context.close()
    assert not complaints
    assert [url for url in requests if not url.startswith("blob:")] == [path.as_uri()]
