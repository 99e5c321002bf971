// Times of the page of a run in Chromium: node test/bench.mjs PAGE
import { launch, open } from "./browser.mjs";

const browser = await launch();
const began = performance.now();
const { page } = await open(browser, process.argv[2]);
const opened = performance.now() - began;
const times = await page.evaluate(() => {
  const { run, timeline } = window.stagecraft;
  const timed = (from, to) => {
    const whole = run.until - run.begin;
    timeline.window.show(run.begin + from * whole, run.begin + to * whole);
    const all = Array.from({ length: 9 }, () => {
      const start = performance.now();
      timeline.draw();
      timeline.canvas.getContext("2d").getImageData(0, 0, 1, 1); // waits for what was drawn
      return performance.now() - start;
    });
    return all.sort((a, b) => a - b)[4];
  };
  return { operations: run.start.length, whole: timed(0, 1), tenth: timed(0.5, 0.6), hundredth: timed(0.5, 0.51) };
});
console.log({ opened, ...times });
await browser.close();
