import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError, PythonError } from "../../bridge/errors.js";
import { isHubId, resolveModel } from "../../bridge/python/models.js";
import { writeScript } from "./python-fakes.js";

const dir = mkdtempSync(join(tmpdir(), "genenv-test-"));
const python = join(dir, "python");
const env = { HOME: dir, PATH: process.env.PATH };
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function modelFolder(name: string, files: Record<string, string>): string {
  const folder = join(dir, name);
  mkdirSync(folder);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

const whole = {
  "config.json": '{"model_type": "llama"}',
  "model.safetensors": "",
  "tokenizer.json": "{}",
};

test("gives the absolute folder of a local model, relative to the base or to home", async () => {
  const folder = modelFolder("whole", whole);
  expect(await resolveModel(folder, { python, env })).toBe(folder);
  expect(await resolveModel("./whole", { python, env, baseDir: dir })).toBe(folder);
  expect(await resolveModel("~/whole", { python, env })).toBe(folder);
});

test("takes a model whose weights are in shards", async () => {
  const { "model.safetensors": _, ...rest } = whole;
  const index = '{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}';
  const files = { ...rest, "model.safetensors.index.json": index, "one.safetensors": "" };
  const folder = modelFolder("shards", files);
  await expect(resolveModel(folder, { python, env })).rejects.toThrow(
    "the weights two.safetensors are missing",
  );
  writeFileSync(join(folder, "two.safetensors"), "");
  expect(await resolveModel(folder, { python, env })).toBe(folder);
});

test("passes a hub id on as it is", async () => {
  expect(await resolveModel("owner/some-model_1.5B", { python, env })).toBe(
    "owner/some-model_1.5B",
  );
  expect(["gpt2", "a/b"].every(isHubId)).toBe(true);
  expect(["/a/b", "./a", "a/b/c", "", "a b", "../x", "a/../b"].some(isHubId)).toBe(false);
});

test.each([
  ["a folder without config.json", () => modelFolder("bare", {}), "it has no config.json"],
  [
    "a folder whose config.json is another program's",
    () => modelFolder("other", { ...whole, "config.json": "{}" }),
    'there is no "model_type" in it',
  ],
  [
    "a folder without weights",
    () => modelFolder("weightless", { "config.json": whole["config.json"] }),
    "it has no weights (model.safetensors or pytorch_model.bin)",
  ],
  [
    "a folder without a tokenizer",
    () => modelFolder("mute", { ...whole, "tokenizer.json": "" }) && removeTokenizer("mute"),
    "it has no tokenizer",
  ],
  ["a folder that is not there", () => "./no/such/folder", "there is no folder"],
  ["a file", () => join(modelFolder("f", whole), "config.json"), "it is a file"],
])("says why %s is not a model", async (_what, make, why) => {
  const model = make();
  const error = await resolveModel(model, { python, env }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error).toMatchObject({ code: "not-a-model" });
  expect((error as Error).message).toContain(`${model} is not a model: `);
  expect((error as Error).message).toContain(why);
});

function removeTokenizer(name: string): string {
  rmSync(join(dir, name, "tokenizer.json"));
  return join(dir, name);
}

test("says offline that a hub model isn't in the cache", async () => {
  const offline = { ...env, HF_HUB_OFFLINE: "1" };
  await expect(resolveModel("owner/name", { python, env: offline })).rejects.toThrow(
    /the hub is offline .*models--owner--name/,
  );
  mkdirSync(join(dir, ".cache/huggingface/hub/models--owner--name"), { recursive: true });
  expect(await resolveModel("owner/name", { python, env: offline })).toBe("owner/name");
});

test("has Python prepare a built-in model, in genenv's cache", async () => {
  writeScript(python, 'echo noise; echo "{\\"path\\": \\"$4\\", \\"made\\": true}"');
  expect(await resolveModel("builtin:tiny", { python, env })).toBe(join(dir, ".cache/genenv"));
});

test("asks a Python that is up for a built-in model, and starts one of its own only to make it", async () => {
  writeScript(python, 'echo "{\\"path\\": \\"/made\\", \\"made\\": true}"');
  const calls: unknown[] = [];
  const answering = (path: string | null) => ({
    call: async (...call: unknown[]) => {
      calls.push(call);
      return { path };
    },
  });
  const there = { python: "/no/python", env, session: answering("/there") };
  expect(await resolveModel("builtin:tiny", there)).toBe("/there");
  expect(calls).toEqual([["find-model", { name: "tiny", cacheDir: join(dir, ".cache/genenv") }]]);
  expect(await resolveModel("builtin:tiny", { python, env, session: answering(null) })).toBe(
    "/made",
  );
});

test("names the built-in models when there is none of that name", async () => {
  const error = await resolveModel("builtin:big", { python, env }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({
    code: "unknown-model",
    message: 'there is no built-in model "builtin:big"',
    hint: expect.stringContaining("builtin:smollm2-135m, builtin:tiny"),
  });
});

test("gives Python's last line when a built-in model can't be prepared", async () => {
  writeScript(python, "echo Traceback >&2; echo 'OSError: disk full' >&2; exit 1");
  const error = await resolveModel("builtin:tiny", { python, env }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PythonError);
  expect((error as Error).message).toBe("the model tiny could not be prepared: OSError: disk full");
});
