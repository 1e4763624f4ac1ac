import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** Every file below a folder whose name ends so, as paths from the project's root. */
function files(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
}

const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Import {
  /** A package's name, or a path from the project's root. */
  to: string;
  /** Gone after compilation. */
  typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const pattern =
    /(?:^|\n)\s*(import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|(?:^|\n)import\s+"([^"]+)"/g;
  return [...read(file).matchAll(pattern)].map((match) => {
    const specifier = match[3] ?? match[4] ?? match[5] ?? "";
    const to = specifier.startsWith(".")
      ? relative(root, resolve(root, dirname(file), specifier))
      : specifier;
    return { to, typeOnly: match[2] !== undefined };
  });
}

/** `FILE -> IMPORT` for each import that is refused. */
function violations(sources: string[], refused: (to: Import, file: string) => boolean): string[] {
  return sources.flatMap((file) =>
    importsOf(file)
      .filter((found) => refused(found, file))
      .map((found) => `${file} -> ${found.to}`),
  );
}

const isIn = (room: string, path: string): boolean => path.startsWith(`${room}/`);
const bridge = files("bridge", ".ts");
const sdk = files("sdk", ".ts");

describe("the rooms, examples -> sdk -> bridge -> (wire) -> py", () => {
  test("the reader of imports sees all of their forms", () => {
    const to = importsOf("sdk/cli/program.ts").map((found) => found.to);
    expect(to).toContain("commander");
    expect(to).toContain("bridge/python/paths.js");
    expect(to).toContain("sdk/cli/run-command.js");
  });

  test("bridge never imports sdk", () => {
    expect(violations(bridge, ({ to }) => isIn("sdk", to) || /^genenv(\/|$)/.test(to))).toEqual([]);
  });

  test("sdk and bridge import no examples, tests or scripts", () => {
    const outside = ["examples", "test", "scripts", "bench"];
    const refused = ({ to }: Import): boolean => outside.some((room) => isIn(room, to));
    expect(violations([...sdk, ...bridge], refused)).toEqual([]);
  });

  test("examples know the package by its name alone", () => {
    const refused = ({ to }: Import): boolean => isIn("sdk", to) || isIn("bridge", to);
    expect(violations(files("examples", ".ts"), refused)).toEqual([]);
  });

  test("graders stand on nothing else of the package but types", () => {
    const refused = ({ to, typeOnly }: Import): boolean =>
      !typeOnly && (isIn("bridge", to) || (isIn("sdk", to) && !isIn("sdk/graders", to)));
    expect(violations(files("sdk/graders", ".ts"), refused)).toEqual([]);
  });

  test("the curriculum's formulas import neither data, configuration nor runs", () => {
    const rooms = ["sdk/config", "sdk/data", "sdk/run", "sdk/cli", "bridge/python"];
    const refused = ({ to }: Import): boolean => rooms.some((room) => isIn(room, to));
    expect(violations(files("sdk/curriculum", ".ts"), refused)).toEqual([]);
  });

  test("only bridge/python knows pythonia", () => {
    const others = [...sdk, ...bridge].filter((file) => !isIn("bridge/python", file));
    expect(others.filter((file) => read(file).includes("pythonia"))).toEqual([]);
  });

  test("the hook plane and the Python session know nothing of each other", () => {
    const hooks = files("bridge/hooks", ".ts");
    const python = files("bridge/python", ".ts");
    expect(violations(hooks, ({ to }) => isIn("bridge/python", to))).toEqual([]);
    expect(violations(python, ({ to }) => isIn("bridge/hooks", to))).toEqual([]);
  });
});

describe("the training stack", () => {
  const heavy = /^\s*(?:import|from)\s+(?:verl|vllm|ray)\b/m;
  // A test of the plugin meets veRL itself, as does the bench that measures veRL's own reward loop; all else goes
  // through py/genenv.
  const measured = "bench/hooks_verl.py";
  const python = ["py", "scripts", "bench"].flatMap((folder) => files(folder, ".py"));

  test("only py/genenv imports veRL, vLLM or Ray", () => {
    const importing = python.filter((file) => heavy.test(read(file)));
    expect(importing.length).toBeGreaterThan(0);
    expect(importing.filter((file) => !isIn("py/genenv", file) && file !== measured)).toEqual([]);
  });

  test("what every process loads imports none of it at its top, nor torch", () => {
    const light = [
      "__init__",
      "channel",
      "control",
      "errors",
      "hooks",
      "job_server",
      "models",
      "process",
      "train",
      "wire",
      "loop/run",
      "role/handle",
    ];
    const atTop = /^(?:import|from)\s+(?:verl|vllm|ray|torch|transformers)\b/m;
    expect(light.filter((name) => atTop.test(read(`py/genenv/${name}.py`)))).toEqual([]);
  });
});
