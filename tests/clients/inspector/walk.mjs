// Drives `milepost mcp` with the command line of the MCP Inspector, one call at a time, in both
// eras. It needs a newer Node than the SDKs.
// MILEPOST_BINARY names the program, MILEPOST_CLIENTS the folder of the clients.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const { env, home, workflow } = await import(
  pathToFileURL(`${process.env.MILEPOST_CLIENTS}/common.mjs`)
);
const run = promisify(execFile);
const INSPECTOR = join(
  process.cwd(),
  'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

/** One call: what the Inspector prints, and its exit code. */
async function inspected(era, ...args) {
  const settings = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  // What takes several values comes first: it would take the target too.
  const how = [...args, '--protocol-era', era, '--format', 'json', '--quiet', ...settings];
  const target = [process.env.MILEPOST_BINARY, 'mcp'];
  const options = { cwd: home, env: { ...process.env, HOME: home }, timeout: 60_000 };
  try {
    const done = await run(process.execPath, [INSPECTOR, '--cli', ...how, ...target], options);
    return { code: 0, said: JSON.parse(done.stdout).result };
  } catch (error) {
    if (error.code === undefined) throw error;
    return { code: error.code, said: error.stdout && JSON.parse(error.stdout).result, error };
  }
}

async function walk(era) {
  const ask = (...args) => inspected(era, '--method', ...args);
  const call = (name, args) =>
    ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
  // `--strict` fails on a schema that some client cannot read.
  const listed = await ask('tools/list', '--strict');
  assert.equal(listed.code, 0, listed.error?.stderr);
  assert.ok(listed.said.tools.length > 20);

  const happy = await call('workflow_validate', { manifest: workflow('quick') });
  assert.equal(happy.said.structuredContent.valid, true);
  const unhappy = await call('workflow_get', { workflow_id: 'no-such' });
  assert.equal(unhappy.said.isError, true);
  assert.notEqual(unhappy.code, 0);
  assert.equal(unhappy.said.structuredContent.error_code, 'WORKFLOW_NOT_FOUND');

  const read = await ask('resources/read', '--uri', 'milepost://workflow/schema');
  assert.equal(JSON.parse(read.said.contents[0].text).type, 'object');
  const goal = 'find orders that nobody paid';
  const named = ['--prompt-name', 'workflow.author', '--prompt-args', `goal=${goal}`];
  const prompt = await ask('prompts/get', ...named);
  assert.ok(prompt.said.messages[0].content.text.includes(goal));

  // The Inspector follows a task to its end by itself.
  for (const tool of ['workflow_execute', 'workflow_run']) {
    const ended = await call(tool, { manifest: workflow('quick') });
    assert.equal(ended.code, 0, ended.error?.stderr);
    assert.deepEqual(ended.said.structuredContent.final_output, { b: 1 });
  }
  const failed = await call('workflow_execute', { manifest: workflow('fails') });
  assert.notEqual(failed.code, 0);
  assert.match(failed.error.stdout + failed.error.stderr, /no luck/);
  return listed.said.tools.length;
}

const counts = await Promise.all(['legacy', 'modern'].map(walk));
assert.equal(counts[0], counts[1]);
console.log(`inspector in both eras: ${counts[0]} tools, 6 tasks`);
