import type { z } from "zod";
import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { unknownKey } from "./check-keys.js";
import { type GenenvConfig, genenvSchema } from "./schema.js";
import { getAt, isTree } from "./tree.js";

type PlaceOf = (path: readonly string[]) => ErrorPlace | null;

/** The `genenv:` section with its defaults; throws at its first unknown key, or with every bad value. */
export function parseGenenvSection(section: unknown, placeOf: PlaceOf): GenenvConfig {
  const parsed = genenvSchema.safeParse(section ?? {});
  if (parsed.success) {
    assertEffective(parsed.data, placeOf);
    return parsed.data;
  }
  for (const issue of parsed.error.issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const path = ["genenv", ...issue.path.map(String), String(issue.keys[0])];
    throw unknownKey(path, placeOf(path));
  }
  const [first] = parsed.error.issues;
  const path = ["genenv", ...(first?.path ?? []).map(String)];
  throw new ConfigError(parsed.error.issues.map((issue) => issueText(issue, section)).join("; "), {
    code: "bad-value",
    place: placeOf(path),
    hint: descriptionOf(path.slice(1)),
  });
}

/** Values of the design that this version can't carry out: refused, so that nobody waits for them to work. */
const withoutEffect: readonly {
  path: readonly ["ray_address" | "labels"] | readonly ["hooks", "placement" | "address"];
  refuses: (genenv: GenenvConfig) => boolean;
  reason: string;
  hint?: string;
}[] = [
  {
    path: ["ray_address"],
    refuses: ({ ray_address }) => ray_address?.includes("://") ?? false,
    reason:
      "over ray:// (Ray Client) a driver runs in a proxy on the head, without the sockets by which the loop and its roles talk, and veRL's workers can't be given its files",
    hint: "run genenv on a node of the cluster, with the head's host:port or auto",
  },
  {
    path: ["ray_address"],
    refuses: ({ ray_address }) => ray_address !== null && !isAddress(ray_address),
    reason: "it is neither auto nor a host and a port",
    hint: "write it as head:6379, [2001:db8::1]:6379 or auto",
  },
  {
    path: ["hooks", "placement"],
    refuses: ({ hooks, ray_address }) => hooks.placement === "node" && ray_address === null,
    reason: "without genenv.ray_address there is one machine, and the hooks run on it",
  },
  {
    path: ["hooks", "address"],
    refuses: ({ hooks, ray_address }) =>
      hooks.address !== null && (ray_address === null || hooks.placement === "node"),
    reason:
      "hooks are reached on a Unix socket, unless other nodes reach this machine's (genenv.ray_address, with placement driver)",
  },
  {
    path: ["labels"],
    refuses: ({ labels, hooks }) => labels === "majority" && hooks.scoring === "overlap",
    reason:
      "a vote needs all responses to a task, and genenv.hooks.scoring=overlap scores each as it comes; take batch",
  },
];

const isAddress = (text: string): boolean =>
  text === "auto" || /^(\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(text);

function assertEffective(genenv: GenenvConfig, placeOf: PlaceOf): void {
  for (const { path, refuses, reason, hint = "take the key out" } of withoutEffect) {
    if (!refuses(genenv)) continue;
    throw new ConfigError(`genenv.${path.join(".")} can't have that value: ${reason}`, {
      code: "refused-key",
      place: placeOf(["genenv", ...path]),
      hint,
    });
  }
}

function issueText(issue: z.core.$ZodIssue, section: unknown): string {
  const path = issue.path.map(String);
  const value = isTree(section) ? getAt(section, path) : section;
  return `${["genenv", ...path].join(".")} is ${JSON.stringify(value)}: ${issue.message}`;
}

/** What the schema says about a key, as the next step for a bad value. */
export function descriptionOf(path: readonly string[]): string | null {
  let schema: unknown = genenvSchema;
  for (const key of path) schema = shapeOf(schema)?.[key];
  const text = (schema as z.ZodType | undefined)?.description;
  return text ?? null;
}

function shapeOf(schema: unknown): Record<string, unknown> | null {
  let at = schema as { shape?: Record<string, unknown>; unwrap?: () => unknown } | undefined;
  while (at && !at.shape && at.unwrap) at = at.unwrap() as typeof at;
  return at?.shape ?? null;
}
