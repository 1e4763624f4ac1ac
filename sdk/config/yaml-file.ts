import { readFileSync } from "node:fs";
import { type Document, isMap, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { type Assignment, parseKey } from "./assignment.js";
import { isTree, type Tree } from "./tree.js";

/**
 * What a YAML file says, an assignment for each of its top-level keys, which may be dotted and may carry
 * Hydra's + and ~ as on the command line. An empty file says nothing.
 */
export function readYamlFile(file: string, baseDir: string): Assignment[] {
  const lines = new LineCounter();
  const document = parseDocument(readText(file), {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
  });
  const problem = document.errors[0];
  if (problem) throw yamlError(file, problem.message, placeAt(file, lines, problem.pos[0]));
  const tree = toTree(document, file);
  return Object.keys(tree).map((text) => {
    const place = placeOf(document, lines, file, [text]);
    const key = parseKey(text);
    if (!key) throw yamlError(file, `${JSON.stringify(text)} is not a key`, place);
    return {
      ...key,
      value: tree[text],
      baseDir,
      placeOf: (below) => placeOf(document, lines, file, [text, ...below]),
    };
  });
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new ConfigError(`can't read the configuration ${file}: ${(cause as Error).message}`, {
      code: "config-missing",
      hint: "give the path of a YAML file, or none for the default run",
      cause,
    });
  }
}

function toTree(document: Document, file: string): Tree {
  let value: unknown;
  try {
    value = document.toJS();
  } catch (cause) {
    throw yamlError(file, (cause as Error).message, { file });
  }
  if (value === null || value === undefined) return {};
  if (isTree(value)) return value;
  throw yamlError(file, "its top level is not a mapping of keys", { file, line: 1 });
}

/** The line of the deepest key on the way to `path` that the file has. */
function placeOf(
  document: Document,
  lines: LineCounter,
  file: string,
  path: readonly string[],
): ErrorPlace {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    if (!pair) break;
    offset = (pair.key as Node).range?.[0] ?? offset;
    node = pair.value;
  }
  return placeAt(file, lines, offset);
}

function placeAt(file: string, lines: LineCounter, offset: number | undefined): ErrorPlace {
  if (offset === undefined) return { file };
  const { line, col } = lines.linePos(offset);
  return { file, line, column: col };
}

function yamlError(file: string, problem: string, place: ErrorPlace): ConfigError {
  return new ConfigError(`can't read the configuration ${file}: ${problem}`, {
    code: "config-syntax",
    place,
    hint: "mend the YAML at that place",
  });
}
