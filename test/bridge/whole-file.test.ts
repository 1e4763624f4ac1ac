import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { putInPlace, writeFileAtomic } from "../../bridge/whole-file.js";
import { tempFolder } from "../sdk/temp.js";

describe("whole files", () => {
  test("a file is written over, its folder made, and no part is left", () => {
    const folder = tempFolder();
    const file = join(folder, "new", "a.txt");
    writeFileAtomic(file, "one");
    writeFileAtomic(file, "two");
    expect(readFileSync(file, "utf8")).toBe("two");
    expect(readdirSync(join(folder, "new"))).toEqual(["a.txt"]);
  });

  test("where the part isn't there, the old file stays", () => {
    const folder = tempFolder({ "a.txt": "old" });
    expect(() => putInPlace(join(folder, "none.part"), join(folder, "a.txt"))).toThrow("ENOENT");
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("old");
  });

  test("a finished part takes the file's name", () => {
    const folder = tempFolder({ "a.txt": "old" });
    writeFileSync(join(folder, "a.part"), "new");
    putInPlace(join(folder, "a.part"), join(folder, "a.txt"));
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("new");
    expect(readdirSync(folder)).toEqual(["a.txt"]);
  });
});
