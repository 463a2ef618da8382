// What the scripts of all TypeScript clients share. It imports nothing that is installed: the
// scripts run where their SDK is, and this file where it lies.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const home = mkdtempSync(join(tmpdir(), 'milepost-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

/** What a program of ours sees: nothing of the user who runs the tests. */
export const env = { HOME: home };

/** Whether clients reach the server over HTTP: all else of their scripts is the same. */
export const overHttp = process.env.MILEPOST_TRANSPORT === 'http';
export const via = overHttp ? 'HTTP' : 'stdio';

/** How an SDK starts the server. */
export function server(...args) {
  return { command: process.env.MILEPOST_BINARY, args: ['mcp', ...args], env, cwd: home };
}

/** Starts a server over HTTP: where it is, what clients have to show, and what ends it. */
export async function served() {
  const token = randomBytes(32).toString('hex');
  const child = spawn(process.env.MILEPOST_BINARY, ['serve', '--port', '0'], {
    env: { ...env, MILEPOST_TOKEN: token },
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // A script that ends with a surprise leaves no server behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close');
  const silent = ended.then((how) => assert.fail(`the server ended at once: ${how}`));
  const [url] = await Promise.race([once(createInterface(child.stdout), 'line'), silent]);
  const stop = async () => {
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    process.removeListener('exit', kill);
  };
  return { url, headers: { Authorization: `Bearer ${token}` }, stop };
}

/**
 * A transport of an SDK to a server of its own, and what closes a client of it: the server must
 * end well, whichever way it is told to.
 */
export async function reached(Stdio, Http) {
  if (!overHttp) {
    const transport = new Stdio(server());
    const close = async (client) => {
      const ended = once(transport._process, 'close');
      await client.close();
      assert.deepEqual(await ended, [0, null]);
    };
    return { transport, close };
  }
  const { url, headers, stop } = await served();
  const transport = new Http(new URL(url), { requestInit: { headers } });
  const close = async (client) => {
    await transport.terminateSession();
    // The SDKs report the stream that they cut off themselves.
    client.onerror = () => {};
    await client.close();
    await stop();
  };
  return { transport, close };
}

/** The text of a workflow that all clients use. */
export function workflow(name) {
  return readFileSync(new URL(`workflows/${name}.yaml`, import.meta.url), 'utf8');
}

/** Ends the script at the first surprise. */
export function surprise(error) {
  console.error('a surprise:', error);
  process.exit(1);
}
// SDKs warn of schemas that they do not fully understand; ours must not make them.
console.warn = (...words) => surprise(new Error(words.join(' ')));
setTimeout(() => surprise(new Error('nothing happens any more')), 120_000).unref();

/** Calls of tools with the expectations that every client has, and which tools were called. */
export function caller(client) {
  const used = new Set();
  const ask = (name, args) => {
    used.add(name);
    return client.callTool({ name, arguments: args });
  };
  return {
    used,
    /** Calls a tool that succeeds; its two forms of the result must be the same. */
    async call(name, args) {
      const result = await ask(name, args);
      assert.notEqual(result.isError, true, JSON.stringify(result));
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
      return result.structuredContent;
    },
    /** Calls a tool that fails, and returns the object of its failure. */
    async refused(name, args, code) {
      const result = await ask(name, args);
      assert.equal(result.isError, true, JSON.stringify(result));
      const failure = result.structuredContent;
      assert.equal(failure.error_code, code, JSON.stringify(failure));
      assert.ok(result.content[0].text.startsWith(code), result.content[0].text);
      return failure;
    },
  };
}

/** What everybody reads: a resource in both of its names, and a prompt. */
export async function reads(client) {
  const uri = 'milepost://workflow/schema';
  const read = await client.readResource({ uri });
  assert.equal(read.contents[0].uri, uri);
  assert.equal(JSON.parse(read.contents[0].text).type, 'object');
  const { resources } = await client.listResources();
  assert.ok(resources.some((resource) => resource.uri === uri));
  await assert.rejects(client.readResource({ uri: 'milepost://no/such' }));
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === 'workflow.author'));
  const goal = 'find orders that nobody paid';
  const prompt = await client.getPrompt({ name: 'workflow.author', arguments: { goal } });
  assert.ok(prompt.messages[0].content.text.includes(goal));
}

