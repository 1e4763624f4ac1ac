/** Milliseconds of processor time that this process has used: other programs on the machine don't count. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Answers a second of processor time over a list of inputs: the best of three rounds of half a second, after one to warm up. */
export function answersPerSecond<Input>(
  inputs: readonly Input[],
  grade: (input: Input) => void,
): number {
  let best = 0;
  for (let round = 0; round < 4; round++) {
    const start = processorMs();
    let count = 0;
    while (processorMs() - start < 500) {
      for (const input of inputs) grade(input);
      count += inputs.length;
      // A clock read is not free: short lists are gone through many times between two.
      for (let left = 200 - inputs.length; left > 0; left -= inputs.length) {
        for (const input of inputs) grade(input);
        count += inputs.length;
      }
    }
    if (round > 0) best = Math.max(best, (1000 * count) / (processorMs() - start));
  }
  return Math.round(best);
}

const many = (part: string, times: number): string => part.repeat(times);
const row = (length: number, item: (at: number) => string, by: string): string =>
  Array.from({ length }, (_one, at) => item(at)).join(by);

/** Answers made to be slow, deep or huge, each with a ground truth that it must be compared with to the end. */
const hostile: Record<string, [answer: string, gold: string]> = {
  "a tower of exponents": ["9^{9^{9^{9^9}}}", "8^{9^{9^9}}"],
  "huge powers": ["2^{99999999}", "3^{99999999}"],
  "a high polynomial": ["((x+1)^{20}+y)^{200}", "((1+x)^{20}+y)^{200}"],
  "nested roots": [
    `${many("\\sqrt{2+", 50)}1${many("}", 50)}`,
    `${many("\\sqrt{2+", 50)}2${many("}", 50)}`,
  ],
  "a sum of sines": [
    row(100, (at) => `\\sin(${at}x)`, "+"),
    row(100, (at) => `\\sin(x${at})`, "+"),
  ],
  "a sum of roots": [row(90, (at) => `\\sqrt[${at + 3}]{${at + 2}}`, "+"), "1"],
  "a sum of fractions": [
    row(200, (at) => `\\frac{1}{x+${at}}`, "+"),
    row(200, (at) => `\\frac{1}{${at}+x}`, "+"),
  ],
  "a long list backwards": [row(700, (at) => `${at}`, ", "), row(700, (at) => `${699 - at}`, ", ")],
  "a list of roots": [
    row(90, (at) => `\\sqrt{${at + 2}}`, ", "),
    row(90, (at) => `\\sqrt{${91 - at}}+0`, ", "),
  ],
  "a power of a fraction": ["(\\frac{123456789}{987654321})^{3000}", "1"],
  "deep brackets": [`${many("(", 2000)}1${many(")", 2000)}`, "1"],
  "a megabyte of digits": [many("1", 1_000_000), "1"],
  "a megabyte of braces": [`${many("{", 500_000)}${many("}", 500_000)}`, "1"],
  "a megabyte of open boxes": [many("\\boxed{", 150_000), "1"],
  "a megabyte of thinking": [many("<think>", 150_000), "1"],
  "a megabyte of dollars": [many("$", 1_000_000), "1"],
  "a megabyte of answers": [many("answer is ", 100_000), "1"],
};

/** The milliseconds that the math grader takes for each hostile answer: the first time, and the median of nine. */
export function hostileTimes(
  grade: (input: { response: string; groundTruth: string }) => void,
): Record<string, { firstMs: number; medianMs: number }> {
  const times: Record<string, { firstMs: number; medianMs: number }> = {};
  for (const [name, [answer, gold]] of Object.entries(hostile)) {
    const response = `\\boxed{${answer}}`;
    const taken = Array.from({ length: 9 }, () => {
      const start = processorMs();
      grade({ response, groundTruth: gold });
      return processorMs() - start;
    });
    const [firstMs = 0] = taken;
    const medianMs = [...taken].sort((a, b) => a - b)[4] ?? 0;
    times[name] = { firstMs: round(firstMs), medianMs: round(medianMs) };
  }
  return times;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
