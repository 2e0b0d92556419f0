"""What the page shows: words that come one by one, and interruptions."""

import contextlib
import json
import urllib.parse
import urllib.request

import pages
from browser import Browser
from harness import cases, check, equal

VERSIONS = ["1.6.0", "1.12.0"]
IDLE = "document.querySelector('output')?.textContent === 'idle'"


def words(n):
    return "".join(f"word{i} " for i in range(n))


class Chat:
    def __init__(self, browser, dev, address):
        self.browser, self.dev = browser, dev
        browser.open(f"{address}?{urllib.parse.urlencode({'api': dev.url})}")
        browser.until("window.say && " + IDLE)

    def say(self, text):
        self.browser.evaluate(f"void window.say({json.dumps(text)})")

    def until_words(self, n):
        self.browser.until(f"window.last && last() === {json.dumps(words(n))}")

    def until_said(self, text):
        self.browser.until(f"{IDLE} && last() === {json.dumps(text)}")
        self.browser.until("document.querySelectorAll('p.ai').length === 1")
        equal(self.browser.evaluate("errors"), [])

    def click(self, name):
        self.browser.until(f"document.getElementById('{name}') !== null")
        self.browser.evaluate(f"document.getElementById('{name}').click()")

    def runs(self):
        thread = self.browser.evaluate("new URLSearchParams(location.search).get('thread')")
        with urllib.request.urlopen(f"{self.dev.url}/threads/{thread}/runs") as answer:
            return json.load(answer)


@contextlib.contextmanager
def chatting(version):
    with pages.page(version) as address, pages.Dev() as dev, Browser() as browser:
        yield Chat(browser, dev, address)


@cases(VERSIONS)
def words_come_one_by_one(version):
    with chatting(version) as chat:
        chat.dev.allow(0)
        chat.say("talk 30 10")
        for n in range(1, 31):
            chat.dev.allow(n)
            chat.until_words(n)
        chat.until_said(words(30))
        growth = chat.browser.evaluate("growth.filter(n => n > 0)")
        equal(growth, sorted(growth), "it only grows")


@cases(VERSIONS)
def a_page_that_is_loaded_again_in_mid_run_goes_on(version):
    with chatting(version) as chat:
        chat.dev.allow(10)
        chat.say("talk 60 10")
        chat.until_words(10)
        chat.browser.urls.clear()
        chat.browser.evaluate("window.isOld = true")
        chat.browser.call("Page.reload")
        chat.browser.until("!window.isOld")
        chat.until_words(10)
        chat.dev.allow(60)
        chat.until_said(words(60))
        check(any(url.split("?")[0].endswith("/stream") for url in chat.browser.urls), "it has joined the run")
        equal([run["status"] for run in chat.runs()], ["success"])


@cases(VERSIONS)
def stop_stops(version):
    with chatting(version) as chat:
        chat.dev.allow(5)
        chat.say("talk 400 10")
        chat.until_words(5)
        chat.click("stop")
        chat.browser.until(IDLE)
        pages.until("the run has ended", lambda: chat.runs()[0]["status"] == "interrupted")


@cases(VERSIONS)
def a_question_is_answered(version):
    with chatting(version) as chat:
        chat.say("ask")
        chat.browser.until("document.getElementById('yes')?.textContent === 'Really?'")
        chat.click("yes")
        chat.until_said("You said yes.")
        chat.browser.until("document.getElementById('yes') === null")


@cases(VERSIONS)
def a_server_that_is_killed_in_mid_run_loses_nothing(version):
    with chatting(version) as chat:
        chat.dev.allow(15)
        chat.say("talk 60 10")
        chat.until_words(15)
        chat.dev.restart()
        chat.dev.allow(60)
        chat.until_said(words(60))
        equal([run["status"] for run in chat.runs()], ["success"])
