import { z } from "zod";
import { PythonError } from "../errors.js";

const maxFrameBytes = 256 * 1024 * 1024;

const errorSchema = z.object({
  type: z.string(),
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
  traceback: z.string(),
});
const id = z.number().int();
const messageSchema = z.union([
  z.object({ id, event: z.record(z.string(), z.unknown()) }),
  z.object({ id, error: errorSchema }),
  z.object({ id, result: z.unknown() }),
]);

/** An exception in a job, as Python describes it. */
export type JobFailure = z.infer<typeof errorSchema>;
/** What Python sends about a job: any number of events, then a result or an error. */
export type ControlMessage = z.infer<typeof messageSchema>;

/**
 * A function that takes chunks of a byte stream and gives the messages that they complete.
 * A frame is a u32 little-endian byte count and that much UTF-8 JSON. Throws PythonError "bad-message".
 */
export function createMessageReader(): (chunk: Buffer) => ControlMessage[] {
  let chunks: Buffer[] = [];
  let size = 0;
  let wanted = 4;
  return (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
    const messages: ControlMessage[] = [];
    // Joined only when something is complete: a large frame comes in many chunks.
    while (size >= wanted) {
      const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const end = 4 + frameLength(all);
      if (size >= end) messages.push(parse(all.subarray(4, end)));
      const rest = size >= end ? all.subarray(end) : all;
      chunks = [rest];
      size = rest.length;
      wanted = size >= 4 ? 4 + frameLength(rest) : 4;
    }
    return messages;
  };
}

/** `params` as JSON for Python: undefined is null; a number that isn't finite throws PythonError "not-finite". */
export function toRequest(jobId: number, method: string, params: object): string {
  return JSON.stringify({ id: jobId, method, params }, (key, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new PythonError(`"${key}" for the job "${method}" is ${value}`, {
        code: "not-finite",
        hint: "give a finite number, or null",
      });
    }
    return value === undefined ? null : value;
  });
}

function frameLength(frame: Buffer): number {
  const length = frame.readUInt32LE(0);
  if (length <= maxFrameBytes) return length;
  throw badMessage(`a frame of ${length} bytes, over the limit of ${maxFrameBytes}`);
}

function parse(body: Buffer): ControlMessage {
  try {
    return messageSchema.parse(JSON.parse(body.toString("utf8")));
  } catch (error) {
    throw badMessage(body.subarray(0, 200).toString("utf8"), error);
  }
}

function badMessage(what: string, cause?: unknown): PythonError {
  return new PythonError(`the Python side sent something that is not a message: ${what}`, {
    code: "bad-message",
    hint: "this is a defect in genenv; please report it",
    cause,
  });
}
