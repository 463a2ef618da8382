//! The commands to run, their preparation, and the input typed while they run.

use crate::{SLIP, SOUND};

/// The second step fails.
const FAILS: &str =
    "workflow: fails\nsteps:\n  - {id: a, set: {x: 1}}\n  - {id: b, fail: no luck}\n";
const ASKS: &str = "workflow: asks\nsteps:\n  - id: look\n    prompt: Look at it\n";
const TURNS: &str = "workflow: turns\nsteps:\n  - {id: look, prompt: Look at it}\n  \
     - {id: later, prompt: Look again, depends_on: [look]}\n";
const AGREES: &str = "workflow: agrees\nsteps:\n  - {id: ok, approve: Go on?}\n";
const MINDS: &str = "workflow: minds\nsteps:\n  - {id: ok, approve: Go on?, on_error: continue}\n";
const SETS: &str = "workflow: sets\nsteps:\n  - {id: a, set: {x: 1}}\nfinal_output: done\n";
/// The only submission is refused, so a person has to decide.
const STRICT: &str = "workflow: strict\nsteps:\n  - id: look\n    prompt: Look at it\n    \
     max_attempts: 1\n    output_schema: {type: object, required: [seen]}\n";
const NAPS: &str = "workflow: naps\nsteps:\n  - {id: rest, wait: 1s}\n";
/// Waits long enough to be visible on a busy machine.
const RESTS: &str = "workflow: rests\nsteps:\n  - {id: rest, wait: 4s}\n  \
     - {id: a, set: {x: 1}, depends_on: [rest]}\n";
const LONG: &str =
    "workflow: a-workflow-whose-name-is-long-x\nsteps:\n  - {id: ok, approve: Go on?}\n";
/// An API without credentials.
const DEPOT: &str = r"openapi: 3.0.3
info: {title: Depot, version: 1.0.0}
servers: [{url: 'https://depot.test'}]
paths:
  /parts:
    get:
      operationId: listParts
      tags: [parts]
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema:
                type: array
                items: {type: object, properties: {id: {type: string}, name: {type: string}}}
  /parts/{part_id}:
    get:
      operationId: getPart
      tags: [parts]
      parameters: [{name: part_id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok}}
";
const SHOP: &str = include_str!("../../../../../examples/shop.yaml");

/// Files that are present in every case.
pub(super) const FILES: [(&str, &str); 17] = [
    ("sound.yaml", SOUND),
    ("sounder.yaml", "workflow: sound\nsteps: [{id: a, prompt: Look twice}]\n"),
    ("slip.yaml", SLIP),
    ("fails.yaml", FAILS),
    ("asks.yaml", ASKS),
    ("turns.yaml", TURNS),
    ("agrees.yaml", AGREES),
    ("minds.yaml", MINDS),
    ("sets.yaml", SETS),
    ("strict.yaml", STRICT),
    ("naps.yaml", NAPS),
    ("rests.yaml", RESTS),
    ("long.yaml", LONG),
    ("depot.yaml", DEPOT),
    ("shop.yaml", SHOP),
    ("bad.toml", "budget = 3\n"),
    ("asks.toml", "[asks]\nvariables = [\"REGION\"]\nfiles = [\"../data\"]\n"),
];

/// A command, its preparation, and its input.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Commands to run first; `copy a b` copies a file, and `SERVER` stands for the address of a
    /// test server.
    pub(super) before: &'static [&'static str],
    pub(super) command: &'static str,
    /// Standard input; on a terminal it is typed once a question appears.
    pub(super) typed: &'static [&'static str],
    /// Whether the command runs until it is stopped.
    pub(super) serves: bool,
}

