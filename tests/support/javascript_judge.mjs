// acorn as a judge of texts: reads a length in bytes and a text, answers with one line of JSON.
import { readSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Parser } = await import(pathToFileURL(process.argv[2]).href);
const EARLY = new RegExp(process.argv[3]);

function judging(seen) {
  return class extends Parser {
    raise(position, message) {
      if (EARLY.test(message)) seen.push(message);
      else super.raise(position, message);
    }
    raiseRecoverable(position, message) {
      this.raise(position, message);
    }
  };
}

function judge(text) {
  const refusals = [];
  for (const sourceType of ["module", "script"]) {
    const seen = [];
    try {
      judging(seen).parse(text, {
        ecmaVersion: 2023,
        sourceType,
        checkPrivateFields: false,
        allowHashBang: true,
      });
      if (!seen.length) return "";
      refusals.push([null, seen[0]]);
    } catch (error) {
      refusals.push([String(error.message), ""]);
    }
  }
  return refusals.some(([said]) => said === null) ? null : refusals[0][0];
}

function read(size) {
  const bytes = Buffer.alloc(size);
  let have = 0;
  while (have < size) {
    const more = readSync(0, bytes, have, size - have);
    if (more === 0) process.exit(0);
    have += more;
  }
  return bytes;
}

for (;;) {
  const text = read(read(4).readUInt32BE()).toString("utf8");
  writeSync(1, JSON.stringify(judge(text)) + "\n");
}
