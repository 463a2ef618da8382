"""What FastMCP makes of an OpenAPI document: a server, and the list of its tools.

    python from_openapi.py <document.json> [--bytes]

Prints how many tools there are; with `--bytes` also how long the list is that a client gets.
"""

import asyncio
import json
import sys

from fastmcp import FastMCP


async def main(path, sized):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    server = FastMCP.from_openapi(document, name="GitHub")
    tools = await server.list_tools()
    answer = {"tools": len(tools)}
    if sized:
        wire = (tool.to_mcp_tool().model_dump(mode="json", exclude_none=True) for tool in tools)
        answer["bytes"] = len(json.dumps(list(wire), separators=(",", ":")).encode())
    print(json.dumps(answer))


asyncio.run(main(sys.argv[1], "--bytes" in sys.argv[2:]))
