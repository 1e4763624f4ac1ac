import type { ReportRollout } from "../data.js";
import { h, show } from "./dom.js";
import { outcomeOf, rowsOf, type TaskRow } from "./rows.js";
import { rolloutsOf } from "./unpack.js";

/** Shows one task in a dialog: what was asked, who wrote it, every response with its score. */
export function openTask(row: TaskRow, list: readonly TaskRow[]): void {
  const body = h("div", { class: "detail" });
  const title = h("h2", { id: "task-title" });
  const dialog = h(
    "dialog",
    { "aria-labelledby": "task-title", close: () => dialog.remove() },
    body,
  );
  const go = async (to: TaskRow): Promise<void> => {
    const place = list.indexOf(to);
    const near = (by: number): TaskRow | undefined => (place < 0 ? undefined : list[place + by]);
    const step = (label: string, by: number): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          disabled: near(by) === undefined,
          click: () => {
            const next = near(by);
            if (next) void go(next);
          },
        },
        label,
      );
    title.textContent = to.id ?? `rejected answer ${to.parent ?? ""}`;
    body.replaceChildren(
      h(
        "header",
        {},
        title,
        h(
          "div",
          { class: "steps" },
          step("Previous", -1),
          step("Next", 1),
          h("button", { type: "button", click: () => dialog.close() }, "Close"),
        ),
      ),
      facts(to),
      ...(await parts(to, (next) => void go(next))),
    );
    dialog.scrollTop = 0;
  };
  document.body.append(dialog);
  void go(row).then(() => {
    dialog.showModal();
    title.tabIndex = -1;
    title.focus();
  });
}

function facts(row: TaskRow): HTMLElement {
  const entries: [string, string][] = [
    ["Run", row.run.name],
    ["Epoch", show(row.epoch)],
    ["Outcome", [...new Set([outcomeOf(row), row.reason])].filter(Boolean).join(": ")],
    ["Success rate p̂", show(row.successRate)],
    ["Environment reward R", show(row.reward)],
    ["Scored", `${show(row.scored)} of ${show(row.responses)} responses`],
    ["Trained on", row.trained ? "yes" : "no"],
  ];
  return h(
    "dl",
    {},
    ...entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

async function parts(row: TaskRow, go: (row: TaskRow) => void): Promise<HTMLElement[]> {
  const { run } = row;
  const responses = await rolloutsOf(run, row.chunk, row.id ?? "");
  const answers = await rolloutsOf(
    run,
    run.answerChunks[String(row.writtenEpoch)],
    row.parent ?? "",
  );
  return [
    ...block("Task", row.prompt),
    ...block("Ground truth", row.groundTruth),
    ...(row.parent === null && row.answer === null ? [] : lineage(row, answers[0], go)),
    ...(row.id === null ? [] : responsesOf(row, responses)),
  ];
}

function block(title: string, text: string | null): HTMLElement[] {
  if (text === null) return [];
  return [h("h3", {}, title), h("pre", { tabindex: 0 }, text === "" ? "(empty)" : text)];
}

/** Where a generated task comes from: the seeds that were shown, and the answer that holds it. */
function lineage(
  row: TaskRow,
  answer: ReportRollout | undefined,
  go: (row: TaskRow) => void,
): HTMLElement[] {
  const text = row.answer ?? answer?.response ?? null;
  const known = new Map(rowsOf(row.run).map((other) => [other.id, other]));
  const seeds = row.seeds.map((id) => {
    const seed = known.get(id);
    const open = seed
      ? h("button", { type: "button", class: "link", click: () => go(seed) }, id)
      : id;
    return h("li", {}, open, seed?.prompt ? `: ${seed.prompt.slice(0, 120)}` : null);
  });
  return [
    h("h3", {}, "Lineage"),
    h("p", {}, `Answer ${row.parent ?? ""} of the environment model, epoch ${row.writtenEpoch}.`),
    ...(seeds.length > 0 ? [h("p", {}, "Its prompt showed:"), h("ul", {}, ...seeds)] : []),
    ...block("The environment's answer", text),
    ...promptOf(answer),
  ];
}

function promptOf(answer: ReportRollout | undefined): HTMLElement[] {
  if (!answer?.prompt) return [];
  const details = h("details", {}, h("summary", {}, "The environment's prompt"));
  details.append(h("pre", { tabindex: 0 }, toChatText(answer.prompt)));
  return [details];
}

/** Messages as one text, a role before each; what is no list of messages stays as it is. */
function toChatText(json: string): string {
  try {
    const messages = JSON.parse(json) as { role: string; content: string }[];
    return messages.map(({ role, content }) => `[${role}]\n${content}`).join("\n\n");
  } catch {
    // Cut off, or no JSON: shown as it is.
    return json;
  }
}

function responsesOf(row: TaskRow, responses: readonly ReportRollout[]): HTMLElement[] {
  const left = row.responses > 0 && responses.length === 0;
  return [
    h("h3", {}, "Responses"),
    ...(left
      ? [h("p", {}, "They have no room in this file: see rollouts/ in the run's folder.")]
      : []),
    ...(row.responses === 0 ? [h("p", {}, "It was not tried.")] : []),
    h("ol", { class: "responses" }, ...responses.map(responseOf)),
  ];
}

function responseOf(rollout: ReportRollout): HTMLElement {
  const metrics = Object.entries(rollout.metrics).map(([name, value]) => `${name} ${show(value)}`);
  const verdict =
    rollout.score === null
      ? [rollout.failure === null ? "abstained" : `failed: ${rollout.failure}`, rollout.reason]
          .filter(Boolean)
          .join(", ")
      : `score ${show(rollout.score)}`;
  const kind = rollout.score === null ? "none" : rollout.success ? "kept" : "dropped";
  return h(
    "li",
    {},
    h(
      "p",
      {},
      h("span", { class: `badge ${kind}` }, rollout.success ? `✓ ${verdict}` : verdict),
      h("small", {}, ` ${[...metrics, `${show(rollout.tokens)} tokens`].join(" · ")}`),
    ),
    h("pre", { tabindex: 0 }, rollout.response === "" ? "(empty)" : rollout.response),
  );
}
