// Drives `milepost mcp` with the TypeScript client of the era without a handshake, which speaks
// both eras, and with the tasks of that era.
// MILEPOST_BINARY names the program, MILEPOST_CLIENTS the folder of the clients.
// MILEPOST_TRANSPORT=http lets `milepost serve` answer, over HTTP.

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const { allUsed, caller, everythingOnce, reached, reads, surprise, via, workflow } = await import(
  pathToFileURL(`${process.env.MILEPOST_CLIENTS}/common.mjs`)
);

const WHO = { name: 'milepost-client-test', version: '1.0.0' };
const ASKS = { elicitation: { form: {} } };
const TASKS = { 'io.modelcontextprotocol/tasks': {} };

/** What the person behind a client says next, and what they were asked. */
const answers = [];
const questions = [];
function person(params) {
  questions.push(params);
  assert.ok(answers.length > 0, `nobody expected to be asked: ${params.message}`);
  return answers.shift();
}

async function connected(mode, capabilities, use) {
  const client = new Client(WHO, { capabilities, versionNegotiation: { mode } });
  client.onerror = surprise;
  client.setRequestHandler('elicitation/create', (request) => person(request.params));
  const { transport, close } = await reached(StdioClientTransport, StreamableHTTPClientTransport);
  await client.connect(transport);
  const spoken = client.getNegotiatedProtocolVersion();
  await use(client, transport);
  await close(client);
  return spoken;
}

/** What is the same in every era. */
async function everything(client) {
  const calls = caller(client);
  const { call, refused, used } = calls;
  const { tools } = await client.listTools();
  assert.ok(tools.length > 20 && tools.every((tool) => tool.outputSchema));
  await reads(client);
  const saved = await call('workflow_save', { content: workflow('asks'), overwrite: true });
  const stale = { content: workflow('asks'), expected_version: '0'.repeat(64) };
  await refused('workflow_save', stale, 'WORKFLOW_VERSION_CONFLICT');
  const run = await call('workflow_run', { workflow_id: saved.workflow_id, wait_s: 20 });
  const done = { run_id: run.run_id, step_id: run.due[0].step_id };
  const wrong = await call('workflow_submit', { ...done, output: { seen: 'yes' } });
  assert.equal(wrong.accepted, false);
  const right = await call('workflow_submit', { ...done, output: { seen: true } });
  assert.equal(right.accepted, true);
  const ended = await call('workflow_status', { run_id: run.run_id, wait_s: 20 });
  assert.deepEqual(ended.final_output, { seen: true });
  answers.push({ action: 'accept', content: { size: 4 } });
  const asked = await call('workflow_run', { manifest: workflow('needs'), wait_s: 20 });
  assert.deepEqual(asked.final_output, { n: 5 });
  answers.push({ action: 'decline' });
  const unsaid = await call('workflow_delete', { workflow_id: 'asks' });
  assert.equal(unsaid.status, 'waiting');
  answers.push({ action: 'accept', content: { approve: true } });
  await call('workflow_delete', { workflow_id: 'asks' });
  await refused('workflow_get', { workflow_id: 'asks' }, 'WORKFLOW_NOT_FOUND');
  const untasked = {
    workflow_execute: { manifest: workflow('quick') },
    workflow_author_and_run: { goal: 'say one' },
    workflow_repair_and_rerun: { manifest: workflow('quick') },
  };
  for (const [name, args] of Object.entries(untasked)) {
    used.add(name);
    await assert.rejects(client.callTool({ name, arguments: args }), (error) => {
      // The newer era has an error of its own for it, of which the client keeps what is needed.
      const needed = error.data.requiredCapabilities?.extensions ?? {};
      return error.code === -32021
        ? 'io.modelcontextprotocol/tasks' in needed
        : error.data.error_code === 'TASK_CAPABILITY_REQUIRED';
    });
  }
  await everythingOnce(client, calls, () => {
    answers.push({ action: 'accept', content: { approve: true } });
  });
  await allUsed(client, used);
}

