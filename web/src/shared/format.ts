// Numbers as people read them.

const digits = (value: number) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());

/** `1.25 s`, `350 ms`, `12.5 us`. */
export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 1) return `${digits(value)} s`;
  if (size >= 1e-3) return `${digits(value * 1e3)} ms`;
  if (size >= 1e-6) return `${digits(value * 1e6)} us`;
  return `${digits(value * 1e9)} ns`;
}

/** A date on an axis whose marks are `step` apart. */
export function date(value: number, step: number): string {
  const coarse = 10 * step * (1 + 1e-9);
  const [unit, name] = coarse >= 1 ? [1, "s"] : coarse >= 1e-3 ? [1e-3, "ms"] : coarse >= 1e-6 ? [1e-6, "us"] : [1e-9, "ns"];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return `${(value / unit).toFixed(decimals)} ${name}`;
}

/** `11.2 GiB`. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1000 && unit + 1 < units.length) {
    size /= 1024;
    ++unit;
  }
  return `${digits(size)} ${units[unit]}`;
}

export const percent = (value: number): string => `${(100 * value).toFixed(1).replace(/^-0\.0$/, "0.0")} %`;

/** With its sign, unless it is none. */
export function signed(value: number): string {
  const text = percent(value);
  return value > 0 && text !== "0.0 %" ? `+${text}` : text;
}

export const number = (value: number): string => (Math.abs(value) >= 1000 ? Math.round(value).toString() : digits(value));

/** `1 stage`, `8 microbatches`. */
export const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
