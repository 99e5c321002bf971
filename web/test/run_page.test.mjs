// The page of a run in a browser.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { file, groupsRun, largeRun, run, simulate } from "./runs.mjs";

const browser = await launch();
after(() => browser.close());

const replicas = run("bert-large", "dgx-1-v100", ["--planner", "uniform", "--set", "stages=4", "--microbatches", "8"]);

async function opened(path, options, use) {
  const { page, faults } = await open(browser, path, options);
  try {
    await use(page);
    assert.deepEqual(faults, []);
  } finally {
    await page.close();
  }
}

/** Where an operation is on the screen. */
const placeOf = (page, op) =>
  page.evaluate((op) => {
    const { run, timeline } = window.stagecraft;
    const { x, y, width } = timeline.canvas.getBoundingClientRect();
    const { from, perSecond, left } = timeline.scale;
    const at = left + ((run.start[op] + run.end[op]) / 2 - from) * perSecond;
    for (let height = 0; height < timeline.canvas.clientHeight; ++height) {
      if (timeline.hit(at, height)?.op === op) return { x: x + at, y: y + height + 2, width };
    }
    return null;
  }, op);

const selected = (page) => page.evaluate(() => window.stagecraft.timeline.selected);
const shown = (page) => page.evaluate(() => [window.stagecraft.timeline.window.from, window.stagecraft.timeline.window.to]);

test("the page asks for nothing and has no error, light and dark, narrow and wide", async () => {
  for (const width of [360, 1280, 2400]) {
    for (const dark of [false, true]) {
      await opened(replicas.page, { width, dark }, async (page) => {
        const [needed, back] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          getComputedStyle(document.body).backgroundColor,
        ]);
        assert.ok(needed <= width, `${needed} pixels wide in a window of ${width}`);
        assert.equal(back === "rgb(255, 255, 255)", !dark);
      });
    }
  }
});

test("the figures are those of the report", async () => {
  await opened(replicas.page, {}, async (page) => {
    const text = await page.evaluate(() => document.body.innerText);
    for (const device of replicas.told.devices) assert.ok(text.includes(device.name));
    assert.ok(text.includes(`${(100 * replicas.told.bubble_ratio).toFixed(1)} %`));
    assert.ok(text.includes(`MFU\n${(100 * replicas.told.mfu).toFixed(1)} %`));
    assert.ok(text.includes(`${Number((1e3 * replicas.told.iteration_time_s).toPrecision(3))} ms`));
  });
});

test("the heading names groups and what replicas divide, as the terminal does", async () => {
  await opened(groupsRun().page, {}, async (page) => {
    const heading = await page.evaluate(() => document.querySelector("h1 + p").innerText);
    const work = "32 microbatches of 1 sample on tensor groups of 4, zero 1";
    assert.equal(heading, `Plan of uniform, schedule 1f1b, ${work}, replayed.`);
    assert.ok(await page.evaluate((words) => window.stagecraft.run.text.startsWith(`1f1b, ${words}: iteration time `), work));
  });
});

test("marks: an event and the end of an iteration are named above the rows, and under the pointer", async () => {
  const events = file(
    "events.yaml",
    "schema: stagecraft/events/1\nevents:\n  - {at: 10 ms, device: gpu1, slowdown: 2}\n  - {at: 20 ms, device: gpu1, slowdown: 1}\n",
  );
  const slowed = run("bert-large", "dgx-1-v100", ["--planner", "uniform", "--set", "stages=4", "--microbatches", "8"], "--events", events);
  await opened(slowed.page, {}, async (page) => {
    const marks = await page.evaluate(() => window.stagecraft.run.marks);
    assert.deepEqual(
      marks.map(({ name }) => name),
      ["gpu1 takes 2 times the time", "gpu1 takes 1 times the time", "end of iteration 0"],
    );
    const place = await page.evaluate((date) => {
      const { timeline } = window.stagecraft;
      const { x, y } = timeline.canvas.getBoundingClientRect();
      const { from, perSecond, left } = timeline.scale;
      return { x: x + left + (date - from) * perSecond, y: y + 30 };
    }, marks[0].at_s);
    await page.mouse.move(place.x, place.y);
    const tooltip = await page.evaluate(() => document.querySelector(".tooltip").innerText);
    assert.match(tooltip, /10 ms\s+gpu1 takes 2 times the time/);
  });
});

