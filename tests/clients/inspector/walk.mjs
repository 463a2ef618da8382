// Drives `milepost mcp` with the command line of the MCP Inspector, one call at a time, in both
// eras. It needs a newer Node than the SDKs.
// MILEPOST_BINARY names the program, MILEPOST_CLIENTS the folder of the clients.
// MILEPOST_TRANSPORT=http lets `milepost serve` answer, over HTTP.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const { env, home, overHttp, served, via, workflow } = await import(
  pathToFileURL(`${process.env.MILEPOST_CLIENTS}/common.mjs`)
);
const run = promisify(execFile);
const INSPECTOR = join(
  process.cwd(),
  'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

/** One server for all calls, where it is not the Inspector that starts one for each. */
const shared = overHttp ? await served() : undefined;

/** What the Inspector is told of the server: options, and the target itself. */
function target() {
  if (shared === undefined) {
    const settings = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    return [settings, [process.env.MILEPOST_BINARY, 'mcp']];
  }
  const headers = Object.entries(shared.headers).flatMap(([name, value]) => [
    '--header',
    `${name}: ${value}`,
  ]);
  // A token that is refused is a failure, and no reason to open a browser.
  return [[...headers, '--stored-auth-only'], [shared.url]];
}

/** One call: what the Inspector prints, and its exit code. */
async function inspected(era, ...args) {
  const [settings, server] = target();
  // What takes several values comes first: it would take the target too.
  const how = [...args, ...settings, '--protocol-era', era, '--format', 'json', '--quiet'];
  const options = { cwd: home, env: { ...process.env, HOME: home }, timeout: 60_000 };
  try {
    const done = await run(process.execPath, [INSPECTOR, '--cli', ...how, ...server], options);
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
await shared?.stop();
console.log(`inspector in both eras over ${via}: ${counts[0]} tools, 6 tasks`);
