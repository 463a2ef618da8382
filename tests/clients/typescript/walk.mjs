// Drives `milepost mcp --surface workflowlookup` with the TypeScript SDK, as a real client does.
// MILEPOST_BINARY names the program. Ends with an error at the first surprise.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';

const TOOLS = [
  'workflow_get',
  'workflow_list',
  'workflow_next',
  'workflow_validate',
  'workflow_validate_json',
];
const GUIDE = 'code-review';
const CONTEXT = {
  purpose: '',
  files: [
    { path: 'a.rs', kind: 'code', risk: 'high' },
    { path: 'b.rs', kind: 'generated', risk: 'low' },
  ],
  reviewPasses: 2,
  testsPass: true,
  scope: 'small',
  risk: 'low',
};
const KEYS = [
  'triage',
  'ask-purpose',
  'run-it',
  'each-file@0::read-file',
  'each-file@0::follow-callers',
  'look-again@0::lens',
  'look-again@1::lens',
  'sift',
  'verdict',
];

const home = mkdtempSync(join(tmpdir(), 'milepost-'));
process.on('exit', () => rmSync(home, { recursive: true }));
const transport = new StdioClientTransport({
  command: process.env.MILEPOST_BINARY,
  args: ['mcp', '--surface', 'workflowlookup'],
  env: { HOME: home },
});
let negotiated;
transport.setProtocolVersion = (version) => {
  negotiated = version;
};

const client = new Client({ name: 'milepost-client-test', version: '1.0.0' });
client.onerror = (error) => {
  console.error('the SDK complains:', error);
  process.exit(1);
};
// The SDK warns of schemas it does not fully understand; ours must not make it.
console.warn = (...words) => client.onerror(new Error(words.join(' ')));
setTimeout(() => client.onerror(new Error('nothing happens any more')), 60_000).unref();

/** Calls a tool that succeeds; its two forms of the result must be the same. */
async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.notEqual(result.isError, true, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** Calls a tool that fails by its own rules; returns the error. */
async function failure(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.content[0].type, 'text');
  return result.structuredContent;
}

async function walk() {
  const completedSteps = [];
  for (;;) {
    const next = await call('workflow_next', {
      workflowId: GUIDE,
      completedSteps,
      context: CONTEXT,
    });
    if (next.isComplete) {
      assert.equal(next.step, null);
      return completedSteps;
    }
    assert.ok(next.step && next.guidance.prompt, JSON.stringify(next));
    assert.ok(!completedSteps.includes(next.completedStep), next.completedStep);
    completedSteps.push(next.completedStep);
  }
}

await client.connect(transport);
assert.equal(negotiated, LATEST_PROTOCOL_VERSION);
assert.equal(client.getServerVersion().name, 'workflowlookup');

// From here on the SDK checks every result against the schema that the tool has announced.
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
assert.ok(tools.every((tool) => tool.outputSchema && tool.description));

const list = await call('workflow_list', {});
assert.ok(list.workflows.some((workflow) => workflow.id === GUIDE));
assert.equal((await call('workflow_get', { id: GUIDE })).firstStep.id, 'triage');
assert.equal((await call('workflow_get', { id: GUIDE, mode: 'metadata' })).firstStep, undefined);
assert.deepEqual(await walk(), KEYS);

const judged = { workflowId: GUIDE, stepId: 'triage', output: 'no JSON' };
assert.equal((await call('workflow_validate', judged)).valid, false);
const broken = await call('workflow_validate_json', { workflowJson: '{"id": "abc"' });
assert.equal(broken.valid, false);
assert.ok(broken.issues.length > 0 && broken.suggestions.length > 0);

const absent = await failure('workflow_get', { id: 'no-such-guide' });
assert.equal(absent.code, -32001);
assert.equal(absent.message, 'Workflow not found');
assert.equal(absent.data.workflowId, 'no-such-guide');
const unknown = { workflowId: GUIDE, completedSteps: ['no-such-step'] };
assert.equal((await failure('workflow_next', unknown)).code, -32003);
const state = {
  workflowId: GUIDE,
  completedSteps: ['triage', 'run-it'],
  context: { ...CONTEXT, purpose: 'known', files: 'none' },
};
assert.equal((await failure('workflow_next', state)).code, -32005);
const nothing = { workflowId: 'no-such-guide', stepId: 'a', output: 'b' };
assert.equal((await failure('workflow_validate', nothing)).code, -32001);
await assert.rejects(client.callTool({ name: 'workflow_nxt', arguments: {} }), { code: -32602 });

await client.ping();
const ended = once(transport._process, 'close');
await client.close();
const [code, signal] = await ended;
assert.deepEqual([code, signal], [0, null]);
console.log(`typescript at ${negotiated}: ${tools.length} tools, ${KEYS.length} steps, exit ${code}`);
