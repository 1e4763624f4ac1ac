import type { z } from "zod";
import type { Message } from "../../bridge/hooks/types.js";

/** A row to write: a task with what veRL stores beside it. */
export interface DatasetRow<GroundTruth = unknown> {
  prompt: string | Message[];
  /** A text, a number, or lists and objects of them; of one type in all rows. */
  groundTruth: GroundTruth;
  /** Default: the dataset's. */
  dataSource?: string;
  ability?: string;
  /** Becomes `extra_info`, with the row's `index` added where it has none. */
  extra?: Record<string, unknown>;
}

/** Rows that are made as they are asked for, so that a large dataset never lies in memory. */
export type DatasetRows = Iterable<DatasetRow> | AsyncIterable<DatasetRow>;

export interface Dataset {
  name: string;
  ability: string;
  /** What each ground truth has to be when the rows are written; null: anything. */
  groundTruth: z.core.$ZodType | null;
  rows: DatasetRows;
}

/**
 * A dataset: its name (veRL's `data_source`), and a task made of each item, in order, when the rows are asked for.
 * With `groundTruth`, a reward's own schema, a row that the reward would refuse doesn't type-check, and isn't written.
 */
export function defineDataset<Item, Schema extends z.core.$ZodType = z.core.$ZodType>(definition: {
  name: string;
  ability?: string;
  groundTruth?: Schema;
  items: Iterable<Item> | AsyncIterable<Item>;
  toRow(item: Item, index: number): DatasetRow<z.input<Schema>>;
}): Dataset {
  const { name, ability = "text", items, groundTruth = null } = definition;
  const toRow = (item: Item, index: number): DatasetRow => definition.toRow(item, index);
  const rows = isAsync(items) ? mapAsync(items, toRow) : map(items, toRow);
  return { name, ability, groundTruth, rows };
}

const isAsync = <T>(items: Iterable<T> | AsyncIterable<T>): items is AsyncIterable<T> =>
  Symbol.asyncIterator in items;

function map<A, B>(items: Iterable<A>, convert: (item: A, index: number) => B): Iterable<B> {
  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const item of items) yield convert(item, index++);
    },
  };
}

function mapAsync<A, B>(
  items: AsyncIterable<A>,
  convert: (item: A, index: number) => B,
): AsyncIterable<B> {
  return {
    async *[Symbol.asyncIterator]() {
      let index = 0;
      for await (const item of items) yield convert(item, index++);
    },
  };
}
