// The kinds of operation: their letters (those of the terminal, experiments/view/timeline_picture.hpp), their words, and the variables of the style that hold their colours.

interface Kind {
  letter: string;
  words: string;
  colour: string;
}

const kinds: { [op: string]: Kind } = {
  forward: { letter: "F", words: "forward", colour: "--forward" },
  backward: { letter: "B", words: "backward", colour: "--backward" },
  "backward-input": { letter: "I", words: "backward, input gradient", colour: "--backward" },
  "backward-weight": { letter: "W", words: "backward, weight gradient", colour: "--weight" },
  "forward-backward": { letter: "P", words: "forward and backward as a pair", colour: "--both" },
  recompute: { letter: "r", words: "recompute", colour: "--recompute" },
  exchange: { letter: "E", words: "exchange of a group", colour: "--collective" },
  update: { letter: "U", words: "update", colour: "--update" },
  activation: { letter: "A", words: "activation", colour: "--activation" },
  gradient: { letter: "G", words: "gradient", colour: "--gradient" },
  "all-reduce": { letter: "R", words: "all-reduce", colour: "--collective" },
  "reduce-scatter": { letter: "S", words: "reduce-scatter", colour: "--collective" },
  "all-gather": { letter: "T", words: "all-gather", colour: "--collective" },
  "exchange-flow": { letter: "e", words: "flow of an exchange", colour: "--collective" },
  "swap-out": { letter: "O", words: "swap out", colour: "--swap" },
  "swap-in": { letter: "N", words: "swap in", colour: "--swap" },
  migration: { letter: "M", words: "migration", colour: "--migration" },
};

const marks: { [op: string]: string } = {
  delay: "delay",
  "collective-begin": "a collective begins",
  "collective-end": "a collective ends",
  barrier: "the end of an iteration, or of a microbatch",
  setup: "the plan's memory is taken",
  post: "a transfer is posted",
  abandon: "what was in flight is given up",
};

export const kindNames = Object.keys(kinds);
export const letterOf = (op: string): string => kinds[op]?.letter ?? "";
export const wordsOf = (op: string): string => kinds[op]?.words ?? marks[op] ?? op;
export const colourOf = (op: string): string => kinds[op]?.colour ?? "--mark";
