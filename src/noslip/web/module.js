
/** The run of {{model}}, with the module beside this file or its bytes. */
export async function open(code = null) {
  if (code === null) {
    const place = new URL("./{{stem}}.wasm", import.meta.url);
    if (place.protocol === "file:") {
      const {readFile} = await import("node:fs/promises");
      code = await readFile(place);
    } else code = await (await fetch(place)).arrayBuffer();
  }
  return Run.of(plan, code);
}
