import { numberKey } from "../json.js";
import type { ActionDeclarations, ActionParameter } from "./declarations.js";
import { type Action, type ActionValue, valueText } from "./parse.js";

/** Why one action is not the other; null where it is. */
export function actionProblem(
  given: Action,
  wanted: Action,
  declarations: ActionDeclarations,
): string | null {
  if (given.name !== wanted.name) return `${given.name} is not ${wanted.name}`;
  const declared = declarations[wanted.name] ?? [];
  for (const name of new Set([...wanted.args.keys(), ...given.args.keys()])) {
    const parameter = declared.find((one) => one.name === name) ?? { name };
    const [ours, theirs] = [argumentOf(given, parameter), argumentOf(wanted, parameter)];
    if (ours === null) return `${wanted.name}: ${name} is missing`;
    if (theirs === null) return `${wanted.name}: ${name} is not wanted`;
    if (!sameValue(ours, theirs, parameter)) {
      return `${wanted.name}: ${name} is ${valueText(ours)}, not ${valueText(theirs)}`;
    }
  }
  return null;
}

function argumentOf(action: Action, parameter: ActionParameter): ActionValue | null {
  const value = action.args.get(parameter.name);
  if (value !== undefined) return value;
  return parameter.default === undefined ? null : { text: parameter.default, quoted: true };
}

/** Equal values; a list of one item is that item. */
function sameValue(left: ActionValue, right: ActionValue, parameter: ActionParameter): boolean {
  const [a, b] = [single(left), single(right)];
  if ("items" in a || "items" in b) {
    if (!("items" in a) || !("items" in b) || a.items.length !== b.items.length) return false;
    return a.items.every((item, at) => sameValue(item, b.items[at] as ActionValue, parameter));
  }
  if (a.text === b.text) return true;
  if (parameter.type === "boolean" || (!a.quoted && !b.quoted && isBoolean(a.text))) {
    return isBoolean(a.text) && a.text.toLowerCase() === b.text.toLowerCase();
  }
  const number = parameter.type === "number" || (parameter.type !== "id" && !a.quoted && !b.quoted);
  return (
    number && isNumeral(a.text) && isNumeral(b.text) && numberKey(a.text) === numberKey(b.text)
  );
}

function single(value: ActionValue): ActionValue {
  let inner = value;
  while ("items" in inner && inner.items.length === 1) inner = inner.items[0] as ActionValue;
  return inner;
}

function isBoolean(text: string): boolean {
  return /^(?:true|false)$/i.test(text);
}

function isNumeral(text: string): boolean {
  return /^-?\d{1,300}(?:\.\d{1,300})?$/.test(text);
}
