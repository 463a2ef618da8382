// Validates guides with ajv, as one process: the peer that `cargo xtask bench validate` times.
// Usage: node validate.js <schema.json> <guide.json>…
"use strict";

const fs = require("node:fs");

const read = (path) => JSON.parse(fs.readFileSync(path, "utf8"));
const [schemaPath, ...guidePaths] = process.argv.slice(2);
const schema = read(schemaPath);
const is2020 = String(schema.$schema).includes("2020-12");
const Ajv = is2020 ? require("ajv/dist/2020").default : require("ajv").default;
const ajv = new Ajv({ allErrors: true, strict: false });
require("ajv-formats").default(ajv);
const validate = ajv.compile(schema);

let valid = 0;
let errors = 0;
for (const path of guidePaths) {
  if (validate(read(path))) valid += 1;
  else errors += validate.errors.length;
}
console.log(JSON.stringify({ files: guidePaths.length, valid, errors }));
