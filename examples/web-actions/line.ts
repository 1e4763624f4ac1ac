import type { RunEvent } from "genenv";

/** The line to print for an event; null for none. */
export function toLine(event: RunEvent): string | null {
  if (event.type === "task" && event.kept) {
    return `epoch ${event.epoch}: kept a task that is solved in ${event.successRate} of the tries`;
  }
  if (event.type !== "metrics") return null;
  const numbers = Object.entries(event.values).filter(([name]) => /_(mean|rate)$/.test(name));
  const shown = numbers.map(([name, value]) => `${name} ${value.toFixed(3)}`).join(", ");
  return `epoch ${event.epoch}: ${shown}`;
}