/** An API: a mock of the document that all clients use, in the folder of the client. */
async function mocked() {
  copyFileSync(new URL('shop.yaml', import.meta.url), join(home, 'shop.yaml'));
  const words = ['catalog', 'mock', '--json', '--port', '0', 'shop.yaml'];
  const child = spawn(process.env.MILEPOST_BINARY, words, { env, cwd: home });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const [line] = await once(createInterface(child.stdout), 'line');
  const stop = () => {
    kill();
    process.removeListener('exit', kill);
  };
  return { url: JSON.parse(line).url, stop };
}

const GETS = `workflow: gets
title: Gets
inputs:
  order: {type: string, provider: shop orders:list}
  note: {type: string, optional: true, default: {from: history}}
steps:
  - {id: look, run: shop orders:get, with: {order_id: "\${{ inputs.order }}"}}
final_output: {item: "\${{ steps.look.output.item }}"}
`;

/** An API from its document to its end: every tool for it. A person behind the client says yes. */
async function catalogs({ call }, yes) {
  const source = { source: 'shop.yaml' };
  const valid = await call('catalog_validate_openapi', source);
  assert.deepEqual([valid.valid, valid.operation_count], [true, 3]);
  const plan = await call('catalog_preview_import', { ...source, catalog_title: 'Shop' });
  assert.deepEqual([plan.valid, plan.projected_command_count], [true, 3]);
  const imported = await call('catalog_import_openapi', { ...source, catalog_title: 'Shop' });
  assert.deepEqual([imported.catalog_id, imported.command_count], ['shop', 3]);
  for (const [enabled, count] of [[false, 0], [true, 3]]) {
    const set = await call('catalog_set_enabled', { catalog_id: 'shop', enabled });
    assert.deepEqual([set.enabled, set.command_count_after_toggle], [enabled, count]);
  }
  yes();
  const run = await call('catalog_remove', { catalog_id: 'shop', remove_manifest: true });
  const removed = run.final_output;
  assert.deepEqual([removed.removed_catalog_id, removed.manifest_removed], ['shop', true]);
}

/** The commands of an API that answers. */
async function commands({ call }) {
  const found = await call('command_list', { query: 'get an order' });
  assert.equal(found.commands[0].command, 'shop orders:get');
  const one = await call('command_get', { command: 'shop orders:get' });
  assert.deepEqual([one.method, one.path], ['GET', '/orders/{order_id}']);
  const dry = { command: 'shop orders:get', with: { order_id: '7' }, dry_run: true };
  assert.ok((await call('command_run', dry)).request.url.endsWith('/orders/7'));
  assert.equal((await call('command_run', { command: 'shop orders:list' })).ok, true);
  const { providers } = await call('provider_list', {});
  assert.ok(providers.some((one) => one.provider === 'shop orders:list'), JSON.stringify(providers));
  const { choices } = await call('provider_values', { provider: 'shop orders:list' });
  assert.equal(typeof choices[0].value, 'string');
  return choices[0].value;
}

/** A workflow from its text to its end: every tool for it. */
async function workflows({ call, refused }, order, yes) {
  assert.equal((await call('workflow_validate', { manifest: GETS })).valid, true);
  assert.equal((await call('workflow_save', { content: GETS })).workflow_id, 'gets');
  const { workflows } = await call('workflow_list', {});
  assert.ok(workflows.some((one) => one.workflow_id === 'gets'));
  const id = { workflow_id: 'gets' };
  assert.equal((await call('workflow_get', id)).content, GETS);
  assert.deepEqual((await call('workflow_preview_inputs', id)).required_missing, ['order']);
  const open = await call('workflow_resolve_inputs', id);
  assert.equal(open.ready, false);
  assert.equal(open.providers.order.choices[0].value, order);
  const { choices } = await call('provider_values', { ...id, input: 'order' });
  assert.equal(choices[0].value, order);
  const inputs = { order, note: 'n' };
  const ready = await call('workflow_resolve_inputs', { ...id, partial_inputs: inputs });
  assert.equal(ready.ready, true);
  const rendered = await call('workflow_preview_rendered', { ...id, inputs });
  assert.ok(rendered.steps[0].requests[0].url.endsWith(`/orders/${order}`));
  assert.equal((await call('workflow_step_plan', { ...id, inputs })).steps[0].id, 'look');
  const dry = await call('workflow_run', { ...id, inputs, dry_run: true });
  assert.equal(dry.status, 'dry_run');
  const renamed = await call('workflow_rename', { ...id, new_id: 'fetches' });
  assert.equal(renamed.workflow_id, 'fetches');
  const run = await call('workflow_run', { workflow_id: 'fetches', inputs, wait_s: 20 });
  assert.equal(run.status, 'succeeded', JSON.stringify(run));
  const seen = await call('workflow_status', { run_id: run.run_id });
  assert.deepEqual(seen.final_output, run.final_output);
  yes();
  const purged = await call('workflow_purge_history', { workflow_id: 'fetches' });
  assert.equal(purged.final_output.removed, 1);
  const failed = await call('workflow_run', { manifest: workflow('fails'), wait_s: 20 });
  assert.equal(failed.next.tool, 'workflow_resume');
  const plan = await call(failed.next.tool, failed.next.arguments);
  assert.equal(plan.plan.length, 1);
  assert.equal((await call(plan.next.tool, plan.next.arguments)).run.status, 'failed');
  const asks = await call('workflow_run', { manifest: workflow('asks'), wait_s: 20 });
  assert.equal(asks.next.tool, 'workflow_submit');
  // An agent may stop what an agent started.
  const canceled = await call('workflow_cancel', { operation_id: asks.run_id });
  assert.equal(canceled.status, 'canceled');
  yes();
  await call('workflow_delete', { workflow_id: 'fetches' });
  await refused('workflow_get', { workflow_id: 'fetches' }, 'WORKFLOW_NOT_FOUND');
  return run.run_id;
}

