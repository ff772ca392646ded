// The parser of a later CPython, compiled for Node.js, as a judge.
//
// `npm install pyodide`, then `node pyodide_judge.mjs < texts.jsonl`: reads lines of JSON with a
// "text" each, and writes a line for each: empty if `ast.parse` accepts it, else why not. The
// folder with `node_modules` is the one that holds this file, or NODE_MODULES.

import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.env.NODE_MODULES ?? path.join(import.meta.dirname, "node_modules");
const module = pathToFileURL(path.join(folder, "pyodide", "pyodide.mjs"));
const { loadPyodide } = await import(module.href);
const python = await loadPyodide();
python.runPython(`
import ast, json, sys, warnings

warnings.simplefilter("ignore")

def judge(line):
    try:
        ast.parse(json.loads(line)["text"])
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return f"{type(error).__name__}: {error}".replace("\\n", " ")
    return ""
`);
console.error("CPython", python.runPython("sys.version"));
const judge = python.globals.get("judge");
for await (const line of readline.createInterface({ input: process.stdin })) {
  console.log(judge(line));
}
