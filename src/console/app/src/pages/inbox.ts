// Every question that waits for somebody.

import { h, type Child } from "../dom";
import { plain } from "../format";
import { empty, heading, type Page } from "../page";
import { asked, QuestionForm } from "../run/question";
import type { Store } from "../store";

export class InboxPage implements Page {
  title = "Inbox";
  private readonly forms = new Map<string, QuestionForm>();

  constructor(private readonly store: Store) {}

  view(): Child {
    const open = this.store.interrupts;
    return h("div", { class: "page" },
      heading("Inbox", "Runs that wait for a person"),
      open.length === 0 && empty("Nothing to answer", h("p", null, "A run that asks a question shows up here the moment it does.")),
      open.map((i) => {
        let form = this.forms.get(i.interrupt_id);
        if (!form) this.forms.set(i.interrupt_id, (form = new QuestionForm(asked(i), () => void this.store.askInterrupts())));
        else form.update(asked(i));
        return h("article", { key: i.interrupt_id, class: "inbox-item" },
          h("p", { class: "muted" }, plain(i.agent), " · ", h("a", { href: `#/runs/${i.job_id}` }, i.job_id)), form.view());
      }));
  }
}
