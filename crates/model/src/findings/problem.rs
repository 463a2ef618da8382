//! Problems that users see, as data. Each interface renders them in its own way.

use serde_json::{Map, Value};

use crate::hint::Hint;
use crate::named_enum::named_enum;
use crate::suggest;
use crate::violation::Violation;

named_enum! {
    /// A rough classification of what a caller can do about a problem.
    pub Category {
        /// The request or a document is wrong.
        Validation = "validation",
        /// Something that the request refers to does not exist.
        NotFound = "not_found",
        /// Something that the request refers to is not in the state that the caller expects.
        Conflict = "conflict",
        /// The request could not be carried out.
        Execution = "execution",
        /// A bug in Milepost.
        Internal = "internal",
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $category:ident;)*) => {
        /// Every kind of problem. Each one has a page in `docs/errors/`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The stable name of the code.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $code),* }
            }

            /// The category, which determines what a caller can do about the problem.
            pub fn category(self) -> Category {
                match self { $(Code::$name => Category::$category),* }
            }
        }
    };
}

codes! {
    /// A workflow has errors.
    WorkflowInvalid = "WORKFLOW_INVALID", Validation;
    /// No workflow has this id.
    WorkflowNotFound = "WORKFLOW_NOT_FOUND", NotFound;
    /// A workflow with this id already exists.
    WorkflowExists = "WORKFLOW_EXISTS", Conflict;
    /// The workflow is not at the version that the caller has seen.
    WorkflowVersionConflict = "WORKFLOW_VERSION_CONFLICT", Conflict;
    /// The workflow has no such version.
    WorkflowVersionNotFound = "WORKFLOW_VERSION_NOT_FOUND", NotFound;
    /// The workflow comes from a read-only source.
    WorkflowReadOnly = "WORKFLOW_READ_ONLY", Conflict;
    /// An identifier is malformed.
    IdInvalid = "ID_INVALID", Validation;
    /// A file does not exist.
    FileNotFound = "FILE_NOT_FOUND", NotFound;
    /// A file is outside the allowed directory or is not a regular file.
    FileRefused = "FILE_REFUSED", Validation;
    /// Input values do not match the workflow's inputs.
    InputInvalid = "INPUT_INVALID", Validation;
    /// Reading or writing failed.
    StorageFailed = "STORAGE_FAILED", Execution;
    /// No step of the guide has this id.
    StepNotFound = "STEP_NOT_FOUND", NotFound;
    /// Validation criteria cannot be applied.
    CriteriaInvalid = "CRITERIA_INVALID", Validation;
    /// The guide cannot be walked with the given context.
    StateInvalid = "STATE_INVALID", Conflict;
    /// Parameters do not match the method or tool.
    ParamsInvalid = "PARAMS_INVALID", Validation;
    /// A line is not JSON.
    ParseError = "PARSE_ERROR", Validation;
    /// The JSON is not a valid request.
    RequestInvalid = "INVALID_REQUEST", Validation;
    /// No method has this name.
    MethodNotFound = "METHOD_NOT_FOUND", NotFound;
    /// A bug in Milepost.
    Internal = "INTERNAL_ERROR", Internal;
    /// A request came before the handshake, or the handshake asked for an unsupported version.
    ServerError = "SERVER_ERROR", Conflict;
    /// A document cannot be imported.
    CatalogInvalid = "CATALOG_INVALID", Validation;
    /// No catalog has this id or title.
    CatalogNotFound = "CATALOG_NOT_FOUND", NotFound;
    /// A catalog with this id or title already exists.
    CatalogExists = "CATALOG_EXISTS", Conflict;
    /// The catalog is disabled, so its commands cannot be used.
    CatalogDisabled = "CATALOG_DISABLED", Conflict;
    /// No command has this name.
    CommandNotFound = "COMMAND_NOT_FOUND", NotFound;
    /// Arguments do not match the command.
    ArgumentsInvalid = "ARGUMENTS_INVALID", Validation;
    /// The command is not a provider: it yields no choices.
    ProviderNotFound = "PROVIDER_NOT_FOUND", NotFound;
    /// A document cannot be read from its source.
    SourceUnreadable = "SOURCE_UNREADABLE", Execution;
    /// The API has no base URL.
    BaseUrlMissing = "BASE_URL_MISSING", Conflict;
    /// Credentials are missing or cannot be used.
    AuthFailed = "AUTH_FAILED", Execution;
    /// A request was not sent because its destination is not allowed.
    RequestRefused = "REQUEST_REFUSED", Execution;
    /// An API cannot be reached, or its response cannot be used.
    UpstreamFailed = "UPSTREAM_FAILED", Execution;
    /// An API did not respond in time.
    UpstreamTimeout = "UPSTREAM_TIMEOUT", Execution;
    /// A secret does not exist.
    SecretNotFound = "SECRET_NOT_FOUND", NotFound;
    /// A value contains the mask that is shown in place of a secret.
    MaskedValue = "MASKED_VALUE", Validation;
    /// No person allowed a secret to be sent where a request would send it.
    SecretNotAllowed = "SECRET_NOT_ALLOWED", Conflict;
    /// Secrets cannot be read or written.
    SecretsUnusable = "SECRETS_UNUSABLE", Execution;
    /// The configuration file has an error.
    ConfigInvalid = "CONFIG_INVALID", Validation;
    /// Another program's configuration was left unchanged because changing it is not safe.
    ClientConfigRefused = "CLIENT_CONFIG_REFUSED", Validation;
    /// An entry in another program's configuration has different content.
    ClientConfigConflict = "CLIENT_CONFIG_CONFLICT", Conflict;
    /// No run has this id.
    RunNotFound = "RUN_NOT_FOUND", NotFound;
    /// The run is not in a state that allows the operation.
    RunConflict = "RUN_CONFLICT", Conflict;
    /// A run's folder, documents or catalogs are missing.
    RunWorldMissing = "RUN_WORLD_MISSING", Conflict;
    StepNotDue = "STEP_NOT_DUE", Conflict;
    /// An expression cannot be evaluated with a run's values.
    ExpressionFailed = "EXPRESSION_FAILED", Execution;
    /// A `fail` step ended the run.
    FailedByAuthor = "FAILED_BY_AUTHOR", Execution;
    /// An API responded with an error.
    UpstreamRejected = "UPSTREAM_REJECTED", Execution;
    /// An output does not meet its step's contract.
    OutputInvalid = "OUTPUT_INVALID", Execution;
    /// Polling ended before its condition held.
    RepeatExhausted = "REPEAT_EXHAUSTED", Execution;
    /// It is unknown whether a request took effect.
    OutcomeUnknown = "OUTCOME_UNKNOWN", Execution;
    /// A person rejected the step, or nobody answered in time.
    ApprovalRejected = "APPROVAL_REJECTED", Execution;
    /// A project folder would act, and no person has trusted it.
    ProjectUntrusted = "PROJECT_UNTRUSTED", Conflict;
    /// A decision lacks proof that a person made it.
    PresenceRequired = "PRESENCE_REQUIRED", Conflict;
    /// A check showed that an agent's claim is not true.
    ClaimRefuted = "CLAIM_REFUTED", Execution;
    /// An agent has no attempts left.
    SubmissionsExhausted = "SUBMISSIONS_EXHAUSTED", Execution;
    /// A run exceeded its time limit.
    RunTimeout = "RUN_TIMEOUT", Execution;
    RunCanceled = "RUN_CANCELED", Execution;
    /// A run cannot continue from the requested step.
    ResumeRefused = "RESUME_REFUSED", Conflict;
    /// The server does not admit the sender of an HTTP request.
    AccessDenied = "ACCESS_DENIED", Execution;
    /// The call needs MCP tasks, which the client does not support.
    TaskCapabilityRequired = "TASK_CAPABILITY_REQUIRED", Execution;
    /// An irreversible action was not confirmed.
    ConfirmationRequired = "CONFIRMATION_REQUIRED", Conflict;
}

