/** A thread that checks hooks' types once, and is thrown away. */
import { parentPort, workerData } from "node:worker_threads";
import { typeProblem } from "./type-problem.js";

const { files, projectDir } = workerData as { files: string[]; projectDir: string };
parentPort?.postMessage(typeProblem(files, projectDir));
