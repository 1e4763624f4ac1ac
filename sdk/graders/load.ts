import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** A library that only some graders need, loaded when one first does: importing the graders stays cheap. */
export function loadLibrary<Library>(name: "re2js" | "ajv"): Library {
  return require(name) as Library;
}