const fn case(name: &'static str, before: &'static [&'static str], command: &'static str) -> Case {
    Case { name, before, command, typed: &[], serves: false }
}

/// Commands that cannot fail.
pub(super) const LONE: [&str; 4] = ["config path", "mcp budget", "untrust", "workflow sources"];

/// Two versions of a workflow.
const TWICE: [&str; 2] = ["workflow save sound.yaml", "workflow save sounder.yaml --overwrite"];
const IMPORT: &str = "catalog import depot.yaml --vendor depot --base-url SERVER";
const DEPOT_TWO: &str =
    "catalog import depot.yaml --vendor depot-two --title Two --base-url SERVER";
const RUNS_DB: &str = "copy sound.yaml ../home/.local/share/milepost/runs.db";

/// One success and one failure for each command.
pub(super) const CASES: &[Case] = &[
    case("status-new", &[], ""),
    case("status-open", &["run agrees.yaml"], ""),
    case("run", &[], "run sound.yaml"),
    case("run-fails", &[], "run fails.yaml"),
    case("run-asks", &[], "run asks.yaml"),
    case("run-agrees", &[], "run agrees.yaml"),
    case("run-invalid", &[], "run slip.yaml"),
    case("run-missing", &[], "run nobody"),
    case("run-dry", &[], "run sound.yaml --dry-run"),
    case("runs", &["run sound.yaml", "run fails.yaml"], "runs"),
    case("runs-none", &[], "runs"),
    case("runs-open", &["run sound.yaml", "run agrees.yaml"], "runs --open"),
    case("show", &["run fails.yaml"], "show run_"),
    case("show-missing", &[], "show run_nobody"),
    case("logs", &["run fails.yaml"], "logs run_"),
    case("logs-missing", &[], "logs run_nobody"),
    case("cancel", &["run asks.yaml"], "cancel run_ --yes"),
    case("cancel-ended", &["run sets.yaml"], "cancel run_ --yes"),
    case("pause", &["run asks.yaml"], "pause run_"),
    case("pause-ended", &["run fails.yaml"], "pause run_"),
    case("resume-plan", &["run fails.yaml"], "resume run_ --plan"),
    case("resume", &["run fails.yaml"], "resume run_"),
    case("resume-missing", &[], "resume run_nobody"),
    case("inbox", &["run agrees.yaml"], "inbox"),
    case("inbox-none", &[], "inbox"),
    case("approve-missing", &[], "approve run_nobody"),
    case("reject-missing", &[], "reject run_nobody"),
    case("decide-nothing", &["run sound.yaml"], "decide run_ --outcome happened"),
    case("submit", &["run asks.yaml"], "submit run_ look sound.yaml"),
    case("submit-not-due", &["run turns.yaml"], "submit run_ later sound.yaml"),
    case("submit-unknown", &["run asks.yaml"], "submit run_ later sound.yaml"),
    case("backup", &["run sound.yaml"], "backup copy"),
    case("backup-twice", &["run sound.yaml", "backup copy"], "backup copy"),
    case("restore", &["run sets.yaml", "backup copy", "runs purge --yes"], "restore copy"),
    case("restore-twice", &["run sets.yaml", "backup copy"], "restore copy"),
    case("purge", &["run sound.yaml"], "runs purge --yes"),
    case("purge-unsure", &["run sets.yaml"], "runs purge"),
    case("forget", &[], "inputs forget --yes"),
    case("validate", &[], "workflow validate sound.yaml"),
    case("validate-slip", &[], "workflow validate slip.yaml"),
    case("validate-missing", &[], "workflow validate nobody.yaml"),
    case("fix", &[], "workflow validate --fix slip.yaml"),
    case("workflow-show", &[], "workflow show sound.yaml"),
    case("workflow-show-missing", &[], "workflow show nobody"),
    case("workflow-list", &["workflow save sound.yaml"], "workflow list"),
    case("workflow-inputs", &[], "workflow inputs refund-order"),
    case("workflow-plan", &[], "workflow plan sound.yaml"),
    case("workflow-graph", &[], "workflow graph agrees.yaml"),
    case("workflow-new", &[], "workflow new tidy"),
    case("workflow-new-twice", &["workflow new tidy"], "workflow new tidy"),
    case("workflow-save", &[], "workflow save sound.yaml"),
    case("workflow-save-slip", &[], "workflow save slip.yaml"),
    case("workflow-save-twice", &["workflow save sound.yaml"], "workflow save sound.yaml"),
    case("workflow-rename", &["workflow save sound.yaml"], "workflow rename sound other"),
    case("workflow-rename-missing", &[], "workflow rename nobody other"),
    case("workflow-delete", &["workflow save sound.yaml"], "workflow delete sound --yes"),
    case("workflow-delete-unsure", &["workflow save sound.yaml"], "workflow delete sound"),
    case("workflow-versions", &["workflow save sound.yaml"], "workflow versions sound"),
    case("workflow-versions-missing", &[], "workflow versions nobody"),
    case("guide-next", &[], "guide next bug-investigation"),
    case("guide-next-missing", &[], "guide next nobody"),
    case("guide-next-manifest", &[], "guide next sets.yaml"),
    case("guide-check-missing", &[], "guide check bug-investigation nobody sound.yaml"),
    case("catalog-validate", &[], "catalog validate shop.yaml"),
    case("catalog-validate-no-api", &[], "catalog validate sound.yaml"),
    case("catalog-preview", &[], "catalog preview shop.yaml"),
    case(
        "catalog-preview-options",
        &["catalog import shop.yaml --vendor acme"],
        "catalog preview --commands shop.yaml --vendor acme --title Mine",
    ),
    case("catalog-import", &[], "catalog import shop.yaml"),
    case("catalog-import-twice", &["catalog import shop.yaml"], "catalog import shop.yaml"),
    case("catalog-list", &["catalog import shop.yaml"], "catalog list"),
    case("catalog-list-none", &[], "catalog list"),
    case("catalog-show", &["catalog import shop.yaml"], "catalog show shop-api"),
    case("catalog-show-missing", &[], "catalog show nobody"),
    case("catalog-disable", &["catalog import shop.yaml"], "catalog disable shop-api"),
    case("catalog-enable-missing", &[], "catalog enable nobody"),
    case("catalog-remove", &["catalog import shop.yaml"], "catalog remove shop-api --yes"),
    case("catalog-remove-unsure", &["catalog import shop.yaml"], "catalog remove shop-api"),
    case("catalog-auth", &["catalog import shop.yaml"], "catalog auth shop-api"),
    case("command-search", &["catalog import shop.yaml"], "command search refund"),
    case("command-search-none", &["catalog import shop.yaml"], "command search zebra"),
    case("command-show", &["catalog import shop.yaml"], "command show shop-api orders:get"),
    case("command-show-missing", &["catalog import shop.yaml"], "command show shop-api orders:got"),
    case("command-providers", &["catalog import shop.yaml"], "command providers"),
    case("secret-list", &[], "secret list"),
    case("secret-remove-missing", &[], "secret remove NOBODY"),
    case("mcp-budget", &[], "mcp --tools core budget"),
    case("config-get-missing", &[], "config get nobody"),
    case("docs-missing", &[], "docs durabilty"),
    case("docs", &[], "docs"),
    case("docs-page", &[], "docs RUN_CONFLICT"),
    case("init", &[], "init"),
    case("init-twice", &["init"], "init"),
    case("approve", &["run agrees.yaml"], "approve run_"),
    case("reject", &["run agrees.yaml"], "reject run_"),
    case("decide-missing", &[], "decide run_nobody --outcome give-up"),
    case("workflow-sources", &[], "workflow sources"),
    case("workflow-diff", &[TWICE[0], TWICE[1]], "workflow diff sound"),
    case("workflow-diff-missing", &[], "workflow diff nobody"),
    case("workflow-restore", &[TWICE[0], TWICE[1]], "workflow restore sound FIRST"),
    case("workflow-restore-missing", &[TWICE[0]], "workflow restore sound 00000000"),
    case("workflow-graph-missing", &[], "workflow graph nobody"),
    case("workflow-plan-missing", &[], "workflow plan nobody"),
    case("workflow-inputs-missing", &[], "workflow inputs nobody"),
    case("workflow-delete-missing", &[], "workflow delete nobody --yes"),
    case("guide-check", &[], "guide check sound.yaml a sound.yaml"),
    case("catalog-diff", &["catalog import shop.yaml"], "catalog diff shop-api shop.yaml"),
    case("catalog-diff-missing", &[], "catalog diff nobody"),
    case("catalog-preview-no-api", &[], "catalog preview sound.yaml"),
    case("catalog-import-missing", &[], "catalog import nobody.yaml"),
    case("catalog-enable", &["catalog import shop.yaml"], "catalog enable shop-api"),
    case("catalog-disable-missing", &[], "catalog disable nobody"),
    case("catalog-remove-missing", &[], "catalog remove nobody --yes"),
    case("catalog-auth-missing", &[], "catalog auth nobody"),
    case("catalog-mock-missing", &[], "catalog mock nobody"),
    case(
        "command-run-dry",
        &["catalog import shop.yaml"],
        "command run shop-api orders:list --dry-run",
    ),
    case("command-run-missing", &["catalog import shop.yaml"], "command run shop-api orders:lst"),
    case("command-run-invalid", &["catalog import shop.yaml"], "command run shop-api orders:get"),
    case("command-choices-missing", &[], "command choices nobody things:list"),
    case("config-path", &[], "config path"),
    case("config-get", &[], "config get"),
    case("config-set", &[], "config set env_allow REGION"),
    case("config-set-invalid", &[], "config set nobody 1"),
    case("schema-unknown", &[], "schema nothing"),
    case("completions-unknown", &[], "completions dosh"),
    case("man-nowhere", &[], "man --dir sound.yaml"),
    case("doctor", &[], "doctor"),
    case("demo-unknown", &[], "demo nobody"),
    Case { typed: &["\u{4}"], ..case("person-set-pin", &[], "person set-pin") },
    Case { typed: &["\u{4}"], ..case("approve-end", &["run agrees.yaml"], "approve run_") },
    case("secret-set-invalid", &[], "secret set no:name"),
    case("mcp-install", &[], "mcp install cursor --print"),
    case("mcp-install-unknown", &[], "mcp install nobody"),
    case("serve-invalid", &[], "serve --port none"),
    case("inputs-forget-nothing", &[], "inputs forget"),
    case("inputs-forget-invalid", &[], "inputs forget --workflow No!"),
    case("unknown-command", &[], "workfow list"),
    case("unknown-option", &[], "runs --opne"),
    // Cases with input typed at a terminal.
    Case { typed: &["y"], ..case("approve-yes", &["run agrees.yaml"], "approve run_") },
    Case { typed: &["y"], ..case("reject-yes", &["run agrees.yaml"], "reject run_") },
    Case { typed: &["n"], ..case("approve-no", &["run agrees.yaml"], "approve run_") },
    Case { typed: &["\u{3}"], ..case("approve-interrupted", &["run agrees.yaml"], "approve run_") },
    Case { typed: &["\u{3}"], ..case("person-pin-interrupted", &[], "person set-pin") },
    Case { typed: &["\u{3}"], ..case("cancel-interrupted", &["run asks.yaml"], "cancel run_") },
    case("run-agrees-quiet", &[], "run agrees.yaml -q"),
    case("catalog-show-begun", &["catalog import shop.yaml"], "catalog show sh"),
    case("catalog-show-several", &[IMPORT, DEPOT_TWO], "catalog show dep"),
    Case { typed: &["tr0mbone-7", "tr0mbone-7"], ..case("person-pin", &[], "person set-pin") },
    Case { typed: &["hunter2"], ..case("secret-set", &[], "secret set SHOP_TOKEN") },
    // Commands that run until they are stopped.
    Case { serves: true, ..case("serve", &[], "serve --port 0") },
    Case { serves: true, ..case("catalog-mock", &[], "catalog mock shop.yaml") },
    case("mcp", &[], "mcp"),
    case("mcp-invalid", &[], "mcp --surface none"),
    case("serve-remote", &[], "serve --listen 0.0.0.0:0"),
    case("run-sets", &[], "run sets.yaml"),
    case("run-rests", &[], "run rests.yaml"),
    Case {
        typed: &["y"],
        ..case("resume-set", &["run fails.yaml"], "resume run_ --set b={\"x\":1} --reason fixed")
    },
    case("resume-prefix", &["run sets.yaml", "run sets.yaml"], "resume run_"),
    case("logs-naps", &["run naps.yaml"], "logs run_"),
    Case {
        typed: &["y"],
        ..case(
            "decide",
            &["run strict.yaml", "submit run_ look sound.yaml"],
            "decide run_ --outcome happened --output {\"seen\":1}",
        )
    },
    case("command-run", &[IMPORT], "command run depot parts:list"),
    case(
        "command-run-unreached",
        &["catalog import depot.yaml --base-url http://127.0.0.1:9"],
        "command run depot parts:list",
    ),
    case("command-choices", &[IMPORT], "command choices depot parts:list"),
    case("command-providers-damaged", &[CATALOGS], "command providers"),
    case("catalog-list-damaged", &[CATALOGS], "catalog list"),
    case("command-search-damaged", &[CATALOGS], "command search refund"),
    case("mcp-budget-all", &[], "mcp budget"),
    Case { typed: &["y"], ..case("reject-goes-on", &["run minds.yaml"], "reject run_") },
    case("completions", &[], "completions bash"),
    case("man", &[], "man --dir pages"),
    case("schema", &[], "schema guide"),
    case("trust", &["copy asks.toml .milepost/config.toml"], "trust"),
    Case { typed: &["y"], ..case("trust-yes", &["copy asks.toml .milepost/config.toml"], "trust") },
    case("trust-own", &[], "trust"),
    case("trust-check", &["init"], "trust --check"),
    case("untrust", &["init"], "untrust"),
    case("untrust-own", &[], "untrust"),
    case("grants-none", &[], "grants"),
    case(
        "grants-revoke",
        &[
            "catalog import depot.yaml --vendor depot",
            "secret allow SHOP_TOKEN --command listParts --field headers.X-Token",
        ],
        "grants revoke daae58ba7289",
    ),
    case("grants-revoke-none", &[], "grants revoke 4f1c09"),
    Case {
        typed: &["y"],
        ..case(
            "run-untrusted",
            &[
                "copy asks.toml .milepost/config.toml",
                "copy sound.yaml .milepost/workflows/sound.yaml",
            ],
            "run sound",
        )
    },
    case(
        "secret-allow",
        &[IMPORT],
        "secret allow SHOP_TOKEN --command listParts --field headers.X-Token",
    ),
    case("workflow-review", &["workflow save sound.yaml"], "workflow review"),
    case("workflow-review-missing", &[], "workflow review nobody"),
    case("policy-check", &[IMPORT], "policy check depot parts:list"),
    case("policy-check-missing", &[], "policy check nobody"),
    case("secret-allow-no-command", &[], "secret allow SHOP_TOKEN --command nobody --field body"),
    case("secret-remove", &["secret set SHOP_TOKEN"], "secret remove SHOP_TOKEN"),
    case("secret-remove-near", &["secret set SHOP_TOKEN"], "secret remove SHOP_TOKE"),
    case(
        "secret-list-damaged",
        &["copy sound.yaml ../home/.local/share/milepost/secrets.age"],
        "secret list",
    ),
    case(
        "workflow-list-damaged",
        &["copy sound.yaml ../home/.config/milepost/workflows"],
        "workflow list",
    ),
    case("demo", &[], "demo order-health"),
    case("doctor-fault", &["copy bad.toml .milepost/config.toml"], "doctor"),
    case("status-fault", &["copy bad.toml .milepost/config.toml"], ""),
    case("init-file", &[], "init sound.yaml"),
    case("inbox-damaged", &[RUNS_DB], "inbox"),
    case("runs-damaged", &[RUNS_DB], "runs"),
    case("runs-status", &[], "runs --status done"),
    case("runs-cursor", &[], "runs --cursor x"),
    case("runs-workflow", &[], "runs --workflow No!"),
    case("runs-limit", &[], "runs --limit many"),
    case("runs-no-match", &["run sets.yaml"], "runs --workflow nope"),
    case("runs-long", &["run long.yaml"], "runs"),
    case("cancel-missing", &[], "cancel run_nobody --yes"),
    case("cancel-unsure", &["run asks.yaml"], "cancel run_"),
    case("submit-nothing", &["run asks.yaml"], "submit run_ look"),
    case("mcp-install-done", &[], "mcp install cursor"),
    case("mcp-install-damaged", &["copy slip.yaml ../home/.cursor/mcp.json"], "mcp install cursor"),
    case("usage-json", &[], "run --json"),
    case("help", &[], "--help"),
    case("help-run", &[], "run --help"),
    case("help-mcp-install", &[], "mcp install --help"),
];

/// Puts a file where a folder belongs.
const CATALOGS: &str = "copy sound.yaml ../home/.config/milepost/catalogs";

/// Cases recorded on a terminal with colours and progress.
#[cfg(target_os = "linux")]
pub(super) const SHOWN: [&str; 13] = [
    "approve-interrupted",
    "run-agrees",
    "show",
    "show-missing",
    "run-sets",
    "run-fails",
    "run-rests",
    "approve-yes",
    "runs",
    "validate-slip",
    "unknown-command",
    "help-run",
    "status-open",
];

/// Cases recorded on a narrow terminal.
#[cfg(target_os = "linux")]
pub(super) const NARROW: [&str; 8] = [
    "approve-interrupted",
    "catalog-auth-missing",
    "catalog-remove",
    "docs-page",
    "inputs-forget-invalid",
    "mcp-install-done",
    "run-fails",
    "serve-remote",
];
