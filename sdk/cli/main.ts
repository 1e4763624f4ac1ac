#!/usr/bin/env node
import module from "node:module";

// From Node 22 on, compiled code is kept between starts, the type checker's too.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();
void import("./program.js").then(({ runProgram }) => runProgram(process.argv));
