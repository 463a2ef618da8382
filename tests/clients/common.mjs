// What the scripts of all TypeScript clients share. It imports nothing that is installed: the
// scripts run where their SDK is, and this file where it lies.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const home = mkdtempSync(join(tmpdir(), 'milepost-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

/** What a program of ours sees: nothing of the user who runs the tests. */
export const env = { HOME: home, REGISTRY_CONFIG_PATH: join(home, 'config.toml') };

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
