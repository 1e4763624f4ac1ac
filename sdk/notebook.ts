/** "genenv/notebook": tables, plots and a live run as HTML, for the cells of a notebook (docs/notebooks.md). */
export { type Stoppable, stopOnInterrupt } from "./notebook/interrupt.js";
export {
  type CurvesOptions,
  curves,
  type HistogramOptions,
  histogram,
  type Series,
} from "./notebook/plots.js";
export { type TableOptions, table } from "./notebook/table.js";
export { type Display, watch } from "./notebook/watch.js";
