import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { ConfigError, PythonError } from "../errors.js";
import { runCommand } from "./command.js";
import { lookAtModel } from "./model-folder.js";
import { cacheDir, type Env, pythonPackageDir } from "./paths.js";
import type { PythonSession } from "./session.js";

export interface ResolveModelOptions {
  /** The environment's Python, for built-in models: from ensurePython(). */
  python: string;
  /** What a relative path starts from; default: the working directory. */
  baseDir?: string;
  /** A Python that is up: it finds a built-in model that is there, and no process of its own has to start for that. */
  session?: Pick<PythonSession, "call">;
  env?: Env;
  onProgress?: (line: string) => void;
}

export const builtinModels: readonly string[] = ["builtin:smollm2-135m", "builtin:tiny"];

/**
 * What veRL and vLLM get as a model's path: the absolute folder of a local or built-in model ("builtin:smollm2-135m", made on
 * first use in about 20 s), or a hub id as it is. Throws ConfigError "not-a-model" or "unknown-model".
 */
export async function resolveModel(model: string, options: ResolveModelOptions): Promise<string> {
  if (model.startsWith("builtin:")) return prepareBuiltin(model, options);
  const env = options.env ?? process.env;
  const folder = resolve(
    options.baseDir ?? ".",
    model.replace(/^~(?=\/|$)/, env.HOME ?? homedir()),
  );
  if (existsSync(folder)) return checked(model, folder);
  if (!isHubId(model)) throw notAModel(model, `there is no folder ${folder}`);
  assertAvailable(model, env);
  return model;
}

/** True for `name` and `owner/name` as a model hub writes them. */
export function isHubId(model: string): boolean {
  return /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/.test(model) && !model.includes("..");
}

function checked(model: string, folder: string): string {
  if (!statSync(folder).isDirectory()) {
    throw notAModel(
      model,
      "it is a file; a model is a folder with config.json, weights and a tokenizer",
    );
  }
  const wrong = lookAtModel(folder);
  if (wrong) throw notAModel(model, wrong);
  return folder;
}

/** Offline, a model that isn't in the hub's cache can't be had: found out here, not after Ray's start. */
function assertAvailable(model: string, env: Env): void {
  const offline = [env.HF_HUB_OFFLINE, env.TRANSFORMERS_OFFLINE].some((value) =>
    /^(1|true|yes|on)$/i.test(value ?? ""),
  );
  if (!offline) return;
  const home =
    env.HF_HOME ?? join(env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), ".cache"), "huggingface");
  const cache = env.HF_HUB_CACHE ?? join(home, "hub");
  const folder = join(cache, `models--${model.replaceAll("/", "--")}`);
  if (existsSync(folder)) return;
  throw notAModel(model, `the hub is offline (HF_HUB_OFFLINE) and its cache has no ${folder}`);
}

const preparedSchema = z.object({ path: z.string(), made: z.boolean() });
const foundSchema = z.object({ path: z.string().nullable() });

async function prepareBuiltin(model: string, options: ResolveModelOptions): Promise<string> {
  if (!builtinModels.includes(model)) {
    throw new ConfigError(`there is no built-in model "${model}"`, {
      code: "unknown-model",
      hint: `the built-in ones are ${builtinModels.join(", ")}; or give a folder or a hub id`,
    });
  }
  const env = options.env ?? process.env;
  const name = model.slice("builtin:".length);
  if (options.session) {
    const params = { name, cacheDir: cacheDir(env) };
    const { path } = foundSchema.parse(await options.session.call("find-model", params));
    if (path !== null) return path;
  }
  // One that is there answers in a fraction of a second.
  const slow = setTimeout(
    () => options.onProgress?.(`preparing the model ${name} (once, half a minute)`),
    1500,
  );
  const done = await runCommand(options.python, ["-m", "genenv.models", name, cacheDir(env)], {
    env: { ...env, PYTHONPATH: pythonPackageDir() },
  }).finally(() => clearTimeout(slow));
  if (done.code !== 0) {
    throw new PythonError(
      `the model ${name} could not be prepared: ${done.stderr.trim().split("\n").at(-1)}`,
      {
        code: "model-failed",
        hint: "run genenv setup, then try again",
        traceback: done.stderr,
      },
    );
  }
  return preparedSchema.parse(JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "")).path;
}

function notAModel(model: string, why: string): ConfigError {
  return new ConfigError(`${model} is not a model: ${why}`, {
    code: "not-a-model",
    hint: `give a folder as transformers saves it, a hub id such as owner/name, or one of ${builtinModels.join(", ")}`,
  });
}
