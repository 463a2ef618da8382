//! Problems: what goes wrong for a user, as data. Each door renders them in its own way.

use serde_json::{Map, Value};

use crate::hint::Hint;
use crate::named_enum::named_enum;
use crate::violation::Violation;

named_enum! {
    /// What a caller can do about a problem, roughly.
    pub Category {
        /// The request or a document is wrong.
        Validation = "validation",
        /// The thing asked for does not exist.
        NotFound = "not_found",
        /// The thing is in another state than the caller thinks.
        Conflict = "conflict",
        /// It could not be carried out.
        Execution = "execution",
        /// A bug in Milepost.
        Internal = "internal",
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $category:ident;)*) => {
        /// Every kind of problem. Each has its page in `docs/errors/`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The stable word.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $code),* }
            }

            /// What a caller can do about it.
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
    /// A workflow of this id is there already.
    WorkflowExists = "WORKFLOW_EXISTS", Conflict;
    /// A workflow is not the version that the caller has seen.
    WorkflowVersionConflict = "WORKFLOW_VERSION_CONFLICT", Conflict;
    /// A workflow has no such version.
    WorkflowVersionNotFound = "WORKFLOW_VERSION_NOT_FOUND", NotFound;
    /// A workflow of a source that is only read.
    WorkflowReadOnly = "WORKFLOW_READ_ONLY", Conflict;
    /// A text that is no identifier.
    IdInvalid = "ID_INVALID", Validation;
    /// A file that is not there.
    FileNotFound = "FILE_NOT_FOUND", NotFound;
    /// A file that lies outside the directory it was looked for in, or is no regular file.
    FileRefused = "FILE_REFUSED", Validation;
    /// Input values that do not fit the workflow's inputs.
    InputInvalid = "INPUT_INVALID", Validation;
    /// Reading or writing failed.
    StorageFailed = "STORAGE_FAILED", Execution;
    /// No step of the guide has this id.
    StepNotFound = "STEP_NOT_FOUND", NotFound;
    /// Validation criteria that cannot be applied.
    CriteriaInvalid = "CRITERIA_INVALID", Validation;
    /// A context that the guide cannot be walked with.
    StateInvalid = "STATE_INVALID", Conflict;
    /// Parameters that do not fit the method or tool.
    ParamsInvalid = "PARAMS_INVALID", Validation;
    /// A line that is no JSON.
    ParseError = "PARSE_ERROR", Validation;
    /// JSON that is no request.
    RequestInvalid = "INVALID_REQUEST", Validation;
    /// No method has this name.
    MethodNotFound = "METHOD_NOT_FOUND", NotFound;
    /// A fault of ours.
    Internal = "INTERNAL_ERROR", Internal;
    /// A request before the handshake, or a handshake for a version that is not spoken.
    ServerError = "SERVER_ERROR", Conflict;
    /// A document that cannot be imported.
    CatalogInvalid = "CATALOG_INVALID", Validation;
    /// No catalog has this id or title.
    CatalogNotFound = "CATALOG_NOT_FOUND", NotFound;
    /// A catalog of this id or title is there already.
    CatalogExists = "CATALOG_EXISTS", Conflict;
    /// A catalog whose commands are out of use.
    CatalogDisabled = "CATALOG_DISABLED", Conflict;
    /// No command has this name.
    CommandNotFound = "COMMAND_NOT_FOUND", NotFound;
    /// Arguments that do not fit the command.
    ArgumentsInvalid = "ARGUMENTS_INVALID", Validation;
    /// A command that yields no choices.
    ProviderNotFound = "PROVIDER_NOT_FOUND", NotFound;
    /// A document that cannot be read from where it is.
    SourceUnreadable = "SOURCE_UNREADABLE", Execution;
    /// An API without an address.
    BaseUrlMissing = "BASE_URL_MISSING", Conflict;
    /// Credentials that are not given, or cannot be used.
    AuthFailed = "AUTH_FAILED", Execution;
    /// A request that is not sent where it would go.
    RequestRefused = "REQUEST_REFUSED", Execution;
    /// An API that cannot be reached, or answers with what is no answer.
    UpstreamFailed = "UPSTREAM_FAILED", Execution;
    /// An API that does not answer in time.
    UpstreamTimeout = "UPSTREAM_TIMEOUT", Execution;
    /// A secret that is not there.
    SecretNotFound = "SECRET_NOT_FOUND", NotFound;
    /// Secrets that cannot be read or written.
    SecretsUnusable = "SECRETS_UNUSABLE", Execution;
    /// A configuration file with a fault.
    ConfigInvalid = "CONFIG_INVALID", Validation;
    /// A configuration of another program that is not changed, because that is not safe.
    ClientConfigRefused = "CLIENT_CONFIG_REFUSED", Validation;
    /// An entry in the configuration of another program that says something else.
    ClientConfigConflict = "CLIENT_CONFIG_CONFLICT", Conflict;
    /// No run has this id.
    RunNotFound = "RUN_NOT_FOUND", NotFound;
    /// A run that is not where it would have to be for this.
    RunConflict = "RUN_CONFLICT", Conflict;
    /// A run whose folder, texts or catalogs are not here.
    RunWorldMissing = "RUN_WORLD_MISSING", Conflict;
    /// A step that is not the one that is due.
    StepNotDue = "STEP_NOT_DUE", Conflict;
    /// An expression that cannot be evaluated with the values of a run.
    ExpressionFailed = "EXPRESSION_FAILED", Execution;
    /// A step whose author lets the run fail.
    FailedByAuthor = "FAILED_BY_AUTHOR", Execution;
    /// An API that answers with an error.
    UpstreamRejected = "UPSTREAM_REJECTED", Execution;
    /// An output that is not what its step promises.
    OutputInvalid = "OUTPUT_INVALID", Execution;
    /// Polling that did not come to its end.
    RepeatExhausted = "REPEAT_EXHAUSTED", Execution;
    /// A request of which nobody knows whether it took effect.
    OutcomeUnknown = "OUTCOME_UNKNOWN", Execution;
    /// A person said no, or nobody answered in time.
    ApprovalRejected = "APPROVAL_REJECTED", Execution;
    /// A decision without the proof that a person made it.
    PresenceRequired = "PRESENCE_REQUIRED", Conflict;
    /// A claim that the world does not bear out.
    ClaimRefuted = "CLAIM_REFUTED", Execution;
    /// An agent that has no tries left.
    SubmissionsExhausted = "SUBMISSIONS_EXHAUSTED", Execution;
    /// A run that took longer than it may.
    RunTimeout = "RUN_TIMEOUT", Execution;
    /// A run that somebody stopped.
    RunCanceled = "RUN_CANCELED", Execution;
    /// A run that cannot go on from there.
    ResumeRefused = "RESUME_REFUSED", Conflict;
    /// A request over HTTP by whom the server does not admit.
    AccessDenied = "ACCESS_DENIED", Execution;
    /// A task, for a client that knows none.
    TaskCapabilityRequired = "TASK_CAPABILITY_REQUIRED", Execution;
    /// Something that cannot be taken back, without a yes.
    ConfirmationRequired = "CONFIRMATION_REQUIRED", Conflict;
}

impl Code {
    /// Whether the same call may succeed later, or once what it asks for was given.
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

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// JSON pointer into the arguments.
    pub path: String,
    /// The keyword of the schema it goes back to.
    pub rule: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What would be right.
    pub expected: String,
    /// What is there.
    pub actual: String,
    /// The one next action about it; empty when `expected` says it all.
    pub suggestion: Hint,
}

/// Something a user has to know about.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Which kind.
    pub code: Code,
    /// What happened, in one sentence.
    pub message: String,
    /// Names that say where: `workflow_id`, `path`, `line`.
    pub context: Box<Map<String, Value>>,
    /// The one next action.
    pub hint: Hint,
    /// The findings behind it, when a document is the cause.
    pub violations: Vec<Violation>,
    /// What is wrong with the arguments, when they are the cause.
    pub arguments: Vec<Argument>,
}

impl Problem {
    /// A problem without context.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<Hint>) -> Problem {
        Problem {
            code,
            message: message.into(),
            context: Box::default(),
            hint: hint.into(),
            violations: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// Adds a name that says where.
    #[must_use]
    pub fn context(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.context.insert(key.to_owned(), value.into());
        self
    }
}
