// What the page of a run knows is what the program says of the run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groupsRun, largeRun, severalRuns } from "./runs.mjs";
import { load } from "./source.mjs";

const { readOperations, readRun, rowOf } = await load("run/data.ts");
const { heldMost } = await load("run/memory.ts");
const { loadOf, meanShares } = await load("run/load.ts");
const { partsOfPath } = await load("run/path.ts");
const { standInsOf } = await load("run/alike.ts");
const { rowsOf } = await load("run/rows.ts");
const { busyShare, wholeOf } = await load("run/time.ts");

const nameOf = (run, place) => (place === null ? null : run.places[place].name);

for (const [name, { data, told }] of Object.entries(severalRuns())) {
  const run = readRun(data);

  test(`${name}: the parts of a device's time make up the measured time`, () => {
    const whole = told.period_s === null ? told.iteration_time_s : wholeOf(told.devices[0].time);
    for (const { name: device, time, busy_s } of told.devices.filter((each) => each.bubble_ratio !== null)) {
      assert.ok(Math.abs(wholeOf(time) - whole) <= 1e-9 * whole, device);
      assert.ok(Math.abs(busyShare(time) - busy_s / whole) <= 1e-9, device);
    }
  });

  test(`${name}: every operation is that of the JSON`, () => {
    const { timeline, ...report } = told;
    assert.deepEqual(run.report, report);
    assert.equal(run.start.length, timeline.length);
    timeline.forEach((entry, op) => {
      const { op: kind, stage, from, to, bytes } = run.classes[run.classOf[op]];
      assert.deepEqual(
        {
          op: kind, stage, microbatch: run.microbatch[op], from: nameOf(run, from), to: nameOf(run, to),
          start_s: run.start[op], end_s: run.end[op], bytes, aborted: run.aborted.has(op),
        },
        entry,
      );
    });
  });

  test(`${name}: waits end before what waited starts, and are known from either side`, () => {
    let waits = 0;
    for (let op = 0; op < run.start.length; ++op) {
      for (const other of rowOf(run.waitsFor, op)) {
        ++waits;
        assert.ok(run.end[other] <= run.start[op] + 1e-9);
        assert.ok(rowOf(run.waitedForBy, other).includes(op));
      }
    }
    assert.equal(waits, run.waitedForBy.all.length);
    assert.ok(waits > run.start.length / 2);
  });

  test(`${name}: the critical path reaches from the start to the end, and each waits for the one before`, () => {
    const path = [...run.criticalPath];
    assert.equal(run.end[path.at(-1)], run.until);
    assert.equal(rowOf(run.waitsFor, path[0]).length, 0);
    path.slice(1).forEach((op, i) => assert.ok(rowOf(run.waitsFor, op).includes(path[i])));
    const stages = run.stages.length;
    for (const { what } of partsOfPath(run).filter((part) => / on | → /.test(part.what))) {
      assert.ok(Number(/ of stage (\d+)/.exec(what)?.[1]) < stages, what);
    }
    const sum = partsOfPath(run).reduce((total, { time }) => total + time, 0);
    assert.ok(Math.abs(sum - (run.until - run.begin)) < 1e-9 * run.until);
  });

  test(`${name}: operations of a track do not overlap`, () => {
    run.tracks.forEach((_, track) => {
      const ops = rowOf(run.opsOfTrack, track);
      for (let i = 1; i < ops.length; ++i) assert.ok(run.start[ops[i]] >= run.end[ops[i - 1]] - 1e-9);
    });
  });

  test(`${name}: the most that places hold is their peak, however many columns there are`, () => {
    const peaks = Object.fromEntries([...told.devices, ...told.hosts].map((each) => [each.name, each]));
    for (const changes of run.memory) {
      for (const columns of [1, 7, 1000]) {
        const held = heldMost(changes, run.begin, run.until, columns);
        const sums = Array.from({ length: columns }, (_, i) => held.reduce((sum, each) => sum + each[i], 0));
        assert.equal(Math.max(...sums), peaks[run.places[changes.place].name].peak_memory_bytes);
      }
    }
  });

  test(`${name}: a link carries what its transfers carry, and hardly ever more than it can`, () => {
    told.links.forEach(({ name: link }) => {
      const number = run.links.findIndex((each) => each.name === link);
      let bytes = 0;
      for (let op = 0; op < run.start.length; ++op) {
        const each = run.classes[run.classOf[op]];
        if (each.links.includes(number)) bytes += each.bytes;
      }
      assert.ok(bytes > 0);
      const load = loadOf(run, number);
      let beyond = 0;
      load.share.slice(0, -1).forEach((share, i) => (beyond += Math.max(share - 1, 0) * (load.at[i + 1] - load.at[i])));
      assert.ok(beyond * run.links[number].bandwidth < 0.1 * bytes);
      for (const columns of [1, 50]) {
        const shares = meanShares(load, run.begin, run.until, columns);
        const width = (run.until - run.begin) / columns;
        const carried = shares.reduce((sum, share) => sum + share, 0) * width * run.links[number].bandwidth;
        assert.ok(Math.abs(carried - bytes) < 1e-6 * bytes);
      }
    });
  });
}

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

