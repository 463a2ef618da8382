"""Drives `milepost mcp` with the Python SDK in both eras, as a real client does.

MILEPOST_BINARY names the program; MILEPOST_TRANSPORT=http lets `milepost serve` answer, over HTTP.
Ends with an error at the first surprise.
"""

import contextlib
import json
import os
import tempfile

import anyio
import httpx2
from catalog import everything_once
from common import (
    GOAL,
    HEADERS,
    OVER_HTTP,
    SCHEMA,
    VIA,
    Person,
    check,
    content,
    environment,
    failure,
    same,
    served,
    watch_processes,
    workflow,
)
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


async def reads(client):
    read = await client.read_resource(SCHEMA)
    same(json.loads(read.contents[0].text)["type"], "object")
    listed = (await client.list_resources()).resources
    check(any(str(resource.uri) == SCHEMA for resource in listed), listed)
    try:
        await client.read_resource("milepost://no/such")
        check(False, "a resource that is not there was read")
    except MCPError:
        pass
    prompts = (await client.list_prompts()).prompts
    check(any(prompt.name == "workflow.author" for prompt in prompts), prompts)
    prompt = await client.get_prompt("workflow.author", {"goal": GOAL})
    check(GOAL in prompt.messages[0].content.text, prompt)


async def runs(client, person):
    """A run from its beginning to its end, with what a person and an agent have to do with it."""

    async def call(name, arguments):
        return content(await client.call_tool(name, arguments))

    saved = await call("workflow_save", {"content": workflow("asks"), "overwrite": True})
    stale = {"content": workflow("asks"), "expected_version": "0" * 64}
    failure(await client.call_tool("workflow_save", stale), "WORKFLOW_VERSION_CONFLICT")
    run = await call("workflow_run", {"workflow_id": saved["workflow_id"], "wait_s": 20})
    step = {"run_id": run["run_id"], "step_id": run["due"][0]["step_id"]}
    wrong = await call("workflow_submit", {**step, "output": {"seen": "yes"}})
    same(wrong["accepted"], False)
    right = await call("workflow_submit", {**step, "output": {"seen": True}})
    same(right["accepted"], True)
    ended = await call("workflow_status", {"run_id": run["run_id"], "wait_s": 20})
    same(ended["final_output"], {"seen": True})

    person.answers.append(ElicitResult(action="accept", content={"size": 4}))
    asked = await call("workflow_run", {"manifest": workflow("needs"), "wait_s": 20})
    same(asked["final_output"], {"n": 5})
    person.answers.append(ElicitResult(action="decline"))
    unsaid = await call("workflow_delete", {"workflow_id": "asks"})
    same(unsaid["status"], "waiting")
    person.answers.append(ElicitResult(action="accept", content={"approve": True}))
    await call("workflow_delete", {"workflow_id": "asks"})
    gone = await client.call_tool("workflow_get", {"workflow_id": "asks"})
    failure(gone, "WORKFLOW_NOT_FOUND")


class Used:
    """A client that remembers which tools it called."""

    def __init__(self, client):
        self.client = client
        self.names = set()

    async def call_tool(self, name, arguments):
        self.names.add(name)
        return await self.client.call_tool(name, arguments)

    def __getattr__(self, name):
        return getattr(self.client, name)


UNTASKED = {
    "workflow_execute": {"manifest": workflow("quick")},
    "workflow_author_and_run": {"goal": "say one"},
    "workflow_repair_and_rerun": {"manifest": workflow("quick")},
}


async def use(client, person, home):
    # From here on the SDK checks every result against the schema that the tool has announced.
    tools = (await client.list_tools()).tools
    check(len(tools) > 20 and all(tool.output_schema for tool in tools), tools)
    client = Used(client)
    await reads(client)
    await runs(client, person)
    for name, arguments in UNTASKED.items():
        try:
            await client.call_tool(name, arguments)
            check(False, "a client without tasks ran one")
        except MCPError as error:
            same(error.error.data["error_code"], "TASK_CAPABILITY_REQUIRED")

    def yes():
        person.answers.append(ElicitResult(action="accept", content={"approve": True}))

    await everything_once(client, home, yes)
    unused = {tool.name for tool in tools} - client.names
    same(unused, set())


@contextlib.asynccontextmanager
async def reached(home, started):
    """What the client is given for a server of its own."""
    if not OVER_HTTP:
        command = os.environ["MILEPOST_BINARY"]
        yield StdioServerParameters(
            command=command, args=["mcp"], env=environment(home), cwd=home
        )
        return
    with served(home, started) as url:
        async with httpx2.AsyncClient(headers=HEADERS, timeout=30) as http:
            yield streamable_http_client(url, http_client=http)


async def main():
    started = watch_processes()
    spoken = []
    person = Person()

    async def asked(_context, params):
        return person.says(params.message)

    for mode in ["auto", "legacy"]:
        with tempfile.TemporaryDirectory(prefix="milepost-") as home, anyio.fail_after(120):
            async with (
                reached(home, started) as server,
                Client(server, mode=mode, elicitation_callback=asked) as client,
            ):
                spoken.append(client.protocol_version)
                await use(client, person, home)
    same(spoken, ["2026-07-28", "2025-11-25"])
    same({process.returncode for process in started}, {0})
    revisions = " and ".join(spoken)
    print(f"python at {revisions} over {VIA}: {len(person.questions)} questions, exit 0")


anyio.run(main)
