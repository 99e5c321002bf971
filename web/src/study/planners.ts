// The colours of the planners: each differs from the others in hue and lightness, and has a dash of its own.
const palette = ["#4c9be8", "#f0a73a", "#3fb79b", "#d0567a", "#8b94dc", "#c9782b", "#9b9b9b", "#b8a200", "#6b4c9a", "#2f6f4f"];
const dashes = [[], [8, 4], [2, 3], [12, 4, 2, 4]];

export const colourOfPlanner = (planner: number): string => palette[planner % palette.length];
export const dashOfPlanner = (planner: number): number[] => dashes[Math.floor(planner / palette.length) % dashes.length];
