"""The pages of docs/getting-started.md and docs/events.md in Chromium, and the agents of the first behind it.

All is as printed but for the ports, and for eyes on the page: they press its button and tell
what a person would see, change by change.
"""

import contextlib
import os
import tempfile

import gateway
from browser import Page, chromium
from document import Document
from event_source import SLOW
from harness import case, cases, check, equal

FILES = Document("docs/getting-started.md").files
TEXTS = {"hello": "writer: You asked: Why is the sky blue? I do not know. \n",
         "remote": "writer: You asked: Why is the sky blue? I do not know, and I am far away. \n"}
EYES = """
<script>
if (!location.hash) document.querySelector("button").click();
const seen = out.textContent ? [out.textContent] : [];
new MutationObserver(() => seen.push(out.textContent)).observe(out, { childList: true });
async function tell() {
  const texts = seen.splice(0);
  if (texts.length > 0) await fetch("/tell", { method: "POST", body: JSON.stringify({ job: location.hash.slice(1), texts }) });
  setTimeout(tell, 50);
}
tell();
</script>
"""


class Guide(Page):
    @property
    def texts(self):
        return [text for told in self.told for text in told["texts"]]

    def seen(self):
        return self.texts[-1] if self.told else ""

    def show(self, agent, port):
        html = at(FILES["page.html"], port).replace('agent: "hello"', f'agent: "{agent}"')
        self.html = (html + EYES).encode()


def at(text, port):
    return text.replace("127.0.0.1:8400", f"127.0.0.1:{port}")


@contextlib.contextmanager
def all_of_it(agent):
    """The page in a browser, the server, and the worker that comes for jobs."""
    port = gateway.fixed_port()
    with Guide(b"") as page, tempfile.TemporaryDirectory(prefix="spoolwire-guide-") as folder:
        page.show(agent, port)
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(at(text, port).replace("http://localhost:8000", page.origin))
        with gateway.Server("--config", "spoolwire.yaml", folder=folder, port=port) as server, \
                gateway.running("python3", "worker.py", cwd=folder):
            yield page, server


@case
def the_page_of_the_events_shows_what_the_models_say():
    port = gateway.fixed_port()
    with Guide(b"") as page, gateway.Server("--origins", page.origin, port=port) as server:
        server.submit("demo", {"speed": 0}, job_id="run-1")
        page.html = (at(Document("docs/events.md").files["watch.html"], port) + EYES.replace("if (!location.hash)", "if (0)")).encode()
        with chromium(page.origin + "/page.html"):
            gateway.until("the end", lambda: page.seen().endswith("\ndone"), SLOW)
        models = [f.json for f in server.read("run-1", "envelope") if f.event.startswith("on_chat_model_")]
        want = "".join({"on_chat_model_stream": e["data"].get("chunk"), "on_chat_model_end": "\n"}.get(e["event"], "") for e in models)
        equal(page.seen(), want + "done")


@cases(TEXTS)
def the_page_of_the_guide_shows_each_token_once_as_it_comes(agent):
    with all_of_it(agent) as (page, _), chromium(page.origin + "/page.html"):
        gateway.until("the whole text", lambda: page.seen() == TEXTS[agent], SLOW)
    check(len(page.told) > 1, f"it came at once: {page.told}")
    check(len(set(page.texts)) > 10, f"it came in {len(set(page.texts))} steps")
    check(all(TEXTS[agent].startswith(text) for text in page.texts), page.texts)


@case
def the_page_of_the_guide_goes_on_after_kill_9_and_after_a_reload():
    with all_of_it("remote") as (page, server):
        with chromium(page.origin + "/page.html"):
            gateway.until("some words", lambda: "sky" in page.seen(), SLOW)
            server.restart(server.kill)
            gateway.until("the whole text", lambda: page.seen() == TEXTS["remote"], SLOW)
        check(all(TEXTS["remote"].startswith(text) for text in page.texts), page.texts)
        job = page.told[-1]["job"]
        equal(server.state(job), "succeeded")
        page.told.clear()
        with chromium(f"{page.origin}/page.html#{job}"):
            gateway.until("the same again", lambda: page.seen() == TEXTS["remote"], SLOW)
