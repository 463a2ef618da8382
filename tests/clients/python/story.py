"""The whole story of an agent, a person and an API, with the Python SDK and the real binary.

The agent imports an API, writes a workflow with mistakes, mends and saves it, and runs it; the
person fills in a form, approves at a terminal and confirms; the API goes away and comes back.
MILEPOST_BINARY names the program. Ends with an error at the first surprise.
"""

import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile

import anyio
from common import Person, check, content, environment, failure, same
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

BINARY = os.environ["MILEPOST_BINARY"]
DOCUMENT = pathlib.Path(__file__).parent.parent / "shop.yaml"

# A key that is none, a command that is none, and a step that is none.
DRAFT = """\
workflow: refund
inputs: {why: {type: string, description: What went wrong, default: {from: history}}}
steps:
  - {id: all, run: shop orders:list}
  - id: order
    run: shop orders:fetch
    wiht: {order_id: "${{ steps.all.output[0].id }}"}
  - id: judge
    prompt: "Is a refund of ${{ steps.ordr.output.item }} fair? They say: ${{ inputs.why }}"
    output_schema: {type: object, required: [fair], properties: {fair: {type: boolean}}}
  - id: ok
    approve: "Refund ${{ steps.order.output.item }}?"
    depends_on: [judge]
  - id: refund
    run: REFUND
    depends_on: [ok]
    with: {order_id: "${{ steps.order.output.id }}"}
    body: {reason: "${{ inputs.why }}"}
    retry: {max_attempts: 1}
final_output: {refund: "${{ steps.refund.output.id }}", fair: "${{ steps.judge.output.fair }}"}
"""


class Shop:
    """The API: a mock of its document, which can go away and come back."""

    def __init__(self, home):
        self.home = home
        self.port = 0
        self.open()

    def open(self):
        command = [BINARY, "catalog", "mock", "--json", "--port", str(self.port), "shop.yaml"]
        self.process = subprocess.Popen(
            command, cwd=self.home, env=environment(self.home), stdout=subprocess.PIPE, text=True
        )
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.process.stdout.close()


class Person(Person):
    """The person, who has a terminal too."""

    def __init__(self, home):
        super().__init__()
        self.home = home

    def types(self, arguments, keys):
        """Runs a command at a terminal, types into it, and returns what it said."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [BINARY, *arguments],
            cwd=self.home,
            env={**environment(self.home), "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(theirs)
        os.write(ours, keys)
        said = b""
        # A terminal whose other end is closed is an error on Linux and the end elsewhere.
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:
            pass
        os.close(ours)
        process.wait(timeout=20)
        return said.decode()


def take_terminal():
    """Makes standard input the terminal of the process, as a shell does."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Agent:
    """The agent: calls of tools, and what it was told while they ran."""

    def __init__(self, client):
        self.client = client
        self.progress = []

    async def ask(self, name, **arguments):
        async def told(_progress, _total, message):
            self.progress.append(message)

        return await self.client.call_tool(name, arguments, progress_callback=told)

    async def call(self, name, **arguments):
        return content(await self.ask(name, **arguments))


async def imports(agent, shop):
    source = {"source": "shop.yaml", "catalog_title": "Shop", "vendor": "shop"}
    checked = await agent.call("catalog_validate_openapi", source="shop.yaml")
    same((checked["valid"], checked["operation_count"]), (True, 3))
    await agent.call("catalog_preview_import", **source, base_url=shop.url)
    await agent.call("catalog_import_openapi", **source, base_url=shop.url)
    check(agent.progress, "an import told nothing of its progress")
    taken = await agent.ask("catalog_import_openapi", **source, base_url=shop.url)
    same(taken.structured_content["category"], "conflict")


async def authors(agent):
    """Writes the workflow, mends it as it is told, and saves it twice."""
    found = await agent.call("command_list", query="refund an order")
    refund = found["commands"][0]["command"]
    found = await agent.call("command_list", query="get an order")
    get = found["commands"][0]["command"]
    draft = DRAFT.replace("REFUND", refund)
    checked = await agent.call("workflow_validate", manifest=draft)
    same((checked["valid"], len(checked["violations"])), (False, 3))
    unsaved = failure(await agent.ask("workflow_save", content=draft), "WORKFLOW_INVALID")
    same(len(unsaved["violations"]), 3)
    mended = draft.replace("wiht", "with").replace("ordr", "order")
    mended = mended.replace("shop orders:fetch", get)
    saved = await agent.call("workflow_save", content=mended)
    retitled = mended.replace("workflow: refund\n", "workflow: refund\ntitle: Refunds\n")
    again = await agent.ask("workflow_save", content=retitled)
    failure(again, "WORKFLOW_EXISTS")
    version = saved["version"]
    await agent.call("workflow_save", content=retitled, expected_version=version)
    stale = await agent.ask("workflow_save", content=mended, expected_version=version)
    failure(stale, "WORKFLOW_VERSION_CONFLICT")