/** Every resource, in the words that only it has. */
async function resources(client, run) {
  const known = {
    'milepost://workflow/spec': 'workflow:',
    'milepost://workflow/schema': '"steps"',
    'milepost://workflow/manifests': 'bug-investigation',
    'milepost://workflow/manifest/bug-investigation': 'bug-investigation',
    'milepost://command/catalog': 'shop orders:get',
    'milepost://command/catalog/shop': 'shop orders:get',
    'milepost://provider/catalog': 'shop orders:list',
    [`milepost://run/${run}`]: 'succeeded',
    [`milepost://run/${run}/step/look/output`]: 'item',
    'milepost://docs/guides': 'guide',
    'workflow.spec': 'workflow:',
    'workflow.manifest:bug-investigation': 'bug-investigation',
    'command.catalog': 'shop orders:get',
    'provider.catalog': 'shop orders:list',
  };
  for (const [uri, words] of Object.entries(known)) {
    const { contents } = await client.readResource({ uri });
    assert.ok(contents[0].text.includes(words), `${uri}: ${contents[0].text}`);
  }
  const { resources } = await client.listResources();
  for (const { uri } of resources.filter((one) => !one.uri.includes('/docs/'))) {
    assert.ok(uri in known, `${uri} is never read`);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 5);
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: 'milepost://workflow/manifest/{workflow_id}' },
    argument: { name: 'workflow_id', value: 'bug' },
  });
  assert.deepEqual(completion.values, ['bug-investigation']);
}

/** Every prompt of the contract, with what it was given. */
async function prompts(client) {
  const given = {
    'workflow.author': { goal: 'find lost orders' },
    'workflow.extend': { manifest: GETS, changes: 'add a second look' },
    'workflow.fix_validation': { manifest: GETS, errors: 'there is no step `b`' },
    'workflow.run_with_inputs': { manifest: GETS, inputs: '{"order": "7"}' },
  };
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts.filter((one) => one.name.startsWith('workflow.'))) {
    const prompt = await client.getPrompt({ name, arguments: given[name] });
    const text = prompt.messages[0].content.text;
    for (const words of Object.values(given[name])) assert.ok(text.includes(words), name);
  }
}

/**
 * Everything that there is, once: a tool that is listed and was never called is a surprise.
 * `yes` lets the person behind the client say it.
 */
export async function everythingOnce(client, calls, yes) {
  const api = await mocked();
  await catalogs(calls, yes);
  // The address of an API is for a person to say.
  const words = ['catalog', 'import', 'shop.yaml', '--overwrite', '--base-url', api.url];
  execFileSync(process.env.MILEPOST_BINARY, words, { env, cwd: home, stdio: 'ignore' });
  const order = await commands(calls);
  const run = await workflows(calls, order, yes);
  await resources(client, run);
  await prompts(client);
  yes();
  await calls.call('catalog_remove', { catalog_id: 'shop', remove_manifest: true });
  api.stop();
}

/** No tool is listed that was not called. */
export async function allUsed(client, used) {
  const { tools } = await client.listTools();
  const unused = tools.map((tool) => tool.name).filter((name) => !used.has(name));
  assert.deepEqual(unused, [], 'tools that this walk never calls');
}