test("a run that is out of memory: the page says what would make the plan fit", async () => {
  const planning = ["--planner", "gpipe", "--microbatches", "64", "--memory", "keep", "--despite-memory"];
  const lacking = run("bert-48", "rtx2080ti-4x4", planning);
  const { memory_bytes: needed } = lacking.told.would_fit;
  await opened(lacking.page, {}, async (page) => {
    const items = await page.evaluate(() => [...document.querySelectorAll("#page > ol li")].map((item) => item.innerText));
    assert.equal(items.length, lacking.told.would_fit.fastest_first.length);
    assert.ok(items.some((text) => text.startsWith(`at least ${(needed / 2 ** 30).toFixed(1)} GiB`)));
  });
});

test("the pointer: an operation tells about itself, a gap what it waits for, and a click chooses", async () => {
  await opened(replicas.page, {}, async (page) => {
    const tooltip = () => page.evaluate(() => document.querySelector(".tooltip").innerText);
    const op = await page.evaluate(() => {
      const { run, timeline } = window.stagecraft;
      return run.start.findIndex((_, i) => run.classes[run.classOf[i]].op === "backward" && run.microbatch[i] === 3);
    });
    const place = await placeOf(page, op);
    await page.mouse.move(place.x, place.y);
    assert.match(await tooltip(), /backward 3, stage \d, gpu\d[^]*takes/);
    await page.mouse.click(place.x, place.y);
    assert.equal(await selected(page), op);
    const listed = await page.evaluate(() => document.querySelectorAll(".selected .link").length);
    const waits = await page.evaluate((op) => {
      const { waitsFor, waitedForBy } = window.stagecraft.run;
      return [waitsFor, waitedForBy].reduce((sum, rows) => sum + rows.begin[op + 1] - rows.begin[op], 0);
    }, op);
    assert.equal(listed, waits);
    const gap = await page.evaluate(() => {
      const { run, timeline } = window.stagecraft;
      const box = timeline.canvas.getBoundingClientRect();
      const row = [...Array(timeline.canvas.clientHeight).keys()].find((y) => timeline.hit(timeline.scale.left + 1, y)?.op === null);
      return { x: box.x + timeline.scale.left + 1, y: box.y + row + 2 };
    });
    await page.mouse.move(gap.x, gap.y);
    assert.match(await tooltip(), /idle[^]*until[^]*next[^]*|nothing/);
  });
});

test("the keys: choose, go along the waits, zoom, move, and come back", async () => {
  await opened(replicas.page, {}, async (page) => {
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await page.focus("canvas[role=application]");
    const whole = await shown(page);
    await press("+", "+");
    const closer = await shown(page);
    assert.ok(closer[1] - closer[0] < 0.6 * (whole[1] - whole[0]));
    await press("ArrowRight");
    assert.ok((await shown(page))[0] > closer[0]);
    await press("0");
    assert.deepEqual(await shown(page), whole);
    await press("Enter");
    const first = await selected(page);
    assert.equal(typeof first, "number");
    await press("]");
    const next = await selected(page);
    const waits = await page.evaluate((op) => {
      const { waitsFor } = window.stagecraft.run;
      return [...waitsFor.all.slice(waitsFor.begin[op], waitsFor.begin[op + 1])];
    }, next);
    assert.ok(waits.includes(first));
    await press("[", "ArrowDown", "ArrowRight", "Escape");
    assert.equal(await selected(page), null);
    await press("c", "t");
    const pressed = await page.evaluate(() => [...document.querySelectorAll("[aria-pressed]")].map((each) => each.ariaPressed));
    assert.deepEqual(pressed, ["true", "false"]);
  });
});

test("dragging moves, and Ctrl with the wheel zooms at the pointer", async () => {
  await opened(replicas.page, {}, async (page) => {
    const place = await placeOf(page, await page.evaluate(() => window.stagecraft.timeline.first()));
    const at = { x: place.x + 300, y: place.y };
    await page.mouse.move(at.x, at.y);
    await page.keyboard.down("Control");
    await page.mouse.wheel({ deltaY: -100 });
    await page.keyboard.up("Control");
    const [from, to] = await shown(page);
    assert.ok(from > 0);
    await page.mouse.down();
    await page.mouse.move(at.x + 80, at.y);
    await page.mouse.up();
    const moved = await shown(page);
    assert.ok(moved[0] < from && Math.abs(moved[1] - moved[0] - (to - from)) < 1e-9);
    assert.equal(await selected(page), null);
  });
});

