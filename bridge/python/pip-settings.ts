import { runCommand } from "./command.js";
import type { Env } from "./paths.js";

/** pip's settings that say where packages come from, by their pip names ("extra-index-url"). */
export type PipSettings = Readonly<Record<string, string>>;

/** pip's effective settings, from its files and PIP_* variables; only the variables where pip is missing. */
export async function readPipSettings(python: string, env: Env): Promise<PipSettings> {
  const { code, stdout } = await runCommand(python, ["-m", "pip", "config", "list"], {
    env,
    timeoutMs: 60_000,
  });
  return { ...(code === 0 ? parsePipConfig(stdout) : {}), ...fromVariables(env) };
}

/** Reads `pip config list`: lines such as `global.find-links='/a\n/b'`; `install.` wins over `global.`. */
export function parsePipConfig(text: string): PipSettings {
  const bySection: Record<string, Record<string, string>> = { global: {}, install: {} };
  for (const line of text.split("\n")) {
    const match = /^(global|install)\.([a-z-]+)=(['"])(.*)\3$/.exec(line.trim());
    const section = bySection[match?.[1] ?? ""];
    if (section && match?.[2] && match[4] !== undefined) section[match[2]] = words(match[4]);
  }
  return { ...bySection.global, ...bySection.install };
}

/**
 * The uv variables that say the same as pip's settings. A variable of uv's own that is already set wins.
 * uv takes the first index that knows a package and pip the best match of all: with more than one index pip's way is kept.
 */
export function toUvVariables(pip: PipSettings, env: Env): Record<string, string> {
  const extra = pip["extra-index-url"];
  const wanted: Record<string, string | undefined> = {
    UV_DEFAULT_INDEX: pip["index-url"],
    UV_INDEX: extra,
    UV_INDEX_STRATEGY: extra ? "unsafe-best-match" : undefined,
    UV_FIND_LINKS: pip["find-links"]?.split(" ").join(","),
    UV_INSECURE_HOST: pip["trusted-host"],
    UV_NO_INDEX: isOn(pip["no-index"]) ? "1" : undefined,
    UV_HTTP_TIMEOUT: pip.timeout ?? pip["default-timeout"],
    SSL_CERT_FILE: pip.cert,
    SSL_CLIENT_CERT: pip["client-cert"],
    HTTPS_PROXY: env.https_proxy ? undefined : pip.proxy,
    HTTP_PROXY: env.http_proxy ? undefined : pip.proxy,
  };
  const set = Object.entries(wanted).filter(([name, value]) => value && !env[name]);
  return Object.fromEntries(set) as Record<string, string>;
}

/** True where packages come from somewhere else than PyPI alone, so that a CPU build of torch may be there. */
export function namesOwnSource(variables: Env): boolean {
  return ["UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_NO_INDEX"].some((name) =>
    Boolean(variables[name]),
  );
}

function fromVariables(env: Env): PipSettings {
  const set = Object.entries(env).filter(([name, value]) => name.startsWith("PIP_") && value);
  return Object.fromEntries(
    set.map(([name, value]) => [
      name.slice(4).toLowerCase().replaceAll("_", "-"),
      words(`${value}`),
    ]),
  );
}

// Lists are separated by blanks or by lines; `pip config list` shows a line break as \n.
function words(value: string): string {
  return value.replaceAll("\\n", " ").split(/\s+/).filter(Boolean).join(" ");
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && /^(1|true|yes|on)$/i.test(value);
}
