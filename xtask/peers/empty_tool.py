"""The least that people write on FastMCP: one tool that does nothing."""

from fastmcp import FastMCP

server = FastMCP("empty")


@server.tool
def empty() -> dict:
    return {"runs": []}


server.run(transport="stdio", show_banner=False)
