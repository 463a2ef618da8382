"""Drives `milepost mcp --surface workflowlookup` with the Python SDK, as a real client does.

MILEPOST_BINARY names the program. Ends with an error at the first surprise.
"""

import json
import os
import tempfile
import warnings

import anyio
import mcp.client.stdio as stdio
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp_types.version import LATEST_HANDSHAKE_VERSION

TOOLS = [
    "workflow_get",
    "workflow_list",
    "workflow_next",
    "workflow_validate",
    "workflow_validate_json",
]
GUIDE = "code-review"
CONTEXT = {
    "purpose": "",
    "files": [
        {"path": "a.rs", "kind": "code", "risk": "high"},
        {"path": "b.rs", "kind": "generated", "risk": "low"},
    ],
    "reviewPasses": 2,
    "testsPass": True,
    "scope": "small",
    "risk": "low",
}
KEYS = [
    "triage",
    "ask-purpose",
    "run-it",
    "each-file@0::read-file",
    "each-file@0::follow-callers",
    "look-again@0::lens",
    "look-again@1::lens",
    "sift",
    "verdict",
]


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def same(found, expected):
    check(found == expected, f"{found!r} is not {expected!r}")


async def call(client, name, arguments):
    """Calls a tool that succeeds; its two forms of the result must be the same."""
    result = await client.call_tool(name, arguments)
    check(not result.is_error, result)
    same(json.loads(result.content[0].text), result.structured_content)
    return result.structured_content


async def failure(client, name, arguments):
    """Calls a tool that fails by its own rules; returns the error."""
    result = await client.call_tool(name, arguments)
    check(result.is_error, result)
    same(result.content[0].type, "text")
    return result.structured_content


async def walk(client):
    completed = []
    while True:
        arguments = {"workflowId": GUIDE, "completedSteps": completed, "context": CONTEXT}
        step = await call(client, "workflow_next", arguments)
        if step["isComplete"]:
            same(step["step"], None)
            return completed
        check(step["step"] and step["guidance"]["prompt"], step)
        check(step["completedStep"] not in completed, step["completedStep"])
        completed.append(step["completedStep"])


async def use(client):
    same(client.protocol_version, LATEST_HANDSHAKE_VERSION)
    same(client.server_info.name, "workflowlookup")

    # From here on the SDK checks every result against the schema that the tool has announced.
    tools = (await client.list_tools()).tools
    same(sorted(tool.name for tool in tools), TOOLS)
    check(all(tool.output_schema and tool.description for tool in tools), tools)

    listed = await call(client, "workflow_list", {})
    check(any(workflow["id"] == GUIDE for workflow in listed["workflows"]), listed)
    same((await call(client, "workflow_get", {"id": GUIDE}))["firstStep"]["id"], "triage")
    metadata = await call(client, "workflow_get", {"id": GUIDE, "mode": "metadata"})
    check("firstStep" not in metadata, metadata)
    same(await walk(client), KEYS)

    judged = {"workflowId": GUIDE, "stepId": "triage", "output": "no JSON"}
    same((await call(client, "workflow_validate", judged))["valid"], False)
    broken = await call(client, "workflow_validate_json", {"workflowJson": '{"id": "abc"'})
    same(broken["valid"], False)
    check(broken["issues"] and broken["suggestions"], broken)

    absent = await failure(client, "workflow_get", {"id": "no-such-guide"})
    same((absent["code"], absent["message"]), (-32001, "Workflow not found"))
    same(absent["data"]["workflowId"], "no-such-guide")
    unknown = {"workflowId": GUIDE, "completedSteps": ["no-such-step"]}
    same((await failure(client, "workflow_next", unknown))["code"], -32003)
    state = {
        "workflowId": GUIDE,
        "completedSteps": ["triage", "run-it"],
        "context": {**CONTEXT, "purpose": "known", "files": "none"},
    }
    same((await failure(client, "workflow_next", state))["code"], -32005)
    nothing = {"workflowId": "no-such-guide", "stepId": "a", "output": "b"}
    same((await failure(client, "workflow_validate", nothing))["code"], -32001)
    try:
        await client.call_tool("workflow_nxt", {})
        check(False, "a tool that is not there was called")
    except MCPError as error:
        same(error.code, -32602)
    with warnings.catch_warnings():
        # A revision without `ping` is near; those that we speak have it.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await client.send_ping()


def watch_processes():
    """The SDK keeps its process to itself; how that ends is part of the contract."""
    started = []
    start = stdio._create_platform_compatible_process

    async def watched(*positional, **named):
        started.append(await start(*positional, **named))
        return started[-1]

    stdio._create_platform_compatible_process = watched
    return started


async def main():
    started = watch_processes()
    with tempfile.TemporaryDirectory(prefix="milepost-") as home, anyio.fail_after(60):
        server = StdioServerParameters(
            command=os.environ["MILEPOST_BINARY"],
            args=["mcp", "--surface", "workflowlookup"],
            env={"HOME": home},
        )
        async with Client(server) as client:
            await use(client)
            version = client.protocol_version
    same([process.returncode for process in started], [0])
    print(f"python at {version}: {len(TOOLS)} tools, {len(KEYS)} steps, exit 0")


anyio.run(main)
