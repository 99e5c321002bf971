// The platform as a picture: nodes with their devices, and between them the links that transfers cross, by their use.
import * as format from "../shared/format";
import { svg } from "../shared/dom";
import type { Run, Values } from "./data";
import { useClass } from "./picture";

const width = 960;
const mostNodes = 64;
const mostDevices = 16; // that a node shows
const square = 15;
const box = { height: 64, gap: 26 };

/** The busiest of some links. */
interface Busiest {
  name: string;
  use: number;
}

interface Drawn {
  name: string;
  devices: number[];
  inside: Busiest | null;
}

/** Places that one box stands for: a node, or a device of a platform without nodes. */
const boxOf = (run: Run, place: number): string => {
  const { node, name } = run.places[place];
  return node === null ? name : `node ${node}`;
};

/** The devices that the run uses, box by box. */
function boxesOf(run: Run): Map<string, Drawn> {
  const boxes = new Map<string, Drawn>();
  const used = new Set(run.tracks.map(({ place }) => place));
  run.places.forEach(({ is_device }, place) => {
    if (!is_device || !used.has(place)) return;
    const name = boxOf(run, place);
    if (!boxes.has(name)) boxes.set(name, { name, devices: [], inside: null });
    boxes.get(name)?.devices.push(place);
  });
  return boxes;
}

/** For each pair of boxes between which something is sent the busiest link on the way; notes those inside a box. */
function waysBetween(run: Run, boxes: Map<string, Drawn>): Map<string, Busiest & { from: string; to: string }> {
  const uses = new Map((run.report.links as Values[]).map((link) => [link.name as string, link.utilisation as number]));
  const ways = new Map<string, Busiest & { from: string; to: string }>();
  for (const { from, to, links } of run.classes) {
    if (from === null || to === null || links.length === 0) continue;
    const [source, target] = [boxOf(run, from), boxOf(run, to)];
    for (const link of links) {
      const { name } = run.links[link];
      const use = uses.get(name) ?? 0;
      const inside = boxes.get(source);
      if (source === target) {
        if (inside && use > (inside.inside?.use ?? -1)) inside.inside = { name, use };
      } else if (boxes.has(source) && boxes.has(target)) {
        const key = [source, target].sort().join("\n");
        if (use > (ways.get(key)?.use ?? -1)) ways.set(key, { from: source, to: target, name, use });
      }
    }
  }
  return ways;
}

/** Null for a platform with more boxes than can be shown. */
export function platformPicture(run: Run): SVGElement | null {
  const boxes = boxesOf(run);
  const ways = waysBetween(run, boxes);
  if (boxes.size === 0 || boxes.size > mostNodes) return null;
  const columns = Math.min(boxes.size, 8);
  const each = width / columns;
  const places = new Map([...boxes.keys()].map((name, i) => [
    name,
    { x: (i % columns) * each + box.gap / 2, y: Math.floor(i / columns) * (box.height + box.gap) + 4 },
  ]));
  const stageOf = new Map(run.stages.flatMap(({ devices }, i) => devices.map((place) => [place, i] as const)));
  const rows = Math.ceil(boxes.size / columns);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${rows * (box.height + box.gap) + 24}`,
    role: "img",
    "aria-label": `the platform: ${format.counted(boxes.size, "place")} and the links between them`,
  });
  const size = each - box.gap;
  for (const way of [...ways.values()].sort((a, b) => a.use - b.use)) {
    const [from, to] = [places.get(way.from), places.get(way.to)];
    if (!from || !to) continue;
    const [x1, x2] = [from.x + size / 2, to.x + size / 2];
    const [y1, y2] = [from.y + box.height, to.y + box.height];
    const low = Math.max(y1, y2) + Math.min(20, 6 + Math.abs(x2 - x1) / 40);
    picture.append(
      svg("g", {},
        svg("title", {}, `${way.from} and ${way.to}: ${way.name}, ${format.percent(way.use)} of its bandwidth`),
        svg("path", { d: `M${x1} ${y1} C${x1} ${low} ${x2} ${low} ${x2} ${y2}`, class: `arrow ${useClass(way.use)}` })),
    );
  }
  for (const { name, devices, inside } of boxes.values()) {
    const { x, y } = places.get(name) ?? { x: 0, y: 0 };
    const shown = devices.slice(0, mostDevices);
    picture.append(
      svg("rect", { x, y, width: size, height: box.height, rx: 4, class: "stage" }),
      svg("text", { x: x + 6, y: y + 14, class: "small" }, name),
      ...shown.map((place, i) => {
        const stage = stageOf.get(place);
        const left = x + 6 + (i % 8) * Math.min(square, (size - 12) / Math.min(shown.length, 8));
        return svg("g", {},
          svg("title", {}, `${run.places[place].name}${stage === undefined ? "" : `, stage ${stage}`}`),
          svg("rect", { x: left, y: y + 20 + Math.floor(i / 8) * square, width: square - 3, height: square - 3,
            class: stage === undefined ? "bar" : `part${stage % 2}` }),
          svg("text", { x: left + 6, y: y + 26 + Math.floor(i / 8) * square, class: "small middle" }, stage === undefined ? "" : `${stage}`));
      }),
    );
    if (!inside) continue;
    picture.append(
      svg("g", {},
        svg("title", {}, `inside ${name}: ${inside.name}, ${format.percent(inside.use)} of its bandwidth`),
        svg("rect", { x: x + 6, y: y + box.height - 9, width: size - 12, height: 4, class: "bar" }),
        svg("rect", { x: x + 6, y: y + box.height - 9, width: (size - 12) * Math.min(inside.use, 1), height: 4, class: useClass(inside.use) })),
    );
  }
  return picture;
}
