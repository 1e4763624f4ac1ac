import { makeData } from "./dataset.js";

await makeData(process.argv[2] ?? "examples/math/data");
