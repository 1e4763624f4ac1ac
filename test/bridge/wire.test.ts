import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import { readRowCount, readTextBatch } from "../../bridge/arrow-read.js";
import { writeBatch } from "../../bridge/arrow-write.js";
import { type Frame, FrameReader } from "../../bridge/frame-reader.js";
import { toWireJson } from "../../bridge/hooks/json.js";
import { seededRandom } from "../../bridge/hooks/random.js";
import { SharedBuffers } from "../../bridge/shared-buffers.js";
import { encodeHeader, Kind, MAX_PAYLOAD_BYTES, Op } from "../../bridge/wire.js";
import { fixtures, payloadOf } from "./hook-plane.js";
import { fuzzRequests } from "./wire-fuzz.js";

const load = (name: string): Buffer => readFileSync(join(fixtures, "wire", `${name}.bin`));
const manifest = JSON.parse(readFileSync(join(fixtures, "wire", "manifest.json"), "utf8"));

function readFrames(chunks: Buffer[], maxPayloadBytes = MAX_PAYLOAD_BYTES): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(maxPayloadBytes, new SharedBuffers(0));
  for (const chunk of chunks) reader.push(chunk, (frame) => frames.push(frame));
  reader.end();
  return frames;
}

function onlyFrame(bytes: Buffer): Frame {
  return readFrames([bytes])[0] as Frame;
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new SharedBuffers(0).take(bytes.length);
  copy.set(bytes);
  return copy;
}

test.each(Object.keys(manifest.good))("reads the good frame %s", (name) => {
  const { header, payload } = onlyFrame(load(name));
  const expected = manifest.good[name];
  expect([header.op, header.kind, header.attempt]).toEqual([
    expected.op,
    expected.kind,
    expected.attempt,
  ]);
  expect(payload.byteLength).toBe(expected.bytes);
  expect(encodeHeader(header)).toEqual(load(name).subarray(0, 20));
});

test.each(Object.keys(manifest.bad))("refuses the bad frame %s and says why", (name) => {
  expect(() => readFrames([load(name)])).toThrow(manifest.bad[name]);
});

test("reads frames however the stream is cut", () => {
  const stream = Buffer.concat([load("describe"), load("score"), load("hello"), load("describe")]);
  for (const size of [1, 7, 19, 20, 21, 1000]) {
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
      stream.subarray(i * size, (i + 1) * size),
    );
    expect(readFrames(chunks).map((frame) => frame.header.op)).toEqual([
      Op.DESCRIBE,
      Op.SCORE,
      Op.HELLO,
      Op.DESCRIBE,
    ]);
  }
});

test("refuses a stream that ends inside a frame", () => {
  expect(() => readFrames([load("score").subarray(0, 500)])).toThrow("cut short");
  expect(() => readFrames([load("score").subarray(0, 5)])).toThrow("cut short");
});

test("refuses a payload over the limit before any of it is read", () => {
  expect(() => readFrames([load("score")], 1000)).toThrow(
    "announces 3880 bytes, and the limit is 1000",
  );
});

test("reads the request that Python wrote", () => {
  const { rows, columns } = readTextBatch(onlyFrame(load("score")).payload);
  expect(rows).toBe(6);
  const read = Object.fromEntries(
    [...columns].map(([name, column]) => [
      name,
      Array.from({ length: rows }, (_, row) => column.get(row)),
    ]),
  );
  expect(read).toEqual(manifest.scoreColumns);
});

test("reads the replies of the fixtures as Python does", () => {
  const rowsOf = (name: string): unknown[] =>
    tableFromIPC(new Uint8Array(onlyFrame(load(name)).payload))
      .toArray()
      .map((row) => row.toJSON());
  expect(rowsOf("score-reply")).toEqual(manifest.resultRows);
  expect(rowsOf("json-reply")).toEqual(manifest.jsonRows);
});

describe("the strict Arrow reader", () => {
  test("reads a batch without rows", () => {
    expect(readTextBatch(shared(payloadOf({ response: [] }))).rows).toBe(0);
  });

  test("refuses columns of another type", () => {
    const payload = writeBatch([{ name: "value", type: "float64", values: [1] }]);
    expect(() => readTextBatch(shared(payload))).toThrow(
      'column "value" of Arrow type 3, not utf8',
    );
  });

  test("refuses what is no Arrow data", () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from("plain text, nothing else"),
      Buffer.alloc(64),
    ]) {
      expect(() => readTextBatch(shared(bytes))).toThrow(/holds (no|broken) Arrow/);
    }
  });
});