/** The client leaves messages with tasks in them to its host: requests as they are, answers too. */
function raw(transport) {
  const waiting = new Map();
  const heard = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const resolve = waiting.get(message.id);
    if (resolve === undefined) return heard(message, extra);
    waiting.delete(message.id);
    const { error, result } = message;
    resolve(error ? { kind: 'error', error } : { kind: 'result', result });
  };
  return (request) =>
    new Promise((resolve, reject) => {
      const id = `raw-${request.method}-${Math.random()}`;
      waiting.set(id, resolve);
      transport.send({ jsonrpc: '2.0', ...request, id }).catch(reject);
    });
}

async function tasksOfTheExtension(client, transport) {
  const session = createTaskSessionFromClient(client, {
    endpointId: 'milepost',
    rawDispatch: raw(transport),
    v2RequestFraming: {
      protocolVersion: client.getNegotiatedProtocolVersion(),
      clientInfo: WHO,
      clientCapabilities: { ...ASKS, extensions: TASKS },
    },
    onInputRequest: (request) => Promise.resolve(person(request.params)),
    onError: surprise,
  });
  const run = (name, manifest) => session.callTool(name, { manifest: workflow(manifest) });
  for (const name of ['workflow_execute', 'workflow_run']) {
    const execution = await run(name, 'quick');
    assert.equal(execution.kind, 'task');
    const { outcome } = await execution.settle();
    assert.equal(outcome.status, 'completed');
    assert.deepEqual(outcome.result.structuredContent.final_output, { b: 1 });
  }
  // A run that failed is a result that says so: the call itself went well.
  const failed = await (await run('workflow_run', 'fails')).settle();
  assert.equal(failed.outcome.status, 'completed');
  assert.equal(failed.outcome.result.isError, true);
  answers.push({ action: 'accept', content: { size: 1 } });
  const asked = await (await run('workflow_execute', 'needs')).settle();
  assert.deepEqual(asked.outcome.result.structuredContent.final_output, { n: 2 });
  const canceled = await run('workflow_execute', 'asks');
  await canceled.cancel();
  assert.equal((await canceled.settle()).outcome.status, 'cancelled');
  const waits = await run('workflow_execute', 'asks');
  const { call } = caller(client);
  for await (const event of waits.updates()) {
    if (event.task?.status !== 'input_required') continue;
    const step = { step_id: 'look', output: { seen: true } };
    assert.equal((await call('workflow_submit', { run_id: event.task.taskId, ...step })).accepted, true);
  }
  const { outcome } = await waits.settle();
  assert.deepEqual(outcome.result.structuredContent.final_output, { seen: true });
  await orchestrations(session, call);
  await session.close();
}

/** What is given is saved and run; what failed is run anew as it was corrected. */
async function orchestrations(session, call) {
  const settled = async (name, args) => {
    const { outcome } = await (await session.callTool(name, args)).settle();
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome));
    return outcome.result.structuredContent;
  };
  const written = { goal: 'say one', manifest: workflow('quick') };
  const made = await settled('workflow_author_and_run', written);
  assert.deepEqual(made.final_output.output, { b: 1 });
  const failed = await settled('workflow_run', { manifest: workflow('fails') });
  const mended = workflow('quick').replace('quick', 'fails').replace('{b: 1}', '{b: 2}');
  const repair = { run_id: failed.run_id, repaired_manifest: mended };
  const repaired = await settled('workflow_repair_and_rerun', repair);
  assert.deepEqual(repaired.final_output.output, { b: 2 });
  assert.equal((await call('workflow_get', { workflow_id: 'fails' })).content, mended);
}

const spoken = [];
for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }]) {
  spoken.push(await connected(mode, ASKS, everything));
}
assert.deepEqual(spoken, ['2025-11-25', '2026-07-28', '2026-07-28']);
const capabilities = { ...ASKS, extensions: TASKS };
await connected({ pin: '2026-07-28' }, capabilities, tasksOfTheExtension);
assert.deepEqual(answers, []);
const revisions = [...new Set(spoken)].join(' and ');
console.log(`typescript 2.x at ${revisions} over ${via}: ${questions.length} questions`);
