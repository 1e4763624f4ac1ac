import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../whole-file.js";
import type { Pin, Pins } from "./pins.js";

const markerName = "genenv-env.json";
const markerSchema = z.object({
  state: z.enum(["building", "complete"]),
  hash: z.string(),
  python: z.string(),
});

/** Written into an environment: "building" before anything else, "complete" as the last thing. */
export type Marker = z.infer<typeof markerSchema>;

export type EnvState =
  | { kind: "ready" }
  /** Nothing there, or an empty folder. */
  | { kind: "absent" }
  /** Ours, and not what the pins say: half made, of other pins, or damaged. */
  | { kind: "broken"; reason: string }
  /** Somebody else's virtual environment: used as it is, never changed. */
  | { kind: "foreign" }
  /** Something else altogether. */
  | { kind: "occupied" };

export function pythonIn(dir: string): string {
  return join(dir, "bin", "python");
}

/** What `dir` holds, looked up in its files alone (a few milliseconds). */
export function inspectEnv(dir: string, pins: Pins, hash: string | null): EnvState {
  if (!existsSync(dir) || readdirSync(dir).length === 0) return { kind: "absent" };
  const marker = readMarker(dir);
  if (!marker) {
    if (existsSync(join(dir, markerName))) return broken("its marker is damaged");
    return existsSync(pythonIn(dir)) ? { kind: "foreign" } : { kind: "occupied" };
  }
  if (hash !== null && marker.hash !== hash) return broken("it was made for other pins");
  if (marker.state !== "complete") return broken("its making was interrupted");
  // existsSync follows the link: false where the base Python has been removed.
  if (!existsSync(pythonIn(dir))) return broken("its Python is gone");
  const missing = missingPins(sitePackages(dir, marker.python), pins);
  if (missing.length > 0) {
    const names = missing.slice(0, 3).map((pin) => `${pin.name} ${pin.version}`);
    return broken(`${missing.length} of its packages are missing (${names.join(", ")})`);
  }
  return { kind: "ready" };
}

export function readMarker(dir: string): Marker | null {
  try {
    return markerSchema.parse(JSON.parse(readFileSync(join(dir, markerName), "utf8")));
  } catch {
    // No marker, or one cut short by a crash: both mean "not complete".
    return null;
  }
}

/** Writes the marker in one step: a reader sees the old one or the new one. */
export function writeMarker(dir: string, marker: Marker): void {
  writeFileAtomic(join(dir, markerName), `${JSON.stringify(marker)}\n`);
}

export function sitePackages(dir: string, pythonMinor: string): string {
  return join(dir, "lib", `python${pythonMinor}`, "site-packages");
}

/** The pins that have no metadata folder in `site`. */
export function missingPins(site: string, pins: Pins): Pin[] {
  const there = new Set(
    (existsSync(site) ? readdirSync(site) : [])
      .filter((name) => name.endsWith(".dist-info"))
      .map((name) => normalize(name.slice(0, -".dist-info".length))),
  );
  return [...pins.packages, ...pins.aliases].filter(
    ({ name, version }) => !there.has(normalize(`${name}-${version}`)),
  );
}

// The packaging rule for names (PEP 503), wide enough for versions too.
function normalize(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

function broken(reason: string): EnvState {
  return { kind: "broken", reason };
}
