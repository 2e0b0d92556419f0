// The server's clock, which gives records their times; the browser's clock may be minutes off.

let skew = 0;

// @date: the header Date of an answer, in whole seconds.
export function setClock(date: string | null): void {
  const difference = date === null ? 0 : Date.parse(date) - Date.now();
  skew = Math.abs(difference) > 2000 ? difference : 0;
}

export function now(): number {
  return Date.now() + skew;
}
