/** Something on a page that an action can be taken on. */
export interface Element {
  bid: string;
  role: "button" | "link" | "textbox" | "combobox";
  name: string;
  options?: readonly string[];
}

/** What a user wants on a page, and the action that does it. */
export interface Goal {
  page: string;
  text: string;
  action: string;
}

interface Page {
  title: string;
  elements: Element[];
}

const shops = ["Tea house", "Book corner", "Bike shed", "Garden shop", "Music box", "Shoe lane"];
const sizes = ["small", "medium", "large"];
const queries = ["green tea", "old maps", "red bell", "rose seeds", "blue drum", "rain boots"];

/** The page of a shop; its element ids differ from shop to shop. */
function shopPage(index: number): Page {
  const bid = (place: number): string => String(10 * (index + 1) + place);
  return {
    title: shops[index] ?? "",
    elements: [
      { bid: bid(1), role: "textbox", name: "Search" },
      { bid: bid(2), role: "link", name: "Cart" },
      { bid: bid(3), role: "combobox", name: "Size", options: sizes },
      { bid: bid(4), role: "button", name: "Add to cart" },
    ],
  };
}

function toText({ title, elements }: Page): string {
  const lines = elements.map(({ bid, role, name, options }) => {
    const list = options ? ` (${options.join(", ")})` : "";
    return `[${bid}] ${role} ${name}${list}`;
  });
  return [title, ...lines].join("\n");
}

function goalsOn(index: number): Goal[] {
  const shop = shopPage(index);
  const page = toText(shop);
  const bid = (name: string): string => shop.elements.find((one) => one.name === name)?.bid ?? "";
  const query = queries[index] ?? "";
  const fill: Goal = {
    page,
    text: `search for ${query}`,
    action: `fill(bid="${bid("Search")}", value="${query}")`,
  };
  const clicks = [
    { text: "open the cart", name: "Cart" },
    { text: "put it into the cart", name: "Add to cart" },
  ].map(({ text, name }): Goal => ({ page, text, action: `click(bid="${bid(name)}")` }));
  const choices = sizes.map(
    (size): Goal => ({
      page,
      text: `take size ${size}`,
      action: `select_option(bid="${bid("Size")}", options="${size}")`,
    }),
  );
  const back: Goal = { page, text: "return to the page before", action: "go_back()" };
  return [fill, ...clicks, ...choices, back];
}

/** The elements of a page as its text shows them. */
export function readElements(page: string): Element[] {
  const pattern = /^\[(\d+)\] (button|link|textbox|combobox) ([^\n(]+?)(?: \(([^)\n]*)\))?$/gm;
  return [...page.matchAll(pattern)].map(([, bid = "", role, name = "", options]) => ({
    bid,
    role: role as Element["role"],
    name,
    ...(options !== undefined && { options: options.split(", ") }),
  }));
}

const actions =
  'click(bid), fill(bid, value), select_option(bid, options), go_back(). Example: click(bid="7")';

/** The prompt of a goal: the page, the actions, and what to do. */
export const toPrompt = ({ page, text }: Pick<Goal, "page" | "text">): string =>
  `${page}\n\nActions: ${actions}\nGoal: ${text}\nAnswer with one action.`;

/** The page and the goal in a prompt. */
export function readPrompt(prompt: string): { page: string; text: string } {
  const [page = "", rest = ""] = prompt.split("\n\nActions: ");
  return { page, text: /\nGoal: (.*)\nAnswer with one action\.$/.exec(rest)?.[1] ?? "" };
}

/** 28 goals on four pages to train on. */
export const trainGoals: readonly Goal[] = [0, 1, 2, 3].flatMap(goalsOn);

/** 14 goals on two other pages that only validation may use. */
export const heldOutGoals: readonly Goal[] = [4, 5].flatMap(goalsOn);
