// Runs of the program, with their pages and their JSON.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const program = process.env.STAGECRAFT ?? join(root, "build/release/stagecraft");
const folder = mkdtempSync(join(tmpdir(), "stagecraft-pages-"));
let count = 0;

const outOfMemory = 3; // how the program ends after a run that is

const stagecraft = (...parameters) => {
  const ended = spawnSync(program, parameters, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 });
  if (ended.status !== 0 && ended.status !== outOfMemory) throw new Error(`${parameters.join(" ")}: ${ended.stderr}`);
  return ended.stdout;
};

/** A file of the tests' own. */
export function file(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Simulates a plan: the path of its page, the data in it, and what the program says of the same run. */
export function simulate(plan, model, platform, ...choices) {
  const page = join(folder, `run${++count}.html`);
  const inputs = ["simulate", plan, "--model", model, "--platform", platform, "--no-timings", ...choices];
  const told = JSON.parse(stagecraft(...inputs, "--json", "--timeline", "--report", page));
  return { page, data: dataOf(page), told };
}

/** The data in a page. */
const dataOf = (page) =>
  readFileSync(page, "utf8").match(/<script type="application\/json" id="data">(.*?)<\/script>/s)[1];

/** Runs a study: the path of its page, the data in it, and what the program says of the same results. */
export function study(path, ...choices) {
  const results = join(folder, `results${++count}`);
  stagecraft("run", path, "--out", results);
  const page = join(folder, `study${count}.html`);
  const told = JSON.parse(stagecraft("report", results, "--json", "--no-timings", "-o", page, ...choices));
  return { page, data: dataOf(page), told };
}

/** Plans and simulates. */
export function run(model, platform, planning, ...choices) {
  const plan = join(folder, `plan${++count}.yaml`);
  stagecraft("plan", "--model", model, "--platform", platform, ...planning, "-o", plan);
  return simulate(plan, model, platform, ...choices);
}

/** A run on 256 devices: of the 64 replicas of each of its 4 stages 52 take 8 microbatches and the others 7. */
export const largeRun = () =>
  run("bert-large", "torus-v100-64", ["--planner", "uniform", "--set", "stages=4,replicas=64", "--microbatches", "500"]);

/** A run on tensor groups of four, with two replicas of each of two stages. */
export const groupsRun = () =>
  run("llama3-8b", "superpod-h100-64", [
    "--planner", "uniform", "--set", "stages=2,replicas=2", "--tensor", "4", "--zero", "1", "--microbatches", "32",
  ]);

/** Several runs: replicas, groups, shared links, swaps, an asynchronous schedule, both engines. */
export const severalRuns = () => ({
  replicas: run("bert-large", "dgx-1-v100", ["--planner", "uniform", "--set", "stages=4", "--microbatches", "8"]),
  groups: groupsRun(),
  "shared links": run("vgg16-blocks", "p3.8xlarge-x4", ["--planner", "spp", "--microbatches", "8"]),
  swaps: run("bert-48", "rtx2080ti-4x4", ["--planner", "vpipe", "--microbatches", "32", "--memory", "swap"]),
  asynchronous: run("vgg16-blocks", "p3.8xlarge-x4", ["--planner", "pipedream"]),
  evaluated: run("bert-large", "dgx-1-v100", ["--planner", "uniform", "--microbatches", "8"], "--engine", "evaluate"),
});
