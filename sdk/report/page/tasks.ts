import { field, h, show } from "./dom.js";
import { outcomeOf, type TaskRow } from "./rows.js";
import { openTask } from "./task-dialog.js";

const pageSize = 50;
const shownChars = 160;

interface Column {
  head: string;
  /** Left out on a narrow screen. */
  minor?: boolean;
  number?: boolean;
  value(row: TaskRow): string | number | null;
}

const columns: Column[] = [
  { head: "Epoch", number: true, value: (row) => row.epoch },
  { head: "Task", value: (row) => row.prompt ?? row.answer },
  { head: "p̂", number: true, value: (row) => row.successRate },
  { head: "R", number: true, minor: true, value: (row) => row.reward },
  { head: "Outcome", value: outcomeOf },
  { head: "Reason", minor: true, value: (row) => row.reason },
];

interface View {
  text: string;
  run: string;
  outcome: string;
  epoch: string;
  sortBy: number;
  descending: boolean;
  page: number;
}

/** The browsable table of everything in the ledgers. */
export function taskBrowser(rows: readonly TaskRow[]): HTMLElement {
  const runs = [...new Set(rows.map((row) => row.run.name))];
  const all = runs.length > 1 ? [runColumn, ...columns] : columns;
  const view: View = {
    text: "",
    run: "",
    outcome: "",
    epoch: "",
    sortBy: all.findIndex(({ head }) => head === "Epoch"),
    descending: true,
    page: 0,
  };
  const count = h("p", { role: "status", class: "count" });
  const body = h("tbody");
  const heads = h("tr");
  const pager = h("div", { class: "pager" });
  const update = (): void => {
    const found = sorted(matching(rows, view), all, view);
    const pages = Math.max(1, Math.ceil(found.length / pageSize));
    view.page = Math.min(view.page, pages - 1);
    const from = view.page * pageSize;
    const shown = found.slice(from, from + pageSize);
    count.textContent = `${show(found.length)} of ${show(rows.length)}, showing ${
      found.length === 0 ? "none" : `${show(from + 1)} to ${show(from + shown.length)}`
    }`;
    heads.replaceChildren(...all.map((column, place) => headOf(column, place, view, update)));
    body.replaceChildren(...shown.map((row) => lineOf(row, all, found)));
    pager.replaceChildren(...pagerOf(view, pages, update));
  };
  const changed = (): void => {
    view.page = 0;
    update();
  };
  const table = h(
    "table",
    { class: "tasks" },
    h("caption", { class: "hidden" }, "Tasks and rejected answers"),
    h("thead", {}, heads),
    body,
  );
  update();
  return h(
    "div",
    {},
    h("div", { class: "filters" }, ...filtersOf(rows, runs, view, changed)),
    count,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of tasks" },
      table,
    ),
    pager,
  );
}

const runColumn: Column = { head: "Run", value: (row) => row.run.name };

function filtersOf(
  rows: readonly TaskRow[],
  runs: string[],
  view: View,
  changed: () => void,
): HTMLElement[] {
  const search = h("input", { type: "search", placeholder: "in task, answer, reason or id" });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      view.text = search.value.toLowerCase();
      changed();
    }, 120);
  });
  const epochs = [...new Set(rows.map((row) => row.epoch))].sort((a, b) => a - b).map(String);
  const outcomes = [...new Set(rows.map(outcomeOf))];
  const choices: [label: string, key: "run" | "outcome" | "epoch", values: string[]][] = [
    ["Outcome", "outcome", outcomes],
    ["Epoch", "epoch", epochs],
  ];
  if (runs.length > 1) choices.unshift(["Run", "run", runs]);
  return [
    field("Find", search, true),
    ...choices.map(([label, key, values]) => {
      const select = h(
        "select",
        {
          change: () => {
            view[key] = select.value;
            changed();
          },
        },
        h("option", { value: "" }, "all"),
        ...values.map((value) => h("option", { value }, value)),
      );
      return field(label, select);
    }),
  ];
}

function matching(rows: readonly TaskRow[], view: View): TaskRow[] {
  const holds = (text: string | null): boolean => text?.toLowerCase().includes(view.text) ?? false;
  return rows.filter(
    (row) =>
      (view.run === "" || row.run.name === view.run) &&
      (view.outcome === "" || outcomeOf(row) === view.outcome) &&
      (view.epoch === "" || String(row.epoch) === view.epoch) &&
      (view.text === "" ||
        holds(row.prompt) ||
        holds(row.answer) ||
        holds(row.reason) ||
        holds(row.id) ||
        holds(row.parent)),
  );
}

/** Sorted by a column; rows without a value there come last either way. */
function sorted(rows: TaskRow[], all: Column[], view: View): TaskRow[] {
  const column = all[view.sortBy];
  if (!column) return rows;
  const sign = view.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: column.value(row) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.row.place - b.row.place;
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    return a.key < b.key ? -sign : sign;
  });
  return keyed.map(({ row }) => row);
}

function headOf(column: Column, place: number, view: View, update: () => void): HTMLElement {
  const isSorted = view.sortBy === place;
  const order = view.descending ? "descending" : "ascending";
  const mark = isSorted ? (view.descending ? " ▾" : " ▴") : "";
  const button = h(
    "button",
    {
      type: "button",
      click: () => {
        view.descending = isSorted ? !view.descending : column.number === true;
        view.sortBy = place;
        view.page = 0;
        update();
        document.querySelector<HTMLElement>(`[data-head="${place}"]`)?.focus();
      },
      "data-head": place,
    },
    column.head,
    h("span", { "aria-hidden": "true" }, mark),
  );
  const attributes = { scope: "col", "aria-sort": isSorted ? order : "none" };
  return h("th", { ...attributes, class: classOf(column) }, button);
}

function lineOf(row: TaskRow, all: Column[], found: TaskRow[]): HTMLElement {
  const cells = all.map((column) => {
    const value = column.value(row);
    if (column.head === "Task") return h("td", { class: "task" }, opener(row, found));
    if (column.head === "Outcome") {
      const outcome = outcomeOf(row);
      return h("td", {}, h("span", { class: `badge ${outcome.replace(" ", "-")}` }, outcome));
    }
    const text = typeof value === "string" ? cut(value) : show(value);
    return h("td", { class: classOf(column) }, text);
  });
  return h("tr", {}, ...cells);
}

function opener(row: TaskRow, found: TaskRow[]): HTMLElement {
  const text = cut(row.prompt ?? row.answer ?? "").trim() || "(empty)";
  return h("button", { type: "button", class: "link", click: () => openTask(row, found) }, text);
}

const cut = (text: string): string =>
  text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;

const classOf = ({ minor, number }: Column): string =>
  [minor ? "minor" : "", number ? "number" : ""].join(" ").trim();

function pagerOf(view: View, pages: number, update: () => void): HTMLElement[] {
  const to = (label: string, name: string, page: number): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        "aria-label": name,
        disabled: page < 0 || page >= pages || page === view.page,
        "data-page": name,
        click: () => {
          view.page = page;
          update();
          document.querySelector<HTMLElement>(`[data-page="${name}"]`)?.focus();
        },
      },
      label,
    );
  return [
    to("«", "first page", 0),
    to("‹", "previous page", view.page - 1),
    h("span", {}, `page ${show(view.page + 1)} of ${show(pages)}`),
    to("›", "next page", view.page + 1),
    to("»", "last page", pages - 1),
  ];
}
