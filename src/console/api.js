// Shows /openapi.json, and sends the requests that it describes.
//
// Everything that comes from a server is put on the page as text, never as markup.
"use strict";

const STREAM_BYTES = 200000; // of a stream that are kept on the page

let api;

// --- small things ---

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function resolve(thing) {
  while (thing && thing.$ref) {
    thing = thing.$ref.slice(2).split("/").reduce((at, key) => at[key.replace(/~1/g, "/").replace(/~0/g, "~")], api);
  }
  return thing;
}

// `word` in descriptions is code; the rest is text.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", { textContent: part }) : part));
}

// --- schemas, in a line or as an outline ---

function outline(schema, pad = "", seen = []) {
  const name = schema.$ref;
  if (name && seen.includes(name)) return "…";
  const s = resolve(schema);
  const path = name ? [...seen, name] : seen;
  const alternatives = s.oneOf || s.anyOf;
  if (alternatives) return alternatives.map((one) => outline(one, pad, path)).join(" | ");
  if (s.enum) return s.enum.map((value) => JSON.stringify(value)).join(" | ");
  const { properties, required } = members(s);
  if (Object.keys(properties).length > 0) {
    const inner = pad + "  ";
    const rows = Object.entries(properties).map(([key, value]) => {
      const about = resolve(value).description;
      return `${inner}${key}${required.includes(key) ? "" : "?"}: ${outline(value, inner, path)}${about ? "  // " + about : ""}`;
    });
    return `{\n${rows.join("\n")}\n${pad}}`;
  }
  if (s.items) return `[${outline(s.items, pad, path)}]`;
  return [s.type || "any JSON"].flat().join(" | ") + (s.format ? ` (${s.format})` : "");
}

// Of an object, and of what it is put together from.
function members(schema) {
  const all = { properties: { ...schema.properties }, required: [...(schema.required || [])] };
  for (const part of schema.allOf || []) {
    const more = members(resolve(part));
    Object.assign(all.properties, more.properties);
    all.required.push(...more.required);
  }
  return all;
}

// The required members, filled with something of their type.
function example(schema) {
  const s = resolve(schema);
  if (s.enum) return s.enum[0];
  const type = [s.type].flat()[0];
  if (s.properties) {
    return Object.fromEntries((s.required || []).map((key) => [key, example(s.properties[key])]));
  }
  if (type === "array") return s.minItems ? [example(s.items)] : [];
  return { string: "demo", integer: 1, boolean: true }[type] ?? {};
}

// --- one operation ---

function parameterTable(parameters, fields) {
  const table = make("table");
  for (const p of parameters) {
    const s = resolve(p.schema);
    const input = make("input", {
      type: "text",
      placeholder: s.default !== undefined ? String(s.default) : s.enum ? s.enum.join(" | ") : p.required ? "required" : "",
    });
    input.setAttribute("aria-label", p.name);
    fields.set(p, input);
    table.append(
      make("tr", {}, make("th", {}, make("code", { textContent: p.name }), make("span", { className: "note", textContent: ` ${p.in}` })),
        make("td", {}, ...prose(p.description || "")), make("td", { className: "field" }, input)));
  }
  return table;
}

function responseList(responses) {
  const list = make("div");
  for (const [status, given] of Object.entries(responses)) {
    const r = resolve(given);
    const what = make("p", {}, make("code", { textContent: status }), " ", ...prose(r.description));
    list.append(what);
    for (const [type, content] of Object.entries(r.content || {})) {
      what.append(make("span", { className: "note", textContent: ` ${type}` }));
      const schema = resolve(content.schema);
      if (status !== "default" && (schema.properties || schema.allOf || schema.oneOf)) {
        list.append(make("pre", { textContent: outline(content.schema) }));
      }
    }
  }
  return list;
}

function requestOf(method, path, fields, body) {
  const headers = {};
  const query = new URLSearchParams();
  let url = path;
  for (const [p, input] of fields) {
    const value = input.value;
    if (p.in === "path") url = url.replace(`{${p.name}}`, encodeURIComponent(value));
    else if (value !== "" && p.in === "query") query.set(p.name, value);
    else if (value !== "") headers[p.name] = value;
  }
  if (String(query)) url += `?${query}`;
  const token = document.getElementById("token").value;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = body.type;
  return { url, options: { method: method.toUpperCase(), headers, body: body ? body.field.value : undefined } };
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curlOf({ url, options }) {
  const words = ["curl", "-sN"];
  if (options.method !== "GET") words.push("-X", options.method);
  for (const [name, value] of Object.entries(options.headers)) {
    words.push("-H", quote(`${name}: ${name === "Authorization" ? "Bearer …" : value}`));
  }
  if (options.body !== undefined) words.push("--data-binary", quote(options.body));
  return [...words, quote(location.origin + url)].join(" ");
}

function pretty(text, type) {
  try {
    return /json/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  } catch {
    return text;
  }
}

async function show(answer, out) {
  const type = answer.headers.get("Content-Type") || "";
  const head = `${answer.status} ${answer.statusText}\n${[...answer.headers].map(([k, v]) => `${k}: ${v}`).join("\n")}\n\n`;
  if (!type.startsWith("text/event-stream")) {
    out.textContent = head + pretty(await answer.text(), type);
    return;
  }
  let text = head;
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text = (text + decoder.decode(value, { stream: true })).slice(-STREAM_BYTES);
    out.textContent = text;
    out.scrollTop = out.scrollHeight;
  }
  out.textContent = text + "\n(the stream has ended)";
}

