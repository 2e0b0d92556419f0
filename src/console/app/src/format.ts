// Numbers and times as people read them.

// @least: the smallest difference in milliseconds that must be visible.
export function duration(ms: number, least = 60_000): string {
  if (!Number.isFinite(ms) || ms < 0) ms = 0;
  if (ms < 1000) return `${least < 1 ? ms.toFixed(2) : Math.round(ms)} ms`;
  const s = ms / 1000;
  const places = least < 1 ? 5 : least < 10 ? 3 : least < 100 ? 2 : 1;
  if (s < 60) return `${s.toFixed(places)} s`;
  const m = Math.floor(s / 60);
  const rest = least < 1000 ? (s % 60).toFixed(places) : Math.floor(s % 60);
  if (m < 60) return `${m} min ${rest} s`;
  const hours = Math.floor(m / 60);
  if (hours < 48) return `${hours} h ${m % 60} min${least < 60_000 ? ` ${rest} s` : ""}`;
  return `${Math.floor(hours / 24)} days`;
}

export function age(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 5) return "now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} days ago`;
}

export function count(n: number): string {
  if (n < 10000) return String(n);
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e5 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let i = -1;
  do {
    n /= 1024;
    i++;
  } while (n >= 1024 && i < units.length - 1);
  return `${n.toFixed(n < 10 ? 1 : 0)} ${units[i]}`;
}

export function clock(ts: number): string {
  const d = new Date(ts);
  const pad = (n: number, width = 2) => String(n).padStart(width, "0");
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}.${pad(d.getMilliseconds(), 3)}`;
}

export function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

// Control characters, invisible characters and changes of text direction are made visible.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function plain(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\u2039${code.toString(16).toUpperCase().padStart(4, "0")}\u203a`;
  });
}

// Where a text may be cut at about @at, without leaving half of a character.
export function whole(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code < 0xdc00 ? at - 1 : at;
}

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, whole(text, most))}…`;
}

// A value as text: strings as they are, the rest as JSON.
export function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}
