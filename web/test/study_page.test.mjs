// The page of a study in a browser.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { file, study } from "./runs.mjs";
import { load } from "./source.mjs";

const { readStudy } = await load("study/data.ts");
const { filtered, paretoFront } = await load("study/scatter.ts");

const browser = await launch();
after(() => browser.close());

const quick = study(file("study.yaml", `schema: stagecraft/study/1
study: '</script><img src=x>'
matrix:
  model: [vgg16-blocks, bert-large]
  platform: [pipedream-cluster-a, dgx-1-v100]
  planner: [data-parallel, uniform, spp, pipedream]
base: {microbatches: 16}
baseline: {planner: data-parallel}
`), "--timelines", "0,2");

async function opened(options, use) {
  const { page, faults } = await open(browser, quick.page, options);
  try {
    await use(page);
    assert.deepEqual(faults, []);
  } finally {
    await page.close();
  }
}

const rows = (page) =>
  page.evaluate(() => [...document.querySelectorAll(".tall tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)));

const headings = (page) => page.evaluate(() => [...document.querySelectorAll(".tall thead th")].map((each) => each.textContent));

test("the data are those of report --json", () => {
  assert.deepEqual(readStudy(quick.data).report, quick.told);
});

test("the page asks for nothing and has no error, light and dark, narrow and wide", async () => {
  for (const width of [360, 1280]) {
    for (const dark of [false, true]) {
      await opened({ width, dark }, async (page) => {
        const needed = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(needed <= width, `${needed} pixels wide in a window of ${width}`);
        const boxes = await page.evaluate(() => [...document.querySelectorAll(".tall, .rows")].map((each) => each.offsetHeight / innerHeight));
        assert.equal(boxes.length, 3);
        assert.ok(boxes.every((height) => height < 0.75));
        assert.equal(await page.evaluate(() => document.querySelectorAll("img").length), 0);
        assert.ok((await page.title()).includes("</script><img src=x>"));
      });
    }
  }
});

test("every line is in the table; a heading sorts, and the filter leaves lines out", async () => {
  await opened({}, async (page) => {
    const names = await headings(page);
    const lines = quick.told.groups.flatMap(({ lines }) => lines);
    assert.equal((await rows(page)).length, lines.length);
    const rate = names.indexOf("samples/s");
    const sort = (column) => page.evaluate((i) => document.querySelectorAll(".tall thead button")[i].click(), column);
    const values = async () => (await rows(page)).map((row) => row[rate]).filter((text) => text !== "-").map(Number);
    await sort(rate);
    const falling = await values();
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    await sort(rate);
    assert.deepEqual(await values(), [...falling].reverse());
    await page.type("input[type=search]", "SPP vgg16");
    const left = await rows(page);
    assert.equal(left.length, lines.filter(({ name }) => name === "spp").length / 2);
    assert.ok(left.every((row) => row.includes("spp") && row.includes("vgg16-blocks")));
  });
});

test("bars show the speed-ups of all groups, or of one", async () => {
  await opened({}, async (page) => {
    const bars = () => page.evaluate(() => [...document.querySelectorAll(".picture title")].map((each) => each.textContent));
    const expected = (lines) => lines.filter((line) => line.speed_up !== null).map((line) => `${line.name}: ${line.speed_up.toFixed(3)}`);
    const all = quick.told.overall.filter((line) => line.speed_up !== null);
    const means = all.map((line) => `${line.name}: ${line.speed_up.toFixed(3)} (${line.groups_compared} of ${line.groups})`);
    assert.deepEqual(await bars(), means);
    await page.select(".chooser select", "1");
    assert.deepEqual(await bars(), expected(quick.told.groups[1].lines));
  });
});

test("dots show the speed-ups of every group at a glance, below the bars of all", async () => {
  for (const width of [360, 1280]) {
    await opened({ width }, async (page) => {
      const rows = () =>
        page.evaluate(() =>
          [...document.querySelectorAll(".rows svg > g")].map((row) => [
            row.querySelector("text title").textContent,
            ...[...row.querySelectorAll(":scope > g title")].map((each) => each.textContent),
          ]),
        );
      const expected = quick.told.groups.map(({ keys, lines }) => [
        Object.entries(keys).map(([key, value]) => `${key} ${value}`).join(", "),
        ...lines.filter((line) => line.speed_up !== null).map((line) => `${line.name}: ${line.speed_up.toFixed(3)}`),
      ]);
      assert.deepEqual(await rows(), expected);
      const beyond = await page.evaluate(() => {
        const left = document.querySelector(".rows svg").getBoundingClientRect().left;
        return [...document.querySelectorAll(".rows text")].filter((each) => each.getBoundingClientRect().left < left).length;
      });
      assert.equal(beyond, 0);
      await page.select(".chooser select", "1");
      assert.deepEqual(await rows(), []);
    });
  }
});

test("two cells share one time axis: what moves the one moves the other", async () => {
  await opened({}, async (page) => {
    const cells = await page.evaluate(() => window.stagecraft.timelines.map(({ run }) => ({ cell: run.cell, until: run.until })));
    assert.deepEqual(cells.map(({ cell }) => cell), [0, 2]);
    const shown = () => page.evaluate(() => window.stagecraft.timelines.map(({ scale }) => [scale.from, scale.perSecond]));
    const [first, second] = await shown();
    assert.deepEqual(first, second);
    await page.focus("canvas[role=application]");
    await page.keyboard.press("+");
    const [closer, other] = await shown();
    assert.deepEqual(closer, other);
    assert.ok(closer[1] > first[1]);
    const times = quick.told.groups[0].lines.map((line) => line.iteration_time_s);
    assert.ok(Math.abs(cells[0].until - times[0]) < 1e-9 && Math.abs(cells[1].until - times[2]) < 1e-9);
  });
});

test("the chart over keys shows the groups with the chosen values of the other keys", async () => {
  assert.deepEqual(filtered(readStudy(quick.data).entries, new Map()).length, 16);
  const left = filtered(readStudy(quick.data).entries, new Map([["model", "bert-large"], ["platform", "dgx-1-v100"]]));
  assert.deepEqual(left.map(({ planner }) => planner), ["data-parallel", "uniform", "spp", "pipedream"]);
  assert.ok(left.every(({ keys }) => keys.model === "bert-large" && keys.platform === "dgx-1-v100"));
  await opened({}, async (page) => {
    const texts = () => page.evaluate(() => [...document.querySelectorAll(".filters label")].map((each) => [each.innerText.split(" ")[0], each.hidden]));
    assert.deepEqual(await texts(), [["model", true], ["platform", false]]);
    const values = () => page.evaluate(() => [...document.querySelectorAll(".filters select")].map((each) => [...each.options].map(({ text }) => text)));
    assert.deepEqual((await values())[1], ["all", "pipedream-cluster-a", "dgx-1-v100"]);
    const drawn = () => page.evaluate(() => document.querySelector(".filters ~ .chart canvas").toDataURL());
    const all = await drawn();
    await page.select(".filters label:nth-child(2) select", "2");
    assert.notEqual(await drawn(), all);
  });
});

test("the Pareto front has what no other beats", () => {
  const points = [];
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  for (let i = 0; i < 200; ++i) points.push({ x: Math.floor(random() * 20), y: Math.floor(random() * 20), planner: 0 });
  const beats = (a, b) => a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y);
  const key = ({ x, y }) => `${x} ${y}`;
  const expected = new Set(points.filter((point) => !points.some((other) => beats(other, point))).map(key));
  assert.deepEqual(new Set(paretoFront(points).map(key)), expected);
});