test("every text of Unicode survives, and a lone surrogate becomes U+FFFD", () => {
  const random = seededRandom("texts");
  const texts = Array.from({ length: 500 }, () => randomText(random));
  texts.push("", "\0", "אבג 😀", "x".repeat(1 << 20), "\ud800", "a\udc00b");
  const { columns } = readTextBatch(shared(payloadOf({ response: texts })));
  const expected = texts.map((text) => text.replace(/\p{Surrogate}/gu, "\ufffd"));
  expect(texts.map((_, row) => columns.get("response")?.get(row))).toEqual(expected);
  expect(JSON.parse(toWireJson(texts))).toEqual(expected);
});

function randomText(random: () => number): string {
  const units = Array.from({ length: Math.floor(random() * 20) }, () => {
    const plane = [0x80, 0x800, 0xd7ff, 0xffff][Math.floor(random() * 4)] as number;
    return random() < 0.2 ? 0xd800 + Math.floor(random() * 0x800) : Math.floor(random() * plane);
  });
  return String.fromCharCode(...units);
}

test("JSON for the wire refuses what JSON can't hold", () => {
  expect(() => toWireJson({ weight: Number.NaN })).toThrow(
    '"weight" is NaN, which JSON can\'t hold',
  );
  expect(() => toWireJson({ size: 10n })).toThrow('"size" is 10');
  expect(() => toWireJson(undefined)).toThrow("undefined");
  expect(toWireJson({ "\ud800": "\\ud800" })).toBe('{"\ufffd":"\\\\ud800"}');
});

test("mutated requests are read or refused, and nothing else", () => {
  const good = ["hello", "describe", "score", "score-reply"].map(load);
  // `npm run fuzz` asks for a million, another seed each time.
  const frames = Number(process.env.GENENV_FUZZ_FRAMES ?? 20_000);
  const refused = fuzzRequests(good, frames, process.env.GENENV_FUZZ_SEED ?? "1");
  expect(refused).toBeGreaterThan(frames / 4);
}, 1_800_000);

test("a batch's rows are counted without decoding it, and never more than it has room for", () => {
  expect(readRowCount(shared(payloadOf({ response: ["a", "b", "c"] })))).toBe(3);
  expect(readRowCount(shared(payloadOf({ response: [] })))).toBe(0);
  expect(() => readRowCount(shared(Buffer.from("no batch")))).toThrow("a frame holds no Arrow");
  // The batch's length is the first of the places that hold its three rows as 64 bits.
  const lying = Buffer.from(payloadOf({ response: ["a", "b", "c"] }));
  const three = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0]);
  const refusals: string[] = [];
  for (let at = lying.indexOf(three); at >= 0; at = lying.indexOf(three, at + 1)) {
    const changed = Buffer.from(lying);
    changed.writeUInt32LE(1 << 20, at);
    try {
      readRowCount(shared(changed));
    } catch (error) {
      refusals.push((error as Error).message);
    }
  }
  expect(refusals).toContainEqual(expect.stringMatching(/^a frame has 1048576 rows in \d+ bytes/));
});

test("short columns come through as they are, ASCII or not, with their nulls", () => {
  for (const values of [
    ["t-1", "", null, "t-22"],
    ["ü", "t-1", null, "🙂"],
    ["x".repeat(500), "y", null, ""],
  ]) {
    const column = readTextBatch(shared(payloadOf({ task_id: values }))).columns.get("task_id");
    expect(values.map((_, row) => column?.get(row))).toEqual(values);
  }
});

test("a reply's header carries its kind", () => {
  const header = { op: Op.SCORE, kind: Kind.REPLY_F64, attempt: 0, id: 2n ** 64n - 1n, length: 0 };
  expect(onlyFrame(encodeHeader(header)).header).toEqual(header);
});

test("shared memory is used again, up to a bound", () => {
  const buffers = new SharedBuffers(1 << 20);
  const first = buffers.take(5000);
  expect([first.length, first.buffer.byteLength]).toEqual([5000, 8192]);
  buffers.give(first);
  expect(buffers.take(8000).buffer).toBe(first.buffer);
  expect(buffers.take(8000).buffer).not.toBe(first.buffer);
  const large = buffers.take(2 << 20);
  buffers.give(large);
  expect(buffers.take(2 << 20).buffer).not.toBe(large.buffer);
  expect(buffers.take(0).length).toBe(0);
});
