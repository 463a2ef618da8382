// The least that people write on the TypeScript SDK: one registered tool that does nothing.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'empty', version: '1.0.0' });
const description = 'Does nothing';
server.registerTool('empty', { description }, async () => ({ content: [] }));
await server.connect(new StdioServerTransport());
