/** Each unit with its other names; a name that stands nowhere here is never held against an answer. */
const table: Record<string, string> = {
  mm: "millimeter millimeters millimetre millimetres",
  cm: "centimeter centimeters centimetre centimetres",
  m: "meter meters metre metres",
  km: "kilometer kilometers kilometre kilometres",
  inch: "in inches",
  foot: "ft feet",
  yard: "yd yards",
  mile: "mi miles",
  mg: "milligram milligrams",
  g: "gram grams",
  kg: "kilogram kilograms",
  pound: "lb lbs pounds",
  ounce: "oz ounces",
  ton: "tons tonne tonnes",
  ml: "milliliter milliliters millilitre millilitres",
  liter: "l liters litre litres",
  second: "s sec secs seconds",
  minute: "min mins minutes",
  hour: "h hr hrs hours",
  day: "days",
  week: "weeks",
  month: "months",
  year: "yr yrs years",
  degree: "deg degrees",
  dollar: "dollars usd",
  cent: "cents",
  euro: "euros eur",
  yen: "jpy",
  mph: "",
  newton: "n newtons",
  joule: "j joules",
  watt: "w watts",
  volt: "v volts",
  hertz: "hz",
  pascal: "pa pascals",
  mole: "mol moles",
  kelvin: "k",
};

const canonical: ReadonlyMap<string, string> = new Map(
  Object.entries(table).flatMap(([unit, names]) =>
    [unit, ...names.split(" ")].filter(Boolean).map((name) => [name, unit] as const),
  ),
);

/** True for a unit of two or more letters: one letter after a number is a variable unless it stands in \text. */
export function isUnitWord(word: string): boolean {
  return word.length > 1 && canonical.has(word.toLowerCase());
}

/** True for a unit of one letter, such as m: a unit only where it stands in \text after a number. */
export function isUnitLetter(letter: string): boolean {
  return letter.length === 1 && canonical.has(letter.toLowerCase());
}

/** True unless both units are known and differ: cm and m do, cm² and square cm do not, and apples are not known. */
export function sameUnit(left: string, right: string): boolean {
  const [a, b] = [canonicalUnit(left), canonicalUnit(right)];
  return a === null || b === null || a === b;
}

/** True where both units are known and one. */
export function isSameUnit(left: string, right: string): boolean {
  const unit = canonicalUnit(left);
  return unit !== null && unit === canonicalUnit(right);
}

/** A unit such as "m/s" or "square meters" in one spelling; null where a part of it is not known. */
function canonicalUnit(unit: string): string | null {
  const words = unit.toLowerCase().match(/[a-z]+|\d+|[/*]/g) ?? [];
  const parts: string[] = [];
  let raise = "";
  for (const word of words) {
    if (word === "square" || word === "sq") raise = "2";
    else if (word === "cubic" || word === "cu") raise = "3";
    else if (word === "per") parts.push("/");
    else if (word === "squared") parts.push("2");
    else if (word === "cubed") parts.push("3");
    else if (word === "*") continue;
    else if (/^[\d/]/.test(word)) parts.push(word);
    else {
      const known = canonical.get(word);
      if (known === undefined) return null;
      parts.push(known, raise);
      raise = "";
    }
  }
  return parts.length === 0 ? null : parts.join(" ").replace(/ +/g, " ").trim();
}