test("a row has an operation for each of its classes, which wait for the same or for what is as much later", () => {
  const { start, end, classOf, microbatch, aborted, waitsFor } = readOperations({
    sets: [[4], [5, 6, 7]],
    operations: {
      start_s: base64(Float64Array.of(0, 1, 3)), end_s: base64(Float64Array.of(1, 3, 4)), set: base64(Uint32Array.of(0, 1, 1)),
      microbatch: base64(Uint32Array.of(8, 9, 8)), aborted: base64(Uint32Array.of(1)),
    },
    waits: { begin: base64(Uint32Array.of(0, 0, 1, 3)), on: base64(Uint32Array.of(0, 0, 3)) },
  });
  assert.deepEqual([...start], [0, 1, 1, 1, 3, 3, 3]);
  assert.deepEqual([...end], [1, 3, 3, 3, 4, 4, 4]);
  assert.deepEqual([...classOf], [4, 5, 6, 7, 5, 6, 7]);
  assert.deepEqual([...microbatch], [8, 9, 9, 9, 8, 8, 8]);
  assert.deepEqual([...aborted], [1, 2, 3]);
  const waits = Array.from(start, (_, op) => [...rowOf(waitsFor, op)]);
  assert.deepEqual(waits, [[], [0], [0], [0], [0, 1], [0, 2], [0, 3]]);
});

test("what members of a group do at the same time is written once", () => {
  const { data, told } = groupsRun();
  const { classes, sets, operations, memory } = JSON.parse(data);
  const rows = new Uint32Array(new Uint8Array(Buffer.from(operations.set, "base64")).buffer);
  for (const kind of ["forward", "backward", "exchange", "exchange-flow", "update", "activation", "gradient"]) {
    const written = [...rows].filter((set) => classes[sets[set][0]].op === kind).length;
    const count = told.timeline.filter(({ op }) => op === kind).length;
    assert.ok(written > 0 && written <= count / 4, `${kind}: ${written} rows of ${count} operations`);
  }
  assert.deepEqual(memory.map(({ places }) => places.length).sort(), [8, 8]);
});

test("two transfers that overlap share a link evenly, and what a failure ended does not count", () => {
  const columns = {
    start: Float64Array.of(0, 1, 1), end: Float64Array.of(2, 3, 1.5), classOf: Uint32Array.of(0, 0, 0), aborted: new Set([2]),
    classes: [{ bytes: 15, links: [0] }], links: [{ name: "link", bandwidth: 10 }],
  };
  const { at, share } = loadOf(columns, 0);
  assert.deepEqual([...at], [0, 1, 2, 3]);
  [1, 1, 1, 0].forEach((expected, i) => assert.ok(Math.abs(share[i] - expected) < 1e-12));
});

test("of many places that compute alike the first one shows the rows", () => {
  const { data, told } = largeRun();
  const run = readRun(data);
  const labels = (each) => rowsOf(each, false, standInsOf(each)).rows.map(({ label, more }) => label + more);
  const alike = ["gpu0 +51", "gpu52 +11", "gpu64 +51", "gpu116 +11", "gpu128 +51", "gpu180 +11", "gpu192 +51", "gpu244 +11"];
  assert.deepEqual(labels(run), alike);
  assert.equal(rowsOf(run, false, null).rows.length, 256);

  const { rows } = rowsOf(run, true, standInsOf(run));
  assert.deepEqual(new Set(rows.map(({ track }) => run.places[run.tracks[track].place].name)), new Set(alike.map((label) => label.split(" ")[0])));
  const computed = told.timeline.filter(({ op }) => ["forward", "backward", "update"].includes(op));
  const workOf = (name) => computed.filter(({ from }) => from === name).map(({ op, stage, start_s, end_s }) => [op, stage, start_s, end_s]);
  for (const row of rows.filter((each) => each.alike.length > 0)) {
    const [work, ...others] = [row.track, ...row.alike].map((track) => workOf(run.places[run.tracks[track].place].name));
    for (const other of others) {
      assert.equal(other.length, work.length);
      other.forEach(([op, stage, start, end], i) => {
        assert.deepEqual([op, stage], work[i].slice(0, 2));
        assert.ok(Math.abs(start - work[i][2]) + Math.abs(end - work[i][3]) < 1e-8 * run.until);
      });
    }
  }

  const changed = (change) => {
    const other = readRun(data);
    change(other, rowOf(other.opsOfTrack, other.tracks.findIndex(({ place, computes }) => computes && other.places[place].name === "gpu3"))[1]);
    return labels(other);
  };
  const apart = ["gpu0 +2", "gpu3", "gpu4 +47", ...alike.slice(1)];
  assert.deepEqual(changed((other, op) => (other.end[op] += 1e-11 * run.until)), alike);
  assert.deepEqual(changed((other, op) => (other.end[op] += 1e-8 * run.until)), apart);
  assert.deepEqual(changed((other, op) => (other.microbatch[op] += 1)), alike);
  assert.deepEqual(changed((other, op) => other.aborted.add(op)), apart);
  const another = run.classes.findIndex(({ op }) => op === "update");
  assert.deepEqual(changed((other, op) => (other.classOf[op] = another)), apart);
});

test("few places are shown each by itself", () => {
  const { data } = severalRuns().replicas;
  assert.equal(standInsOf(readRun(data)), null);
});
