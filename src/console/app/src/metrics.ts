// The text that /metrics answers, as numbers.

export type Metrics = Map<string, { labels: { [name: string]: string }; value: number }[]>;

export function parse(text: string): Metrics {
  const out: Metrics = new Map();
  for (const line of text.split("\n")) {
    const m = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!m) continue;
    const labels = Object.fromEntries([...(m[2] ?? "").matchAll(/(\w+)="([^"]*)"/g)].map((l) => [l[1], l[2]]));
    const list = out.get(m[1]);
    if (list) list.push({ labels, value: Number(m[3]) });
    else out.set(m[1], [{ labels, value: Number(m[3]) }]);
  }
  return out;
}

export function sum(metrics: Metrics, name: string, where: { [label: string]: string } = {}): number {
  return (metrics.get(name) ?? []).filter((x) => Object.entries(where).every(([k, v]) => x.labels[k] === v)).reduce((n, x) => n + x.value, 0);
}

// The quantile @q of what a histogram has counted between two scrapes: the upper bound of its bucket.
export function quantile(now: Metrics, before: Metrics, name: string, q: number): number | undefined {
  const old = new Map((before.get(`${name}_bucket`) ?? []).map((b) => [b.labels.le, b.value]));
  const buckets = (now.get(`${name}_bucket`) ?? []).map((b) => ({ le: Number(b.labels.le.replace("+Inf", "Infinity")), n: b.value - (old.get(b.labels.le) ?? 0) }));
  const all = buckets.at(-1)?.n ?? 0;
  return all > 0 ? buckets.find((b) => b.n >= q * all)!.le : undefined;
}
