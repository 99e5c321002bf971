// Modules of the source, for tests that need no browser.
import { build } from "esbuild";

export async function load(path) {
  const result = await build({
    absWorkingDir: new URL("../", import.meta.url).pathname,
    entryPoints: [`src/${path}`],
    bundle: true,
    write: false,
    format: "esm",
    loader: { ".css": "empty" },
  });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].contents).toString("base64")}`);
}
