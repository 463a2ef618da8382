// Drives `milepost mcp` with the TypeScript SDK of the handshake era and its tasks.
// MILEPOST_BINARY names the program, MILEPOST_CLIENTS the folder of the clients.
// MILEPOST_TRANSPORT=http lets `milepost serve` answer, over HTTP.

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const { allUsed, caller, everythingOnce, reached, reads, surprise, via, workflow } = await import(
  pathToFileURL(`${process.env.MILEPOST_CLIENTS}/common.mjs`)
);

const capabilities = { elicitation: {}, sampling: {}, tasks: {} };
const client = new Client({ name: 'milepost-client-test', version: '1.0.0' }, { capabilities });
client.onerror = surprise;
const tasks = client.experimental.tasks;
const calls = caller(client);
const { call, refused, used } = calls;

/** What the person behind the client says next, and what they were asked. */
const answers = [];
const questions = [];
client.setRequestHandler(ElicitRequestSchema, (request) => {
  questions.push(request.params);
  assert.ok(answers.length > 0, `nobody expected to be asked: ${request.params.message}`);
  return answers.shift();
});

/** What the model behind the client writes next, and what it was asked. */
const drafts = [];
const tasksForModel = [];
client.setRequestHandler(CreateMessageRequestSchema, (request) => {
  tasksForModel.push(request.params);
  assert.ok(drafts.length > 0, 'no model expected to be asked');
  const content = { type: 'text', text: drafts.shift() };
  return { model: 'a-model', role: 'assistant', content };
});

/** Runs a tool as a task: what became of it, and every state on the way. */
async function followed(name, args, onState = () => {}) {
  used.add(name);
  const states = [];
  let made;
  for await (const message of tasks.callToolStream({ name, arguments: args })) {
    if (message.type === 'taskCreated') made = message.task;
    if (message.type === 'taskStatus') {
      states.push(message.task.status);
      onState(message.task);
    }
    if (message.type === 'result') return { made, states, result: message.result };
    if (message.type === 'error') return { made, states, error: message.error };
  }
  throw new Error('the stream has no end');
}

async function tasksEnd() {
  for (const name of ['workflow_execute', 'workflow_run']) {
    const { made, states, result } = await followed(name, { manifest: workflow('quick') });
    assert.equal(states.at(-1), 'completed');
    assert.deepEqual(result.structuredContent.final_output, { b: 1 });
    assert.equal(result.structuredContent.run_id, made.taskId);
    const got = await tasks.getTask(made.taskId);
    assert.equal(got.status, 'completed');
    const again = await tasks.getTaskResult(made.taskId, CallToolResultSchema);
    assert.deepEqual(again.structuredContent.final_output, { b: 1 });
    await assert.rejects(tasks.cancelTask(made.taskId), { code: -32602 });
  }
  const { tasks: listed } = await tasks.listTasks();
  assert.equal(listed.length, 2);
  await assert.rejects(tasks.getTask('run_0'), { code: -32602 });
}

async function tasksFail() {
  const { made, states, error } = await followed('workflow_run', { manifest: workflow('fails') });
  assert.equal(states.at(-1), 'failed');
  assert.ok(error.message.includes(made.taskId), error.message);
  const result = await tasks.getTaskResult(made.taskId, CallToolResultSchema);
  assert.equal(result.isError, true);
  const broken = await followed('workflow_execute', { manifest: 'workflow: broken' });
  assert.equal(broken.error.data.error_code, 'WORKFLOW_INVALID');
}

/** A task that waits for an agent: somebody hands in its step while the stream goes on. */
async function tasksWait() {
  let handedIn;
  const { made, states, result } = await followed(
    'workflow_execute',
    { manifest: workflow('asks') },
    (task) => {
      if (task.status !== 'input_required') return;
      assert.ok(task.statusMessage.includes('look'), task.statusMessage);
      const done = { run_id: task.taskId, step_id: 'look', output: { seen: true } };
      handedIn = call('workflow_submit', done);
    },
  );
  assert.equal(states.at(-1), 'input_required');
  assert.equal((await handedIn).accepted, true);
  assert.deepEqual(result.structuredContent.final_output, { seen: true });
  assert.equal((await tasks.getTask(made.taskId)).status, 'completed');
}

