#!/usr/bin/env node
import { runProgram } from "./program.js";

void runProgram(process.argv);
