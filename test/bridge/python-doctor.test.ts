import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { afterAll, expect, test } from "vitest";
import { examine, examineNode } from "../../bridge/python/doctor.js";
import { examineCpu, examineMemory, examineRayPorts } from "../../bridge/python/machine.js";
import { fakeMachine } from "./python-fakes.js";

const fake = fakeMachine();
afterAll(() => rmSync(fake.dir, { recursive: true, force: true }));

test("looks at everything that a run needs, and says how to mend what is poor", async () => {
  const findings = await examine(fake.env);
  expect(findings.map((finding) => finding.name)).toEqual([
    "Node",
    "Platform",
    "Python",
    "uv",
    "Packages",
    "CPU",
    "Memory",
    "/dev/shm",
    "Disk",
    "GPUs",
    "Ray ports",
    "Models",
  ]);
  for (const finding of findings) expect(finding.mend === null).toBe(finding.status === "ok");
  const [, , python, uv, packages] = findings;
  expect(python?.value).toContain("3.11.7 at");
  expect(uv?.value).toBe("uv 0.13.9 (fake)");
  expect(packages).toMatchObject({
    status: "warning",
    mend: "run genenv setup (the first run does it too)",
  });
});

test("says which Python is missing instead of failing", async () => {
  const findings = await examine({ ...fake.env, PYTHON: "/no/such/python" });
  expect(findings[2]).toMatchObject({
    status: "fail",
    value: "PYTHON=/no/such/python is not a Python that starts",
  });
});

test.each([
  ["20.19.0", "ok"],
  ["24.1.0", "ok"],
  ["20.18.3", "fail"],
  ["18.20.0", "fail"],
])("finds Node %s %s", (version, status) => {
  expect(examineNode(version).status).toBe(status);
});

test.each([
  ["flags\t\t: fpu avx2 avx512_bf16", 2, "ok", "2 cores, avx2 avx512_bf16"],
  ["flags\t\t: fpu avx2", 1, "warning", "1 cores, avx2"],
  ["flags\t\t: fpu sse2", 8, "fail", "8 cores, no AVX2"],
  ["", 8, "fail", "8 cores, no AVX2"],
])("judges a processor by what it can do: %j", (cpuinfo, cores, status, value) => {
  expect(examineCpu(cpuinfo, cores)).toMatchObject({ status, value });
});

test("counts the container's limit, not the machine's memory", () => {
  const limits = ["8000000000\n", ""];
  expect(examineMemory(64e9, limits)).toMatchObject({
    status: "warning",
    value: "8.0 GB (the container's limit)",
  });
  expect(examineMemory(64e9, ["max\n", "9223372036854771712"])).toMatchObject({
    status: "ok",
    value: "64.0 GB",
  });
});

test("tells of a Ray cluster that is there already", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  expect((await examineRayPorts([port])).value).toBe(`in use by others: ${port} (left alone)`);
  server.close();
  await new Promise((resolve) => server.once("close", resolve));
  expect((await examineRayPorts([port])).value).toBe("free");
});
