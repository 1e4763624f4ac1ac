/** What every reading step throws inside this folder where the text is not mathematics it can read. */
export const unreadable: unique symbol = Symbol("unreadable");

/** One piece of an answer's text. */
export type Token = {
  kind: "number" | "letter" | "command" | "symbol" | "text";
  /** Digits with a decimal point, the letter, the command without its backslash, the symbol, or the plain text. */
  value: string;
  /** True where white space stands before it. */
  spaced: boolean;
  /** For a number: the repeating digits after the decimals, as in 0.1(6). */
  repeating?: string;
};

/** A mathematical expression. */
export type Node =
  | { kind: "number"; text: string; repeating: string }
  | { kind: "name"; name: string }
  | { kind: "add" | "multiply" | "divide" | "power"; left: Node; right: Node }
  | { kind: "negate" | "factorial" | "percent" | "degrees"; of: Node }
  | { kind: "call"; name: string; args: Node[] };

/** One answer, or a part of one. */
export type Answer =
  | { kind: "value"; node: Node; unit: string; percent: boolean }
  | { kind: "based"; digits: string; base: string }
  | { kind: "text"; text: string }
  /** In any order, for a set and for several answers side by side; "(" and "[" keep theirs. */
  | { kind: "group"; open: "(" | "[" | "{" | ""; close: ")" | "]" | "}" | ""; items: Answer[] }
  | { kind: "matrix"; rows: Node[][]; determinant: boolean }
  /** `name` where the left side of an equation only names what is on the right. */
  | { kind: "relation"; name: string | null; sides: Answer[]; operators: Operator[] }
  | { kind: "ratio"; parts: Node[] }
  | { kind: "union"; parts: Answer[] };

/** A relation between two sides; "in" is membership. */
export type Operator = "=" | "!=" | "<" | "<=" | ">" | ">=" | "in";
