// A headless Chromium that notes everything a page must not do.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);

export const launch = () => puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox"] });

/** Opens a page; `faults` collects messages on the console, errors, and requests beyond the page itself. */
export async function open(browser, path, { width = 1280, height = 900, dark = false } = {}) {
  const page = await browser.newPage();
  const faults = [];
  const url = pathToFileURL(path).href;
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) faults.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.goto(url);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { page, faults };
}
