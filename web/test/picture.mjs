// Draws the picture of the page that the documents show: node test/picture.mjs
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.mjs";
import { run } from "./runs.mjs";

const planning = ["--planner", "uniform", "--set", "stages=4", "--set", "replicas=1", "--microbatches", "8"];
const shown = run("vgg16-blocks", "dgx-1-v100", planning);
const browser = await launch();
const { page } = await open(browser, shown.page, { width: 1000, height: 700 });
const bottom = await page.evaluate(() => {
  [...document.querySelectorAll(".toolbar button")].find((each) => each.textContent === "Critical path").click();
  const sections = [...document.querySelectorAll("section")];
  const heading = (section) => section.querySelector("h2").textContent;
  for (const section of sections) section.hidden = !["Timeline", "Plan"].includes(heading(section));
  return sections.find((section) => heading(section) === "Plan").getBoundingClientRect().bottom;
});
await new Promise((done) => setTimeout(done, 300));
const path = fileURLToPath(new URL("../../docs/pictures/run-page.png", import.meta.url));
await page.screenshot({ path, clip: { x: 0, y: 0, width: 1000, height: bottom + 8 } });
await browser.close();