async function tasksAreCanceled() {
  const { made, error } = await followed(
    'workflow_execute',
    { manifest: workflow('asks') },
    (task) => {
      if (task.status === 'input_required') tasks.cancelTask(task.taskId).catch(surprise);
    },
  );
  assert.equal(error, undefined, 'a canceled run is a result');
  assert.equal((await tasks.getTask(made.taskId)).status, 'cancelled');
}

/** What is missing is asked of the person, in a task as in a plain call. */
async function inputsAreAskedFor() {
  const manifest = workflow('needs');
  answers.push({ action: 'accept', content: { size: 4 } });
  const { result } = await followed('workflow_execute', { manifest });
  assert.deepEqual(result.structuredContent.final_output, { n: 5 });
  assert.deepEqual(questions.at(-1).requestedSchema.required, ['size']);
  answers.push({ action: 'accept', content: { size: 1 } });
  const run = await call('workflow_run', { manifest, wait_s: 20 });
  assert.deepEqual(run.final_output, { n: 2 });
  answers.push({ action: 'decline' });
  await refused('workflow_run', { manifest }, 'INPUT_INVALID');
}

async function aPersonConfirms() {
  await call('workflow_save', { content: workflow('quick') });
  for (const [answer, status] of [
    [{ action: 'decline' }, 'waiting'],
    [{ action: 'accept', content: { approve: false } }, 'failed'],
  ]) {
    answers.push(answer);
    assert.equal((await call('workflow_delete', { workflow_id: 'quick' })).status, status);
  }
  assert.equal((await call('workflow_get', { workflow_id: 'quick' })).workflow_id, 'quick');
  answers.push({ action: 'accept', content: { approve: true } });
  await call('workflow_delete', { workflow_id: 'quick' });
  assert.ok(questions.at(-1).message.includes('quick'), questions.at(-1).message);
  await refused('workflow_get', { workflow_id: 'quick' }, 'WORKFLOW_NOT_FOUND');
}

/** The model writes what it is asked for, and writes it again when it would not do. */
async function aModelWrites() {
  drafts.push('workflow: quick\nsteps: []\n', workflow('quick'));
  const { result } = await followed('workflow_author_and_run', { goal: 'say one' });
  assert.equal(result.structuredContent.status, 'succeeded', JSON.stringify(result));
  assert.deepEqual(result.structuredContent.final_output.output, { b: 1 });
  assert.equal(drafts.length, 0);
  assert.ok(JSON.stringify(tasksForModel[0]).includes('say one'));
  const { made } = await followed('workflow_run', { manifest: workflow('fails') });
  const mended = workflow('quick').replace('quick', 'fails').replace('{b: 1}', '{b: 2}');
  const repair = { run_id: made.taskId, repaired_manifest: mended };
  const repaired = await followed('workflow_repair_and_rerun', repair);
  assert.deepEqual(repaired.result.structuredContent.final_output.output, { b: 2 });
  for (const workflow_id of ['quick', 'fails']) {
    answers.push({ action: 'accept', content: { approve: true } });
    await call('workflow_delete', { workflow_id });
  }
}

/** Whoever watches is told. */
async function changesAreTold() {
  const uri = 'milepost://workflow/manifests';
  const told = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params));
  });
  await client.subscribeResource({ uri });
  await call('workflow_save', { content: workflow('needs') });
  assert.equal((await told).uri, uri);
  await client.unsubscribeResource({ uri });
}

const { transport, close } = await reached(StdioClientTransport, StreamableHTTPClientTransport);
const { setProtocolVersion } = transport;
let negotiated;
transport.setProtocolVersion = (version) => {
  negotiated = version;
  // Over HTTP, every request tells it.
  setProtocolVersion?.call(transport, version);
};
await client.connect(transport);
assert.equal(negotiated, '2025-11-25');
// From here on the SDK checks every result against the schema that the tool has announced.
const { tools } = await client.listTools();
assert.ok(tools.length > 20 && tools.every((tool) => tool.outputSchema));
await reads(client);
await tasksEnd();
await tasksFail();
await tasksWait();
await tasksAreCanceled();
await inputsAreAskedFor();
await aPersonConfirms();
await aModelWrites();
await changesAreTold();
await everythingOnce(client, calls, () => {
  answers.push({ action: 'accept', content: { approve: true } });
});
await allUsed(client, used);
assert.deepEqual(answers, []);
await close(client);
const counts = `${tools.length} tools, ${questions.length} questions`;
console.log(`typescript 1.x at ${negotiated} over ${via}: ${counts}`);
// Over HTTP, the SDK forgets to stop the clocks of streams that it meant to open again.
process.exit();