async def previews(agent, shop):
    inputs = await agent.call("workflow_preview_inputs", workflow_id="refund")
    same(inputs["required_missing"], ["why"])
    known = {"workflow_id": "refund", "inputs": {"why": "broken"}}
    rendered = await agent.call("workflow_preview_rendered", **known)
    check(f"{shop.url}/orders" in json.dumps(rendered), rendered)
    plan = await agent.call("workflow_step_plan", **known)
    order = [step["id"] for step in plan["steps"]]
    same(order, ["all", "order", "judge", "ok", "refund"])


async def runs(agent, person, shop):
    """Runs it to the moment at which the API is gone."""
    person.answers.append(ElicitResult(action="accept", content={"why": "it came broken"}))
    # Once for all that the run changes.
    person.answers.append(ElicitResult(action="accept", content={"approve": True}))
    run = await agent.call("workflow_run", workflow_id="refund", wait_s=20)
    same(len(person.questions), 2)
    same(run["due"][0]["step_id"], "judge")
    # The question ends the progress of the call.
    check("is waiting" in agent.progress[-1], agent.progress)
    check("it came broken" in run["due"][0]["prompt"], run)
    run_id = run["run_id"]
    hands_in = {"run_id": run_id, "step_id": "judge"}
    rejected = await agent.call("workflow_submit", **hands_in, output={"fair": "very"})
    same(rejected["accepted"], False)
    check(rejected["issues"], rejected)
    early = await agent.ask("workflow_submit", run_id=run_id, step_id="ok", output={})
    check(early.is_error, early)
    # The client asks for the decision as well; they would rather decide at their terminal.
    person.answers.append(ElicitResult(action="decline"))
    accepted = await agent.call("workflow_submit", **hands_in, output={"fair": True})
    same(accepted["accepted"], True)
    waits = await agent.call("workflow_status", run_id=run_id, wait_s=20)
    same(person.answers, [])
    check("Refund" in person.questions[-1], person.questions)
    same((waits["status"], waits["waiting"][0]["step"]), ("waiting", "ok"))
    shop.close()
    said = await anyio.to_thread.run_sync(person.types, ["approve", run_id], b"y\n")
    check("Refund" in said and "UPSTREAM_FAILED" in said, said)
    failed = await agent.call("workflow_status", run_id=run_id, wait_s=20)
    same((failed["status"], failed["problem"]["code"]), ("failed", "UPSTREAM_FAILED"))
    return run_id


async def resumes(agent, shop, run_id):
    """Goes on where it failed: nothing that was done is done again."""
    shop.open()
    plan = await agent.call("workflow_resume", run_id=run_id, plan_only=True)
    check("refund" in json.dumps(plan), plan)
    await agent.call("workflow_resume", run_id=run_id)
    ended = await agent.call("workflow_status", run_id=run_id, wait_s=20)
    same(ended["status"], "succeeded")
    same(ended["final_output"]["fair"], True)
    attempts = {step["id"]: step["attempts"] for step in ended["steps"]}
    same((attempts["all"], attempts["order"]), (1, 1))
    read = await agent.client.read_resource(f"milepost://run/{run_id}")
    same(json.loads(read.contents[0].text)["status"], "succeeded")


async def purges(agent, person):
    person.answers.append(ElicitResult(action="decline"))
    kept = await agent.call("workflow_purge_history", workflow_id="refund")
    same(kept["status"], "waiting")
    person.answers.append(ElicitResult(action="accept", content={"approve": True}))
    await agent.call("workflow_purge_history", workflow_id="refund")
    same(person.answers, [])


async def main():
    with tempfile.TemporaryDirectory(prefix="milepost-") as home, anyio.fail_after(120):
        shutil.copy(DOCUMENT, home)
        shop = Shop(home)
        person = Person(home)
        # Which private addresses may be called is for the person to say.
        config = pathlib.Path(home, ".config/milepost/config.toml")
        config.parent.mkdir(parents=True)
        config.write_text(f'allow_private = ["127.0.0.1:{shop.port}"]\n', encoding="utf-8")
        server = StdioServerParameters(
            command=BINARY, args=["mcp"], env=environment(home), cwd=home
        )

        async def asked(_context, params):
            return person.says(params.message)

        try:
            async with Client(server, elicitation_callback=asked) as client:
                agent = Agent(client)
                await client.list_tools()
                await imports(agent, shop)
                await authors(agent)
                await previews(agent, shop)
                run_id = await runs(agent, person, shop)
                await resumes(agent, shop, run_id)
                await purges(agent, person)
                version = client.protocol_version
        finally:
            shop.close()
    told = len(agent.progress)
    print(f"story at {version}: {len(person.questions)} questions, {told} notes of progress")


anyio.run(main)
