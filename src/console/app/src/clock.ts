// The server's clock, by which records are stamped; a browser's may be minutes off.

let skew = 0;

// @date: of an answer's head, in whole seconds.
export function setClock(date: string | null): void {
  const difference = date === null ? 0 : Date.parse(date) - Date.now();
  skew = Math.abs(difference) > 2000 ? difference : 0;
}

export function now(): number {
  return Date.now() + skew;
}
