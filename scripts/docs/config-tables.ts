import { isTree, leavesOf } from "../../sdk/config/tree.js";
import { refusedKeys, verlBase } from "../../sdk/config/verl-rules.js";
import { genenvJsonSchema, type JsonSchema } from "./json-schema.js";
import { code, table } from "./markdown.js";

/** Every key of the `genenv:` section: type, default, and what the schema says about it. */
export function genenvKeysTable(): string {
  const rows = keyRows(genenvJsonSchema(), "genenv");
  return table(["Key", "Takes", "Default", "What it does"], rows);
}

function keyRows(schema: JsonSchema, path: string): string[][] {
  const properties = schema.properties as Record<string, JsonSchema>;
  return Object.entries(properties).flatMap(([name, node]) => {
    const key = `${path}.${name}`;
    if (node.properties) return keyRows(node, key);
    return [[code(key), typeText(node), code(JSON.stringify(node.default)), text(node)]];
  });
}

const text = (node: JsonSchema): string => String(node.description ?? "").replaceAll("|", "\\|");

function typeText(node: JsonSchema): string {
  if (Array.isArray(node.enum)) return node.enum.map((value) => code(String(value))).join(", ");
  if (Array.isArray(node.anyOf)) return (node.anyOf as JsonSchema[]).map(typeText).join(" or ");
  if (node.type === "integer") return `whole number${range(node)}`;
  if (node.type === "number") return `number${range(node)}`;
  if (node.type === "boolean") return "true or false";
  if (node.type === "object") return "veRL keys";
  return node.type === "string" ? "text" : String(node.type);
}

function range(node: JsonSchema): string {
  const from = bound(node.minimum, node.exclusiveMinimum, "from", "above");
  const to = bound(node.maximum, node.exclusiveMaximum, "to", "below");
  return [from, to]
    .filter(Boolean)
    .map((part) => ` ${part}`)
    .join("");
}

function bound(
  inclusive: unknown,
  exclusive: unknown,
  word: string,
  exclusiveWord: string,
): string {
  if (typeof inclusive === "number") return `${word} ${inclusive.toLocaleString("en")}`;
  return typeof exclusive === "number" ? `${exclusiveWord} ${exclusive.toLocaleString("en")}` : "";
}

/** What genenv sets where veRL's own default would not do. */
export function verlBaseTable(): string {
  const rows = leavesOf(verlBase, []).map(({ path, value }) => [
    code(path.join(".")),
    code(isTree(value) ? "{}" : JSON.stringify(value)),
  ]);
  return table(["veRL's key", "genenv's default"], rows);
}

/** veRL keys that are refused, and why. */
export function refusedKeysTable(): string {
  const rows = refusedKeys.map(({ key, role, refuses, reason }) => [
    code(key),
    role ? `the ${role}'s` : "both",
    refuses ? "other values" : "always",
    reason.replaceAll("|", "\\|"),
  ]);
  return table(["veRL's key", "Whose", "Refused", "Why, and what does it instead"], rows);
}