function trySection(method, path, fields, body) {
  const out = make("pre", { hidden: true });
  const command = make("pre", { hidden: true });
  const stop = make("button", { type: "button", textContent: "Stop", hidden: true });
  const send = make("button", { type: "button", textContent: "Send" });
  send.onclick = async () => {
    const controller = new AbortController();
    const request = requestOf(method, path, fields, body);
    command.hidden = out.hidden = stop.hidden = false;
    command.textContent = curlOf(request);
    out.textContent = "…";
    stop.onclick = () => controller.abort();
    try {
      await show(await fetch(request.url, { ...request.options, signal: controller.signal }), out);
    } catch (error) {
      out.textContent += `\n(${error.name === "AbortError" ? "stopped" : error.message})`;
    }
    stop.hidden = true;
  };
  return make("div", {}, make("h3", { textContent: "Try it" }), send, stop, command, out);
}

function bodySection(given) {
  const [type, content] = Object.entries(given.content)[0];
  const schema = resolve(content.schema);
  const field = make("textarea", {
    spellcheck: false,
    value: schema.properties ? JSON.stringify(example(content.schema), null, 2) : "",
  });
  field.setAttribute("aria-label", "body");
  const element = make("div", {}, make("h3", { textContent: `Body (${type})` }));
  if (given.description) element.append(make("p", {}, ...prose(given.description)));
  if (schema.properties) element.append(make("pre", { textContent: outline(content.schema) }));
  element.append(field);
  return { element, field, type };
}

function contents(method, path, item, operation) {
  const fields = new Map();
  const parameters = [...(item.parameters || []), ...(operation.parameters || [])].map(resolve);
  const parts = make("div");
  if (operation.description) parts.append(make("p", {}, ...prose(operation.description)));
  if (parameters.length > 0) parts.append(make("h3", { textContent: "Parameters" }), parameterTable(parameters, fields));
  const body = operation.requestBody && bodySection(resolve(operation.requestBody));
  if (body) parts.append(body.element);
  parts.append(trySection(method, path, fields, body));
  parts.append(make("h3", { textContent: "Answers" }), responseList(operation.responses));
  return parts;
}

function operationElement(method, path, item, operation) {
  const scopes = operation.security.flatMap((s) => Object.values(s).flat());
  const details = make("details", { id: operation.operationId },
    make("summary", {},
      make("span", { className: `method ${method}`, textContent: method.toUpperCase() }),
      make("span", { className: "path", textContent: path }),
      make("span", { className: "about", textContent: operation.summary }),
      make("span", { className: "access", textContent: scopes.length ? `scope ${scopes.join(", ")}` : "open to all" })));
  details.dataset.words = `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase();
  details.ontoggle = () => {
    if (details.open && details.children.length === 1) details.append(contents(method, path, item, operation));
  };
  return details;
}

// --- the page ---

function group(tag) {
  const section = make("section", {}, make("h2", { textContent: tag.name }), make("p", { className: "about" }, ...prose(tag.description)));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of ["get", "post", "put", "patch", "delete"]) {
      if (item[method]?.tags.includes(tag.name)) section.append(operationElement(method, path, item, item[method]));
    }
  }
  return section;
}

function filter(words) {
  for (const section of document.querySelectorAll("section")) {
    for (const details of section.querySelectorAll("details")) {
      details.hidden = !words.every((word) => details.dataset.words.includes(word));
    }
    section.hidden = !section.querySelector("details:not([hidden])");
  }
}

async function start() {
  const main = document.getElementById("operations");
  try {
    api = await (await fetch("/openapi.json")).json();
  } catch (error) {
    main.textContent = `/openapi.json cannot be read: ${error.message}`;
    return;
  }
  document.getElementById("version").textContent = api.info.version;
  document.getElementById("summary").textContent = api.info.summary;
  main.append(...api.tags.map(group));
  const find = document.getElementById("find");
  find.oninput = () => filter(find.value.toLowerCase().split(/\s+/));
  const chosen = location.hash && document.getElementById(location.hash.slice(1));
  if (chosen) {
    chosen.open = true;
    chosen.scrollIntoView();
  }
}

start();
