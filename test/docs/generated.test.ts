import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { configJsonSchema } from "../../scripts/docs/json-schema.js";
import { fillBlocks } from "../../scripts/docs/markdown.js";
import { generatedFiles } from "../../scripts/docs/pages.js";
import { root } from "./pages.js";

test.each(generatedFiles(root))("$path is what npm run docs writes", ({ path, text }) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(text);
});

describe("the JSON Schema for editors", () => {
  const schema = configJsonSchema();
  const validate = new Ajv({ allowUnionTypes: true, strictTypes: false }).compile(schema);
  const problems = (yaml: string): string[] => {
    validate(parse(yaml));
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  };

  test("takes the default configuration", () => {
    const text = readFileSync(join(root, "configs", "genenv_config.yaml"), "utf8");
    expect(problems(text)).toEqual([]);
  });

  test("takes dotted keys, keys given with + and ~, and interpolations", () => {
    const text = [
      "data.train_batch_size: 8",
      "+data.new: 1",
      "~data.seed:",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Hydra's interpolation
      "data: { max_response_length: '${data.max_prompt_length}' }",
    ];
    expect(problems(text.join("\n"))).toEqual([]);
  });

  test("refuses a key that nobody knows, wherever it stands", () => {
    expect(problems("genenv: { filtering: 1 }")).toEqual([
      "/genenv must NOT have additional properties",
    ]);
    expect(problems("trainer: { total_epoch: 1 }")).toEqual([
      "/trainer must NOT have additional properties",
    ]);
    expect(problems("genenv: { env: { data: { size: 1 } } }")).toEqual([
      "/genenv/env/data must NOT have additional properties",
    ]);
  });

  test("refuses a value of the wrong type", () => {
    expect(problems("genenv: { alpha: 1 }")).toEqual(["/genenv/alpha must be < 1"]);
    expect(problems("trainer: { total_epochs: many }")).not.toEqual([]);
  });

  test("says why a refused key is refused", () => {
    const { distillation } = schema.definitions as Record<string, unknown>;
    expect(distillation).toMatchObject({
      deprecated: true,
      description: "Refused: genenv has no teacher model.",
    });
  });
});

describe("filling a page's blocks", () => {
  const page = "a\n<!-- generated:one -->\nold\n<!-- /generated -->\nb\n";

  test("replaces what stands between the marks", () => {
    expect(fillBlocks(page, { one: "new" })).toBe(
      "a\n<!-- generated:one -->\nnew\n<!-- /generated -->\nb\n",
    );
  });

  test("refuses a page without a block's place, and a place without a block", () => {
    expect(() => fillBlocks("a\n", { one: "new" })).toThrow("no block for one");
    expect(() => fillBlocks(page, {})).toThrow('nothing is generated for the block "one"');
  });
});
