// What the scripts of all TypeScript clients share. It imports nothing that is installed: the
// scripts run where their SDK is, and this file where it lies.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const home = mkdtempSync(join(tmpdir(), 'milepost-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

/** What a program of ours sees: nothing of the user who runs the tests. */
export const env = { HOME: home, REGISTRY_CONFIG_PATH: join(home, 'config.toml') };

/** How an SDK starts the server. */
export function server(...args) {
  return { command: process.env.MILEPOST_BINARY, args: ['mcp', ...args], env, cwd: home };
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
setTimeout(() => surprise(new Error('nothing happens any more')), 60_000).unref();

/** Calls of tools with the expectations that every client has. */
export function caller(client) {
  const ask = (name, args) => client.callTool({ name, arguments: args });
  return {
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