impl Code {
    /// Whether the same call may succeed later, or once it includes what the problem requests.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Code::StorageFailed
                | Code::UpstreamFailed
                | Code::UpstreamTimeout
                | Code::SourceUnreadable
                | Code::ConfirmationRequired
        )
    }
}

/// A problem with one argument of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// JSON pointer into the arguments.
    pub path: String,
    /// The schema keyword that was violated.
    pub rule: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    pub expected: String,
    /// What was found.
    pub actual: String,
    /// The next action to take; empty if `expected` is enough.
    pub suggestion: Hint,
}

/// A problem to report to the user.
#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    /// What happened, in one sentence.
    pub message: String,
    /// Where it happened: `workflow_id`, `path`, `line`.
    pub context: Box<Map<String, Value>>,
    /// The next action to take.
    pub hint: Hint,
    /// The violations, if a document is the cause.
    pub violations: Vec<Violation>,
    /// The problems with the arguments, if they are the cause.
    pub arguments: Vec<Argument>,
}

impl Problem {
    /// A problem without context.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<Hint>) -> Problem {
        let message: String = message.into();
        Problem {
            code,
            message: suggest::without_error_number(&message),
            context: Box::default(),
            hint: hint.into(),
            violations: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// Adds an entry to the context.
    #[must_use]
    pub fn context(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.context.insert(key.to_owned(), value.into());
        self
    }
}
