import { newRandom, type Random } from "./random.js";

/** A response and a ground truth whose values are equal, or not, by construction. */
export interface MathCase {
  kind: string;
  response: string;
  gold: string;
  expected: boolean;
}

/** Answers of one value in several spellings, and one of another value. */
interface Family {
  same: string[];
  other: string;
}

const families: Record<string, (random: Random) => Family> = {
  integer: (random) => {
    const n = random.int(-9999, 9999);
    return { same: [`${n}`, `${n}.0`, `${n}.`], other: `${n + random.int(1, 9)}` };
  },
  thousands: (random) => {
    const [high, low] = [random.int(1, 999), random.int(100, 999)];
    const same = [`${high}${low}`, `${high},${low}`, `${high}{,}${low}`, `${high}\\,${low}`];
    return { same, other: `${high}.${low}` };
  },
  fraction: (random) => {
    const below = random.int(2, 30);
    const above = random.int(1, 29) * random.pick([1, -1]);
    const sign = above < 0 ? "-" : "";
    const size = Math.abs(above);
    const same = [
      `\\frac{${above}}{${below}}`,
      `${sign}\\dfrac{${size}}{${below}}`,
      `${above}/${below}`,
      `${sign}\\frac{${size * 3}}{${below * 3}}`,
    ];
    return { same, other: `\\frac{${above}}{${below + 1}}` };
  },
  "mixed number": (random) => {
    const [whole, below] = [random.int(1, 9), random.int(3, 12)];
    const above = random.int(1, below - 1);
    const same = [
      `${whole}\\frac{${above}}{${below}}`,
      `\\frac{${whole * below + above}}{${below}}`,
    ];
    return { same, other: `\\frac{${whole * above}}{${below}}` };
  },
  decimal: (random) => {
    const n = random.int(1, 7999);
    const text = (n / 8).toString();
    return {
      same: [text, `${text}${text.includes(".") ? "0" : ".0"}`, `\\frac{${n}}{8}`],
      other: `${(n + 1) / 8}`,
    };
  },
  repeating: (random) => {
    const digit = random.int(1, 8);
    return { same: [`0.\\overline{${digit}}`, `\\frac{${digit}}{9}`], other: `0.${digit}` };
  },
  scientific: (random) => {
    const [digits, power] = [random.int(11, 99), random.int(2, 9)];
    const plain = `${digits}${"0".repeat(power - 1)}`;
    const mantissa = `${Math.floor(digits / 10)}.${digits % 10}`;
    const same = [`${mantissa} \\times 10^{${power}}`, plain, `${mantissa}\\cdot 10^{${power}}`];
    return { same, other: `${mantissa} \\times 10^{-${power}}` };
  },
  percent: (random) => {
    const n = random.int(1, 99);
    return { same: [`${n}\\%`, `${n}`, `${n}%`], other: `${n + 1}\\%` };
  },
  root: (random) => {
    const [factor, inside] = [random.int(2, 9), random.pick([2, 3, 5, 6, 7, 10])];
    const same = [
      `${factor}\\sqrt{${inside}}`,
      `\\sqrt{${factor * factor * inside}}`,
      `\\frac{${factor * inside}}{\\sqrt{${inside}}}`,
    ];
    return { same, other: `${factor + 1}\\sqrt{${inside}}` };
  },
  pi: (random) => {
    const [above, below] = [random.int(1, 20), random.int(2, 9)];
    const same = [
      `\\frac{${above}\\pi}{${below}}`,
      `\\frac{${above}}{${below}}\\pi`,
      `${above}\\pi/${below}`,
    ];
    return { same, other: `\\frac{${above + 1}\\pi}{${below}}` };
  },
  power: (random) => {
    const [base, exponent] = [random.int(2, 9), random.int(2, 9)];
    return {
      same: [`${base}^{${exponent}}`, `${base ** exponent}`],
      other: `${base}^{${exponent + 1}}`,
    };
  },
  polynomial: (random) => {
    const [a, b] = [random.int(1, 9), random.int(1, 9)];
    const same = [`(x+${a})(x-${b})`, `x^2+${a}x-${b}x-${a * b}`, `(x-${b})(${a}+x)`];
    return { same, other: `(x+${a})(x+${b})` };
  },
  "rational function": (random) => {
    const [a, b] = [random.int(1, 9), random.int(1, 9)];
    return {
      same: [`\\frac{x+${a}}{x-${b}}`, `\\frac{2x+${2 * a}}{2x-${2 * b}}`],
      other: `\\frac{x-${a}}{x-${b}}`,
    };
  },
  trigonometric: (random) => {
    const a = random.int(1, 9);
    return { same: [`${a}\\sin(2x)`, `${2 * a}\\sin x\\cos x`], other: `${a}\\sin x` };
  },
  logarithm: (random) => {
    const power = random.int(2, 9);
    return {
      same: [`\\log_2 ${2 ** power}`, `${power}`, `\\log_{2}(${2 ** power})`],
      other: `${power + 1}`,
    };
  },
  complex: (random) => {
    const [re, im] = [random.int(1, 20), random.int(2, 20)];
    return { same: [`${re}+${im}i`, `${im}i+${re}`], other: `${re}-${im}i` };
  },
  equation: (random) => {
    const n = random.int(1, 99);
    return { same: [`x=${n}`, `${n}`, `x = ${n}`], other: `x=${n + 1}` };
  },
  line: (random) => {
    const [a, b] = [random.int(2, 9), random.int(1, 9)];
    return { same: [`y=${a}x+${b}`, `${a}x-y+${b}=0`, `y = ${b} + ${a}x`], other: `y=${a}x-${b}` };
  },
  inequality: (random) => {
    const n = random.int(1, 50);
    return { same: [`x > ${n}`, `${n} < x`], other: `x < ${n}` };
  },
  interval: (random) => {
    const low = random.int(-20, 0);
    const high = low + random.int(1, 20);
    return {
      same: [`[${low},${high})`, `\\left[${low}, ${high}\\right)`],
      other: `(${low},${high})`,
    };
  },
  set: (random) => {
    const a = random.int(1, 20);
    return {
      same: [`\\{${a},${a + 3},${a + 5}\\}`, `\\{${a + 5}, ${a}, ${a + 3}\\}`],
      other: `\\{${a},${a + 3},${a + 6}\\}`,
    };
  },
  tuple: (random) => {
    const [a, b] = [random.int(1, 20), random.int(21, 40)];
    return {
      same: [`(${a},${b})`, `(${a}, ${b}.0)`, `\\left(${a}, ${b}\\right)`],
      other: `(${b},${a})`,
    };
  },
  list: (random) => {
    const [a, b] = [random.int(1, 20), random.int(21, 40)];
    return {
      same: [`${a}, ${b}`, `${b}, ${a}`, `${a} \\text{ or } ${b}`, `x=${a}, x=${b}`],
      other: `${a}, ${b + 1}`,
    };
  },
  "plus or minus": (random) => {
    const a = random.int(2, 40);
    return { same: [`\\pm ${a}`, `${a}, -${a}`, `-${a}, ${a}`], other: `${a}` };
  },
  matrix: (random) => {
    const [a, b] = [random.int(1, 9), random.int(1, 9)];
    const cells = `${a} & ${b} \\\\ 0 & `;
    const same = [
      `\\begin{pmatrix} ${cells}\\frac{1}{2} \\end{pmatrix}`,
      `\\begin{bmatrix} ${cells}0.5 \\end{bmatrix}`,
    ];
    return { same, other: `\\begin{pmatrix} ${cells}2 \\end{pmatrix}` };
  },
  units: (random) => {
    const n = random.int(2, 99);
    return { same: [`${n}\\text{ cm}`, `${n}`, `${n} \\text{ cm}`], other: `${n + 1}\\text{ cm}` };
  },
  "another unit": (random) => {
    const n = random.int(2, 99);
    return { same: [`${n}\\text{ cm}`, `${n} \\text{ centimeters}`], other: `${n}\\text{ m}` };
  },
  money: (random) => {
    const n = random.int(2, 99);
    return { same: [`\\$${n}`, `${n}`, `\\$${n}.00`], other: `\\$${n + 1}` };
  },
  degrees: (random) => {
    const n = random.int(2, 179);
    return { same: [`${n}^\\circ`, `${n}`, `${n}^{\\circ}`], other: `${n + 1}^\\circ` };
  },
  word: (random) => {
    const word = random.pick(["Monday", "Tuesday", "even", "odd", "yes"]);
    return { same: [`\\text{${word}}`, word, word.toLowerCase()], other: "\\text{never}" };
  },
  choice: (random) => {
    const letter = random.pick(["A", "B", "C", "D"]);
    return { same: [letter, `\\text{(${letter})}`, `(${letter})`], other: "E" };
  },
  "long integer": (random) => {
    const digits = `${random.int(1, 9)}${Array.from({ length: 25 }, () => random.int(0, 9)).join("")}`;
    const last = (Number(digits.at(-1)) + 1) % 10;
    return { same: [digits, `${digits}.0`], other: `${digits.slice(0, -1)}${last}` };
  },
};

const sentences = [
  (answer: string) => `I rearranged the terms and solved. Result:\n\n\\boxed{${answer}}`,
  (answer: string) => `So we finally obtain $\\boxed{${answer}}$.`,
  (answer: string) => `Collecting everything, it must be\n$$\\boxed{${answer}}$$`,
];

/** A set of `rounds` families of each kind: every spelling beside the first, and the other value beside both ends. */
export function mathSet(rounds: number, seed: number): MathCase[] {
  const random = newRandom(seed);
  const cases: MathCase[] = [];
  for (const [kind, make] of Object.entries(families)) {
    for (let round = 0; round < rounds; round++) {
      const { same, other } = make(random);
      const [gold = "", ...spellings] = same;
      const say = (answer: string): string => random.pick(sentences)(answer);
      for (const spelling of [gold, ...spellings])
        cases.push({ kind, response: say(spelling), gold, expected: true });
      cases.push({ kind, response: say(other), gold, expected: false });
      cases.push({ kind, response: say(gold), gold: other, expected: false });
    }
  }
  return cases;
}
