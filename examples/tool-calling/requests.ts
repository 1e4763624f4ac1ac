import { type Call, describeTools } from "./tools.js";

/** What a user asks, and the call that answers it. */
export interface Request {
  text: string;
  call: Call;
}

const places = ["Paris", "Lima", "Oslo", "Cairo", "Quito", "Hanoi"];
const units = ["celsius", "fahrenheit"];
const currencies = ["EUR", "USD", "JPY", "GBP"];
const people = ["Ana", "Ben", "Chi", "Dev"];
const notes = ["I am late", "lunch at noon", "call me back", "the train is full"];

/** Every request of the data, in an order that never changes. */
function allRequests(): Request[] {
  const weather = places.flatMap((city) =>
    units.map(
      (unit): Request => ({
        text: `What is the weather in ${city}, in ${unit}?`,
        call: { name: "get_weather", arguments: { city, unit } },
      }),
    ),
  );
  const money = currencies.flatMap((from, i) =>
    currencies
      .filter((to) => to !== from)
      .map((to, j): Request => {
        const amount = 5 * (3 * i + j + 1);
        return {
          text: `How much is ${amount} ${from} in ${to}?`,
          call: { name: "convert_currency", arguments: { amount, from, to } },
        };
      }),
  );
  const timers = [1, 3, 5, 8, 10, 12, 15, 20, 25, 30, 45, 60].map(
    (minutes): Request => ({
      text: `Set a timer for ${minutes} minutes.`,
      call: { name: "set_timer", arguments: { minutes } },
    }),
  );
  const messages = people.flatMap((to) =>
    notes.slice(0, 3).map(
      (text): Request => ({
        text: `Tell ${to}: ${text}.`,
        call: { name: "send_message", arguments: { to, text } },
      }),
    ),
  );
  // Every kind in turn.
  return weather.flatMap((_, i) =>
    [weather, money, timers, messages].flatMap((kind) => kind[i] ?? []),
  );
}

const introduction =
  'Answer with one tool call: <tool_call>{"name": …, "arguments": {…}}</tool_call>';

/** The prompt of a request: the tools, how to answer, and what the user asks. */
export const toPrompt = (text: string): string =>
  `Tools:\n${describeTools()}\n${introduction}\n\nRequest: ${text}`;

/** What the user asks in a prompt. */
export const toText = (prompt: string): string => prompt.split("\n\nRequest: ").at(-1) ?? prompt;

const all = allRequests();

/** 36 requests to train on. */
export const trainRequests: readonly Request[] = all.filter(
  (_, index) => index % 4 !== Math.floor(index / 4) % 4,
);

/** 12 others, some for each tool, that only validation may use. */
export const heldOutRequests: readonly Request[] = all.filter(
  (request) => !trainRequests.includes(request),
);

const heldOut = new Set(heldOutRequests.map(({ text }) => text.toLowerCase()));

/** True for a request that training must not see. */
export const isHeldOut = (text: string): boolean => heldOut.has(text.toLowerCase());
