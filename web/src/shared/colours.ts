// Colours that differ between light and dark.

/** The value of a variable of the style, which differs between light and dark. */
export const valueOf = (variable: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(variable).trim();

/** Calls back when the setting changes. */
export const onRecolour = (listener: () => void): void =>
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
