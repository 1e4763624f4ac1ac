/** Which of this machine's addresses the nodes of a Ray cluster reach it by. */
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, type ErrorPlace } from "../errors.js";

export interface RemoteDoor {
  host: string;
  /** 0 picks one. */
  port: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * What to listen at for a cluster's nodes: `given` (genenv.hooks.address, `host` or `host:port`), else the address
 * that this machine's route to the cluster's head starts from. Throws ConfigError where there is neither.
 */
export async function hookDoor(
  given: string | null,
  rayAddress: string,
  place: ErrorPlace | null,
  env: Env = process.env,
): Promise<RemoteDoor> {
  if (given !== null) return parseAddress(given);
  const head = rayAddress === "auto" ? clusterOfThisMachine(env) : rayAddress;
  if (head === null) {
    throw new ConfigError(
      "genenv.ray_address is auto, and this machine does not say which Ray cluster it is a node of",
      {
        code: "no-ray-cluster",
        hint: "start Ray here (ray start --address=HEAD:PORT), or give the head's host:port",
        place,
      },
    );
  }
  return { host: await routeTo(parseAddress(head), place), port: 0 };
}

/** `host`, `host:port`, `[v6]:port`. */
export function parseAddress(text: string): RemoteDoor {
  const match = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? /^([^:]+)(?::(\d+))?$/.exec(text);
  return match?.[1] ? { host: match[1], port: Number(match[2] ?? 0) } : { host: text, port: 0 };
}

/** What `ray start` left here, as Ray itself looks for it: RAY_ADDRESS, else a file. */
function clusterOfThisMachine(env: Env): string | null {
  if (env.RAY_ADDRESS) return env.RAY_ADDRESS;
  try {
    const file = join(env.RAY_TMPDIR ?? "/tmp", "ray", "ray_current_cluster");
    return readFileSync(file, "utf8").trim() || null;
  } catch {
    return null;
  }
}

/** The kernel's choice of an own address towards `head`; a connected UDP socket sends nothing. */
async function routeTo(head: RemoteDoor, place: ErrorPlace | null): Promise<string> {
  try {
    const { address, family } = await lookup(head.host);
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("error", reject);
        socket.connect(head.port || 6379, address, resolve);
      });
      return socket.address().address;
    } finally {
      socket.close();
    }
  } catch (error) {
    throw new ConfigError(
      `there is no way from this machine to the Ray cluster's head ${head.host}: ${(error as Error).message}`,
      {
        code: "no-ray-cluster",
        hint: "check genenv.ray_address, or set genenv.hooks.address to an address that the nodes reach",
        place,
        cause: error,
      },
    );
  }
}