test("the pictures of plan and platform: every stage and device in use, links with their use", async () => {
  const { page: path, told } = run("bert-large", "pipedream-cluster-a", ["--planner", "spp", "--microbatches", "16"]);
  await opened(path, {}, async (page) => {
    const [plan, platform] = await page.evaluate(() =>
      [...document.querySelectorAll(".picture svg")].map((each) => [...each.querySelectorAll("title")].map((title) => title.textContent)),
    );
    const stages = new Set(told.devices.flatMap((device) => device.stages));
    assert.equal(new Set(plan.map((title) => title.match(/^stage (\d+): .* layers? on /)?.[1]).filter(Boolean)).size, stages.size);
    for (const device of told.devices) {
      assert.ok(platform.includes(`${device.name}, stage ${device.stages[0]}`));
    }
    const uses = new Map(told.links.map(({ name, utilisation }) => [name, `${(100 * utilisation).toFixed(1)} %`]));
    const links = [...plan, ...platform].flatMap((title) => title.match(/([^\s:]+)[:,] ([0-9.]+ %) of its bandwidth$/)?.slice(1, 3) ?? []);
    assert.ok(links.length >= 2 * (stages.size - 1));
    for (let i = 0; i < links.length; i += 2) assert.equal(links[i + 1], uses.get(links[i]));
  });
});

test("names with markup are texts", async () => {
  const name = "</script><img src=x onerror=alert(1)><!--";
  const model = file("model.yaml", [
    "schema: stagecraft/model/1", `model: '${name}'`, "device: A", "microbatch_size: 4", "layers:",
    ...[name, "second"].map((layer) => `  - {name: '${layer}', forward: 2 ms, backward: 4 ms, parameters: 1 MB, output: 1 MB}`),
    "",
  ].join("\n"));
  const platform = file("platform.yaml", [
    "schema: stagecraft/platform/1", `platform: '${name}'`, "device_kinds: {A: {memory: 1 GB, speed: 1}}",
    `devices: [{name: '${name}', kind: A}]`, "links: []", "",
  ].join("\n"));
  const plan = file("plan.yaml", [
    "schema: stagecraft/plan/1", "microbatch_size: 4", "microbatches: 2", "schedule: {name: gpipe}",
    `stages: [{layers: ['${name}', second], devices: ['${name}']}]`, "",
  ].join("\n"));
  const odd = simulate(plan, model, platform);
  await opened(odd.page, {}, async (page) => {
    assert.equal(await page.evaluate(() => document.querySelectorAll("img").length), 0);
    assert.ok((await page.title()).includes(name));
    assert.ok((await page.evaluate(() => document.querySelector("h1").innerText)).includes(name));
  });
});

test("a run with more operations than pixels is drawn", async () => {
  const many = run("bert-large", "dgx-1-v100", ["--planner", "uniform", "--set", "stages=8", "--microbatches", "2000"]);
  await opened(many.page, {}, async (page) => {
    assert.equal(await page.evaluate(() => window.stagecraft.run.start.length), many.told.timeline.length);
    const inked = await page.evaluate(() => {
      const { canvas, scale } = window.stagecraft.timeline;
      const pixels = canvas.getContext("2d").getImageData(scale.left * devicePixelRatio, 30, 200, 12).data;
      const colours = new Set();
      for (let i = 0; i < pixels.length; i += 4) colours.add(pixels.slice(i, i + 3).join());
      return colours.size;
    });
    assert.ok(inked > 1);
  });
});

test("of many devices that compute alike the first one stands for all, until one asks for more", async () => {
  await opened(replicas.page, {}, async (page) => {
    assert.ok(await page.evaluate(() => [...document.querySelectorAll(".toolbar button")].every((each) => each.textContent !== "Alike")));
  });
  await opened(largeRun().page, {}, async (page) => {
    const pressed = () =>
      page.evaluate(() => [...document.querySelectorAll(".toolbar button")].find((each) => each.textContent === "Alike").ariaPressed);
    const height = () => page.evaluate(() => document.querySelector(".timeline").scrollHeight);
    const select = (kind) =>
      page.evaluate((kind) => {
        const { run, timeline } = window.stagecraft;
        const op = run.start.findIndex((_, i) => {
          const { op, from } = run.classes[run.classOf[i]];
          return op === kind && run.places[from].name === "gpu3";
        });
        timeline.select(op);
        return document.querySelector(".selected h3").textContent;
      }, kind);
    const folded = await height();
    assert.ok(folded < 560);
    assert.equal(await pressed(), "true");
    assert.match(await select("forward"), /gpu3$/);
    assert.equal(await pressed(), "true");
    assert.equal(await height(), folded);
    await page.keyboard.press("a");
    assert.equal(await pressed(), "false");
    assert.ok((await height()) > 10 * folded);
    await page.keyboard.press("a");
    assert.equal(await height(), folded);
    assert.match(await select("forward"), /gpu3$/);
    await page.keyboard.press("]"); // to a transfer
    assert.match(await page.evaluate(() => document.querySelector(".selected h3").textContent), /gpu3 → /);
    assert.equal(await pressed(), "false");
    assert.ok((await height()) > 10 * folded);
  });
});
