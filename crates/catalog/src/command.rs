//! A command: one operation of an API with all that is needed to explain it, to check its
//! arguments and to send it. Made on demand from the document; schemas are JSON Schema 2020-12
//! whatever the document's version, with what they refer to beside them.

use std::sync::Arc;

use milepost_model::commands::Effect;
use milepost_model::target::CommandId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One operation of an API.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiCommand {
    /// `group name`.
    pub id: CommandId,
    /// The method, in capitals as it goes on the wire.
    pub method: Method,
    /// The path template as the document has it: `/orders/{order_id}`.
    pub path: String,
    /// JSON pointer of the operation in its document.
    pub pointer: String,
    /// The operation's id, cleaned.
    pub operation_id: Option<String>,
    /// One line, cleaned and capped.
    pub summary: String,
    /// More, cleaned and capped.
    pub description: String,
    pub tags: Vec<String>,
    /// Whether its authors advise against it.
    pub deprecated: bool,
    /// Its parameters, in the order of the document; names are unique within a location.
    pub parameters: Vec<ApiParameter>,
    pub body: Option<ApiBody>,
    /// Its answers, in the order of the document.
    pub responses: Vec<Response>,
    /// Ways to authenticate: any one of these; an empty one means that none is needed.
    pub security: Vec<SecurityRequirement>,
    /// Where it is reached, best first.
    pub servers: Vec<Server>,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it may be sent twice.
    pub may_repeat: bool,
    /// Schemas that the schemas above refer to as `#/$defs/<name>`.
    pub defs: Arc<Map<String, Value>>,
}

milepost_model::named_enum! {
    /// An HTTP method, by its name on the wire.
    #[derive(Serialize, Deserialize)]
    pub Method {
        Get = "GET",
        Head = "HEAD",
        Options = "OPTIONS",
        Trace = "TRACE",
        Query = "QUERY",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
        Delete = "DELETE",
    }
}

impl Method {
    /// Reads a name in any letters.
    pub fn parse(text: &str) -> Option<Method> {
        Method::ALL.iter().copied().find(|method| method.name().eq_ignore_ascii_case(text))
    }

    /// What it does to the world, as HTTP defines it.
    pub fn effect(self) -> Effect {
        match self {
            Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query => {
                Effect::Read
            }
            Method::Post => Effect::Create,
            Method::Put | Method::Patch | Method::Delete => Effect::Write,
        }
    }

    /// Whether sending it twice does no more than sending it once, as HTTP defines it.
    pub fn may_repeat(self) -> bool {
        !matches!(self, Method::Post | Method::Patch)
    }
}

milepost_model::named_enum! {
    /// Where a parameter travels, by the word of OpenAPI.
    #[derive(Serialize, Deserialize)]
    pub Location {
        /// In the path.
        Path = "path",
        /// Behind the `?`.
        Query = "query",
        /// As a header.
        Header = "header",
        /// In the `Cookie` header.
        Cookie = "cookie",
        /// All that stands behind the `?` is this one value (`in: querystring` of OpenAPI 3.2).
        QueryString = "querystring",
    }
}

/// How a value becomes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// `collectionFormat: tsv` of 2.0.
    TabDelimited,
    /// `style: cookie` of 3.2: as `form`, nothing encoded, joined by `; `.
    Cookie,
}

/// A parameter of a command.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "OpenAPI has these four, and each stands alone")]
pub struct ApiParameter {
    /// Its name as it goes on the wire.
    pub name: String,
    pub location: Location,
    /// Whether the command works without.
    pub required: bool,
    /// Whether its authors advise against it.
    pub deprecated: bool,
    /// What it is, cleaned and capped.
    pub description: String,
    /// How its value becomes text.
    pub style: Style,
    /// Whether each item or property stands alone.
    pub explode: bool,
    /// Whether reserved characters stay as they are.
    pub allow_reserved: bool,
    /// The media type its value is written in, instead of a style.
    pub content: Option<String>,
    /// The schema of its value, `default`, `enum` and `examples` included.
    pub schema: Value,
}

impl ApiParameter {
    /// A placeholder of a path that the document does not describe: text.
    pub(crate) fn undeclared(name: &str) -> ApiParameter {
        ApiParameter {
            name: name.to_owned(),
            location: Location::Path,
            required: true,
            deprecated: false,
            description: String::new(),
            style: Style::Simple,
            explode: false,
            allow_reserved: false,
            content: None,
            schema: json!({"type": "string"}),
        }
    }
}

/// The body of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiBody {
    /// Whether the command works without.
    pub required: bool,
    /// What it is, cleaned and capped.
    pub description: String,
    /// What it can be, in the order of the document.
    pub contents: Vec<Content>,
}

/// A body in one media type.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The media type as the document has it, parameters included.
    pub media_type: String,
    /// Its schema; `true` when nothing is said.
    pub schema: Value,
    /// How single properties are written, for forms.
    pub encoding: Vec<Encoding>,
    /// An example, the first one there is.
    pub example: Option<Value>,
}

/// How one property of a form is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    pub property: String,
    pub content_type: Option<String>,
    /// How its value becomes text, when a style is given.
    pub style: Option<Style>,
    /// Whether each item or property stands alone.
    pub explode: Option<bool>,
    /// Whether reserved characters stay as they are.
    pub allow_reserved: bool,
}

/// An answer of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// `200`, `2XX` or `default`.
    pub status: String,
    /// What it means, cleaned and capped.
    pub description: String,
    /// What it can be.
    pub contents: Vec<Content>,
    /// The names of its headers.
    pub headers: Vec<String>,
    /// Operations that its values lead to.
    pub links: Vec<ResponseLink>,
}

/// An operation that values of an answer lead to.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseLink {
    pub name: String,
    /// The id of the operation, or a reference to it.
    pub operation: String,
    /// Which parameter gets what: `id` ← `$response.body#/id`.
    pub parameters: Vec<(String, String)>,
}

/// Schemes that are needed together, with their scopes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement {
    /// The names of the schemes and the scopes of each.
    pub schemes: Vec<(String, Vec<String>)>,
}

/// A way to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityScheme {
    /// A key that is sent with each request.
    ApiKey {
        /// The name of the header, parameter or cookie.
        name: String,
        /// Where it travels: query, header or cookie.
        location: Location,
    },
    /// Name and password.
    Basic,
    /// A token in the `Authorization` header.
    Bearer,
    /// A token from a token server, for a client of its own.
    ClientCredentials {
        /// Where tokens are given.
        token_url: String,
        /// The scopes there are.
        scopes: Vec<String>,
    },
    /// A token from a server that is described elsewhere.
    OpenIdConnect {
        /// Where it is described.
        url: String,
    },
    /// Another flow of OAuth 2, or a scheme that needs what we do not have: a token can be given.
    Other {
        /// What it is, in one word.
        kind: String,
    },
}

/// Where an API is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The URL with its variables filled in by their defaults; may be relative to the source.
    pub url: String,
}
