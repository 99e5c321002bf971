// Builds the pages: one HTML file each, with its script and its style inside, and a policy that allows nothing else.
//   node build.mjs          writes built/
//   node build.mjs --check  fails if built/ is not what the source builds
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const pages = ["run", "study"];
const here = new URL("./", import.meta.url);

const read = (path) => readFileSync(new URL(path, here), "utf8");
const sha256 = (text) => createHash("sha256").update(text);
const allowed = (text) => `'sha256-${sha256(text).digest("base64")}'`;

/** Of all that the pages are made of: the names and contents of the files. tests/lint compares it without Node. */
function stampOfSource() {
  const sources = readdirSync(new URL("src/", here), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(here.pathname.length));
  const files = ["build.mjs", "package-lock.json", ...sources].sort();
  return sha256(files.map((path) => `${path}\n${read(path)}`).join("")).digest("hex");
}

async function bundle(path) {
  const result = await build({
    absWorkingDir: here.pathname,
    entryPoints: [path],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
  });
  return result.outputFiles[0].text.trim();
}

async function pageOf(name) {
  const script = (await bundle(`src/${name}/main.ts`)).replaceAll("</", "<\\/");
  const style = await bundle(`src/${name}/style.css`);
  const policy = `default-src 'none'; form-action 'none'; base-uri 'none'; img-src data:; script-src ${allowed(script)}; style-src ${allowed(style)}`;
  const licence = read("node_modules/uplot/LICENSE").trim();
  const parts = { LICENCE: licence, TITLE: `Stagecraft ${name}`, STAMP: stampOfSource(), POLICY: policy, STYLE: style, SCRIPT: script };
  return read("src/shared/page.html").replace(/@([A-Z]+)@/g, (mark, part) => parts[part] ?? mark);
}

const isCheck = process.argv.includes("--check");
for (const name of pages) {
  const path = `built/${name}.html`;
  const built = await pageOf(name);
  if (!isCheck) {
    writeFileSync(new URL(path, here), built);
  } else if (read(path) !== built) {
    console.error(`web/${path} is not what the source builds; run: npm ci && node build.mjs`);
    process.exitCode = 1;
  }
}
