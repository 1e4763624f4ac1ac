import { expect, test } from "vitest";
import { RequestCell, RequestMemories, RowState } from "../../bridge/hooks/shared-memory.js";

test("a request's memory is used again, and looks new", () => {
  const memories = new RequestMemories();
  const first = memories.take(100);
  first.states.fill(RowState.PLAIN);
  first.cells[RequestCell.CANCELLED] = 1;
  memories.giveBack(first);
  const second = memories.take(110);
  expect(second.buffer).toBe(first.buffer);
  expect(second.values).toHaveLength(110);
  expect([...second.states]).toEqual(Array(110).fill(RowState.WAITING));
  expect([...second.cells]).toEqual([0, 0]);
  // Nobody has given this one back.
  expect(memories.take(100).buffer).not.toBe(first.buffer);
});

test("a memory that is too small waits for a smaller request", () => {
  const memories = new RequestMemories();
  const small = memories.take(10);
  memories.giveBack(small);
  expect(memories.take(1000).buffer).not.toBe(small.buffer);
  expect(memories.take(3).buffer).toBe(small.buffer);
});

test("only a few are kept", () => {
  const memories = new RequestMemories();
  const given = Array.from({ length: 20 }, () => memories.take(10));
  for (const memory of given) memories.giveBack(memory);
  const again = Array.from({ length: 20 }, () => memories.take(10));
  const reused = again.filter(({ buffer }) => given.some((memory) => memory.buffer === buffer));
  expect(reused).toHaveLength(8);
});
