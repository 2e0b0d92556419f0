// A small line over the last minutes.

import { h, type VNode } from "./dom";

const WIDTH = 240;
const HEIGHT = 48;

export function chart(name: string, now: string, values: number[], about = ""): VNode {
  const top = Math.max(1e-9, ...values);
  const x = (i: number): string => ((i / Math.max(1, values.length - 1)) * WIDTH).toFixed(1);
  const y = (v: number): string => (HEIGHT - 2 - (v / top) * (HEIGHT - 6)).toFixed(1);
  const points = values.map((v, i) => `${x(i)},${y(v)}`);
  return h("section", { key: name, class: "tile chart", "aria-label": name },
    h("h2", null, name), h("p", { class: "figure" }, now),
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name} over the last minutes, now ${now}` },
      points.length > 1 && [h("polygon", { points: `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}` }), h("polyline", { points: points.join(" ") })]),
    about !== "" && h("p", { class: "muted" }, about));
}
