// The plan as a picture: the model cut into stages, what each stage's devices do, and the links between them.
import type { Run, Values } from "./data";
import { svg } from "../shared/dom";
import * as format from "../shared/format";
import { busyShare } from "./time";

const width = 960;
const modelHeight = 26;
const boxTop = 64;
const boxHeight = 92;
const mostBoxes = 16;
const gapShare = 0.34; // of what a stage has, for the arrow to the next one

interface StageUse {
  busy: number; // the largest share of time in which one of its devices is busy
  fullness: number; // the largest share of a device's memory
}

/** From green over yellow to red in three steps of lightness, so that it reads without colours too. */
export const useClass = (share: number): string => (share >= 0.9 ? "use-high" : share >= 0.6 ? "use-middle" : "use-low");

function usesOf(run: Run): StageUse[] {
  const byName = new Map((run.report.devices as Values[]).map((device) => [device.name as string, device]));
  return run.stages.map(({ devices }) => {
    const use = { busy: 0, fullness: 0 };
    for (const place of devices) {
      const device = byName.get(run.places[place].name);
      if (!device) continue;
      use.busy = Math.max(use.busy, busyShare(device.time as Values));
      use.fullness = Math.max(use.fullness, (device.peak_memory_bytes as number) / Math.max(device.memory_bytes as number, 1));
    }
    return use;
  });
}

/** The busiest of the links that activations cross from one stage to another, with its use. */
function busiestBetween(run: Run, from: number, to: number): { name: string; use: number } | null {
  const uses = new Map((run.report.links as Values[]).map((link) => [link.name as string, link.utilisation as number]));
  const [sources, targets] = [new Set(run.stages[from].devices), new Set(run.stages[to].devices)];
  let busiest: { name: string; use: number } | null = null;
  for (const each of run.classes) {
    if (each.op !== "activation" || !sources.has(each.from ?? -1) || !targets.has(each.to ?? -1)) continue;
    for (const link of each.links) {
      const { name } = run.links[link];
      const use = uses.get(name) ?? 0;
      if (!busiest || use > busiest.use) busiest = { name, use };
    }
  }
  return busiest;
}

/** Neighbouring layers of one stage, with the work of all layers before them and up to them. */
function runsOfLayers(run: Run): { stage: number; from: number; to: number; first: number; last: number }[] {
  const stageOf = new Map(run.stages.flatMap((stage, i) => stage.layers.map((layer) => [layer, i] as const)));
  const runs: { stage: number; from: number; to: number; first: number; last: number }[] = [];
  let work = 0;
  run.layers.forEach((layer, i) => {
    const stage = stageOf.get(i) ?? -1;
    if (runs[runs.length - 1]?.stage !== stage) runs.push({ stage, from: work, to: work, first: i, last: i });
    work += layer.forward_s + layer.backward_s;
    Object.assign(runs[runs.length - 1], { to: work, last: i });
  });
  return runs.map((each) => ({ ...each, from: each.from / (work || 1), to: each.to / (work || 1) }));
}

/** The stages that are shown: all, or the busiest ones. */
function shownStages(run: Run, uses: StageUse[]): number[] {
  const stages = run.stages.map((_, i) => i);
  if (stages.length <= mostBoxes) return stages;
  return stages
    .sort((a, b) => uses[b].busy - uses[a].busy)
    .slice(0, mostBoxes)
    .sort((a, b) => a - b);
}

function bar(x: number, y: number, length: number, share: number, label: string): SVGElement[] {
  return [
    svg("text", { x, y: y - 3, class: "small" }, label),
    svg("rect", { x, y, width: length, height: 6, class: "bar" }),
    svg("rect", { x, y, width: length * Math.min(share, 1), height: 6, class: useClass(share) }),
  ];
}

export function planPicture(run: Run): { picture: SVGElement; note: string } {
  const uses = usesOf(run);
  const shown = shownStages(run, uses);
  const each = width / shown.length;
  const box = each * (1 - gapShare);
  const barLabel = (what: string, share: number) =>
    each > 130 ? `${what} ${format.percent(share)}` : each > 64 ? format.percent(share) : "";
  const left = (i: number) => i * each + (each - box) / 2;
  const busiest = uses.reduce((best, use, i) => (use.busy > uses[best].busy ? i : best), 0);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${boxTop + boxHeight + 8}`,
    role: "img",
    "aria-label": `the model in ${format.counted(run.stages.length, "stage")}`,
  });
  for (const part of runsOfLayers(run)) {
    const [x, w] = [part.from * width, (part.to - part.from) * width];
    const at = shown.indexOf(part.stage);
    const names = [run.layers[part.first].name, run.layers[part.last].name].join(" to ");
    picture.append(
      svg("rect", { x, y: 0, width: Math.max(w - 1, 0.5), height: modelHeight, class: `part${part.stage % 2}` },
        svg("title", {}, `stage ${part.stage}: ${names}, ${format.percent(part.to - part.from)} of the work`)),
    );
    if (w > 18) picture.append(svg("text", { x: x + w / 2, y: modelHeight / 2, class: "middle" }, String(part.stage)));
    if (at >= 0) {
      const end = left(at) + box / 2;
      picture.append(svg("path", { d: `M${x + w / 2} ${modelHeight} L${end} ${boxTop}`, class: "thread" }));
    }
  }
  shown.forEach((stage, i) => {
    const { layers, devices } = run.stages[stage];
    const names = devices.map((place) => run.places[place].name);
    const x = left(i);
    const on = names.length === 1 ? names[0] : `${names.length} devices`;
    const isBusiest = stage === busiest && run.stages.length > 1;
    picture.append(
      svg("g", {},
        svg("title", {}, `stage ${stage}: ${format.counted(layers.length, "layer")} on ${names.join(", ")}`),
        svg("rect", { x, y: boxTop, width: box, height: boxHeight, rx: 4, class: isBusiest ? "stage busiest" : "stage" }),
        svg("text", { x: x + 6, y: boxTop + 14 }, each > 90 ? `stage ${stage}` : `${stage}`),
        svg("text", { x: x + 6, y: boxTop + 29, class: "small" }, each > 90 ? on : `${names.length}`),
        ...bar(x + 6, boxTop + 50, box - 12, uses[stage].busy, barLabel("busy", uses[stage].busy)),
        ...bar(x + 6, boxTop + 78, box - 12, uses[stage].fullness, barLabel("memory", uses[stage].fullness))),
    );
    const link = shown[i + 1] === stage + 1 ? busiestBetween(run, stage, stage + 1) : null;
    if (!link) return;
    const [from, to, y] = [x + box, left(i + 1), boxTop + boxHeight / 2];
    picture.append(
      svg("g", {},
        svg("title", {}, `${link.name}: ${format.percent(link.use)} of its bandwidth`),
        svg("path", { d: `M${from} ${y} L${to - 1} ${y} m-5 -4 l5 4 l-5 4`, class: `arrow ${useClass(link.use)}` }),
        ...(each > 90 ? [svg("text", { x: (from + to) / 2, y: y - 8, class: "small middle" }, format.percent(link.use))] : [])),
    );
  });
  const some = shown.length < run.stages.length ? `The ${shown.length} busiest of ${run.stages.length} stages. ` : "";
  const note = `${some}Upper bars: how long the stage's busiest device computes. Lower bars: how full its fullest device is.`;
  return { picture, note };
}
