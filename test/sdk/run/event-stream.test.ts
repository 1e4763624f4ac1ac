import { expect, test } from "vitest";
import { EventStream } from "../../../sdk/run/event-stream.js";
import { rejectionOf } from "../temp.js";

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test("the first iterator gets what came before it", async () => {
  const stream = new EventStream<number>();
  stream.push(1);
  stream.push(2);
  stream.end();
  expect(await all(stream)).toEqual([1, 2]);
});

test("a later iterator gets what comes from then on, and both end", async () => {
  const stream = new EventStream<number>();
  stream.push(1);
  const first = all(stream);
  const second = all(stream);
  await Promise.resolve();
  stream.push(2);
  stream.end();
  expect(await first).toEqual([1, 2]);
  expect(await second).toEqual([2]);
  expect(await all(stream)).toEqual([]);
});

test("a failure is thrown after the events before it, to those that come late too", async () => {
  const stream = new EventStream<number>();
  const error = new Error("boom");
  stream.push(1);
  stream.end({ error });
  stream.push(2);
  const seen: number[] = [];
  const read = async (): Promise<void> => {
    for await (const item of stream) seen.push(item);
  };
  expect(await rejectionOf(read())).toBe(error);
  expect(seen).toEqual([1]);
  expect(await rejectionOf(all(stream))).toBe(error);
});

test("an iterator that is left early is forgotten", async () => {
  const stream = new EventStream<number>();
  stream.push(1);
  for await (const _ of stream) break;
  stream.push(2);
  stream.end();
  expect(await all(stream)).toEqual([]);
});

test("of events that nobody has asked for, the last 10,000 are kept", async () => {
  const stream = new EventStream<number>();
  for (let i = 0; i < 10_005; i++) stream.push(i);
  stream.end();
  const items = await all(stream);
  expect(items).toHaveLength(10_000);
  expect(items.at(-1)).toBe(10_004);
});
