import { z } from "zod";
import { genenvSchema } from "../../sdk/config/schema.js";
import { isTree, type Tree, withAt } from "../../sdk/config/tree.js";
import { verlKeys, verlVersion } from "../../sdk/config/verl-keys.js";
import { refusedKeys } from "../../sdk/config/verl-rules.js";

export type JsonSchema = Record<string, unknown>;

// Keys given with Hydra's + or ~, and dotted ones, which stand for a path.
const freeKeys = { "^(\\+|~)": {}, "^[^.]+\\..+$": {} };
const always = new Map(
  refusedKeys.filter((rule) => !rule.refuses && !rule.role).map((rule) => [rule.key, rule.reason]),
);

/** The JSON Schema (draft 7, which editors read best) of a whole configuration. */
export function configJsonSchema(): JsonSchema {
  const sections = verlSections();
  const names = Object.keys(sections);
  const refs = Object.fromEntries(names.map((name) => [name, { $ref: `#/definitions/${name}` }]));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `genenv configuration (veRL ${verlVersion})`,
    type: "object",
    properties: { env_model_path: envModelPath, genenv: genenvSection(refs), ...refs },
    patternProperties: freeKeys,
    additionalProperties: false,
    definitions: sections,
  };
}

const envModelPath: JsonSchema = {
  type: ["string", "null"],
  description:
    'The environment model: a folder, a hub id, builtin:smollm2-135m, or "agent" for one model in both roles. Left out: the agent\'s model, as a copy of its own.',
};

/** genenv's own section, as zod has it. */
export function genenvJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(genenvSchema, { io: "input", target: "draft-7" });
  return schema;
}

function genenvSection(refs: JsonSchema): JsonSchema {
  const schema = genenvJsonSchema();
  const properties = schema.properties as Record<string, JsonSchema>;
  const { description } = properties.env ?? {};
  const env = {
    type: "object",
    description,
    properties: refs,
    additionalProperties: false,
  };
  return { ...schema, properties: { ...properties, env } };
}

function verlSections(): Record<string, JsonSchema> {
  const tree = Object.entries(verlKeys).reduce<Tree>(
    (all, [key, value]) => withAt(all, key.split("."), value),
    {},
  );
  return Object.fromEntries(
    Object.entries(tree).map(([name, below]) => [name, verlNode(below, name)]),
  );
}

function verlNode(value: unknown, key: string): JsonSchema {
  const reason = always.get(key);
  const refused = reason ? { deprecated: true, description: `Refused: ${reason}.` } : {};
  if (!isTree(value) || Object.keys(value).length === 0) return { ...refused, ...leaf(value) };
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, below]) => [name, verlNode(below, `${key}.${name}`)]),
  );
  return { ...refused, type: ["object", "null"], properties, additionalProperties: false };
}

/** A number or a truth value may be an interpolation or null too; what else a default is says nothing of its type. */
function leaf(value: unknown): JsonSchema {
  if (value === null) return {};
  const type = typeof value;
  if (type !== "number" && type !== "boolean") return { default: value };
  return { type: [type, "string", "null"], pattern: "\\$\\{", default: value };
}
