// A form from a JSON Schema: the kinds that questions use; anything else is answered in JSON.

import { h, redraw, type Child, type VNode } from "../dom";
import type { Json, JsonObject } from "../record";

export class Field {
  value: Json;
  private readonly fields = new Map<string, Field>();

  constructor(readonly schema: JsonObject, first: Json | undefined, private readonly name: string, private readonly isRequired = true) {
    this.value = first ?? schema.default ?? (this.kind() === "boolean" ? false : this.kind() === "json" ? "" : null);
    if (this.kind() === "object") {
      const start = (first ?? schema.default ?? {}) as JsonObject;
      const required = Array.isArray(schema.required) ? schema.required : [];
      for (const [key, inner] of Object.entries(schema.properties as JsonObject)) {
        this.fields.set(key, new Field(inner as JsonObject, start[key], key, required.includes(key)));
      }
    } else if (this.kind() === "json" && typeof this.value !== "string") this.value = JSON.stringify(this.value, null, 2);
  }

  kind(): "choice" | "boolean" | "number" | "text" | "object" | "json" {
    const type = Array.isArray(this.schema.type) ? this.schema.type[0] : this.schema.type;
    if (Array.isArray(this.schema.enum)) return "choice";
    if (type === "boolean") return "boolean";
    if (type === "integer" || type === "number") return "number";
    if (type === "string") return "text";
    if (type === "object" && this.schema.properties) return "object";
    return "json";
  }

  // What is to be sent; undefined is left out.  Throws what is wrong with it.
  read(): Json | undefined {
    switch (this.kind()) {
      case "object": {
        const out: JsonObject = {};
        for (const [key, field] of this.fields) {
          const value = field.read();
          if (value !== undefined) out[key] = value;
        }
        return out;
      }
      case "number":
        if (this.value === null || this.value === "") {
          if (this.isRequired) throw new Error(`${this.name} must be a number`);
          return undefined;
        }
        return Number(this.value);
      case "json":
        if (this.value === "" && !this.isRequired) return undefined;
        try {
          return JSON.parse(String(this.value)) as Json;
        } catch (error) {
          throw new Error(`${this.name}: ${(error as Error).message}`);
        }
      case "choice":
        if (this.value === null && this.isRequired) throw new Error(`choose one for ${this.name}`);
        return this.value === null ? undefined : this.value;
      case "text":
        return this.value === null ? (this.isRequired ? "" : undefined) : this.value;
      default:
        return this.value;
    }
  }

  private set(value: Json): void {
    this.value = value;
    redraw();
  }

  view(id: string): VNode {
    const label = String(this.schema.title ?? this.name);
    const about = typeof this.schema.description === "string" && h("span", { class: "muted" }, ` ${this.schema.description}`);
    const text = (e: Event): string => (e.target as HTMLInputElement).value;
    switch (this.kind()) {
      case "object":
        return h("fieldset", { key: id }, h("legend", null, label, about), [...this.fields].map(([key, field]) => field.view(`${id}-${key}`)));
      case "choice":
        return h("fieldset", { key: id, class: "choices" }, h("legend", null, label, about), (this.schema.enum as Json[]).map((choice, i) =>
          h("label", { key: i, class: "choice" }, h("input", { type: "radio", name: id, checked: this.value === choice, onchange: () => this.set(choice) }),
            typeof choice === "string" ? choice : JSON.stringify(choice))));
      case "boolean":
        return h("fieldset", { key: id, class: "choices" }, h("legend", null, label, about), [true, false].map((choice) =>
          h("label", { key: String(choice), class: "choice" }, h("input", { type: "radio", name: id, checked: this.value === choice, onchange: () => this.set(choice) }),
            choice ? "Yes" : "No")));
      case "number":
        return this.labelled(id, label, about, h("input", {
          id, type: "number", value: this.value === null ? "" : String(this.value), step: this.schema.type === "integer" ? "1" : "any",
          min: this.schema.minimum as number, max: this.schema.maximum as number, oninput: (e: Event) => this.set(text(e)),
        }));
      case "text":
        return this.labelled(id, label, about, h("textarea", {
          id, rows: 2, value: String(this.value ?? ""), maxlength: this.schema.maxLength as number, oninput: (e: Event) => this.set(text(e)),
        }));
      default:
        return this.labelled(id, `${label} (JSON)`, about, h("textarea", { id, rows: 4, spellcheck: "false", class: "mono", value: String(this.value), oninput: (e: Event) => this.set(text(e)) }));
    }
  }

  private labelled(id: string, label: string, about: Child, input: VNode): VNode {
    return h("div", { key: id, class: "field" }, h("label", { for: id }, label, about), input);
  }
}
