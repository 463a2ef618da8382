//! A command: one API operation, with everything needed to explain it, to check its arguments and
//! to send it. Commands are built from the document on demand. Their schemas are JSON Schema
//! 2020-12 regardless of the document's version, and include the definitions that they refer to.

use std::sync::Arc;

use milepost_model::commands::Effect;
use milepost_model::target::CommandId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One API operation.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiCommand {
    /// Group and name, separated by a space.
    pub id: CommandId,
    /// The HTTP method, in uppercase as sent.
    pub method: Method,
    /// The path template as written in the document: `/orders/{order_id}`.
    pub path: String,
    /// JSON pointer to the operation in its document.
    pub pointer: String,
    /// The `operationId`, sanitized.
    pub operation_id: Option<String>,
    /// A single line, sanitized and truncated.
    pub summary: String,
    /// The full description, sanitized and truncated.
    pub description: String,
    pub tags: Vec<String>,
    pub deprecated: bool,
    /// The parameters in document order; names are unique within a location.
    pub parameters: Vec<ApiParameter>,
    pub body: Option<ApiBody>,
    /// The responses in document order.
    pub responses: Vec<Response>,
    /// Alternative ways to authenticate, any one of which is enough; an empty requirement means
    /// that no authentication is needed.
    pub security: Vec<SecurityRequirement>,
    /// The API's server URLs, most preferred first.
    pub servers: Vec<String>,
    pub effect: Effect,
    /// Whether the request is safe to send twice.
    pub may_repeat: bool,
    /// Schemas that the schemas above reference as `#/$defs/<name>`.
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
    /// Parses a method name, ignoring case.
    pub fn parse(text: &str) -> Option<Method> {
        Method::ALL.iter().copied().find(|method| method.name().eq_ignore_ascii_case(text))
    }

    /// The effect of the method as HTTP defines it.
    pub fn effect(self) -> Effect {
        match self {
            Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query => {
                Effect::Read
            }
            Method::Post => Effect::Create,
            Method::Put | Method::Patch | Method::Delete => Effect::Write,
        }
    }

    /// Whether the method is idempotent as HTTP defines it.
    pub fn may_repeat(self) -> bool {
        !matches!(self, Method::Post | Method::Patch)
    }
}

milepost_model::named_enum! {
    /// Where a parameter is sent, named as in OpenAPI.
    #[derive(Serialize, Deserialize)]
    pub Location {
        Path = "path",
        /// In the query, after the `?`.
        Query = "query",
        Header = "header",
        /// In the `Cookie` header.
        Cookie = "cookie",
        /// The whole query string is this one value (`in: querystring` in OpenAPI 3.2).
        QueryString = "querystring",
    }
}

milepost_model::named_enum! {
    /// How a value is serialized to text, named as in OpenAPI.
    pub Style {
        Simple = "simple",
        Label = "label",
        Matrix = "matrix",
        Form = "form",
        SpaceDelimited = "spaceDelimited",
        PipeDelimited = "pipeDelimited",
        DeepObject = "deepObject",
        /// `collectionFormat: tsv` in OpenAPI 2.0.
        TabDelimited = "tsv",
        /// `style: cookie` in OpenAPI 3.2: like `form`, but unencoded and joined by `; `.
        Cookie = "cookie",
    }
}

/// A command parameter.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "these four flags are independent in OpenAPI")]
pub struct ApiParameter {
    /// The name as sent.
    pub name: String,
    pub location: Location,
    pub required: bool,
    pub deprecated: bool,
    /// The description, sanitized and truncated.
    pub description: String,
    /// How the value is serialized.
    pub style: Style,
    /// Whether each item or property is written separately.
    pub explode: bool,
    /// Whether reserved characters are left unencoded.
    pub allow_reserved: bool,
    /// The media type in which the value is serialized, if it has one instead of a style.
    pub content: Option<String>,
    /// The value's schema, including `default`, `enum` and `examples`.
    pub schema: Value,
}

impl ApiParameter {
    /// A path placeholder that the document does not declare; it is treated as a string.
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

/// A command's body.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiBody {
    pub required: bool,
    /// The description, sanitized and truncated.
    pub description: String,
    /// The alternatives in document order, one per media type.
    pub contents: Vec<Content>,
}

/// A body in one media type.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The media type as written in the document, including its parameters.
    pub media_type: String,
    /// The schema; `true` if the document gives none.
    pub schema: Value,
    /// How individual form properties are encoded.
    pub encoding: Vec<Encoding>,
    /// The first example in the document.
    pub example: Option<Value>,
}

impl Content {
    pub(crate) fn new(media_type: impl Into<String>, schema: Value) -> Content {
        Content { media_type: media_type.into(), schema, encoding: Vec::new(), example: None }
    }
}

/// How one form property is encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    pub property: String,
    pub content_type: Option<String>,
    /// How the value is serialized, if a style is given.
    pub style: Option<Style>,
    /// Whether each item or property is written separately.
    pub explode: Option<bool>,
    /// Whether reserved characters are left unencoded.
    pub allow_reserved: bool,
}

/// A command's response.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// `200`, `2XX` or `default`.
    pub status: String,
    /// The description, sanitized and truncated.
    pub description: String,
    /// The alternatives, one per media type.
    pub contents: Vec<Content>,
    pub headers: Vec<String>,
    /// Operations that can be called with values from this response.
    pub links: Vec<ResponseLink>,
}

/// An operation that can be called with values from a response.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseLink {
    pub name: String,
    /// The operation's `operationId`, or a reference to the operation.
    pub operation: String,
    /// The parameters and the expressions that supply them: `id` ← `$response.body#/id`.
    pub parameters: Vec<(String, String)>,
}

/// Security schemes that must be used together, with their scopes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement {
    /// Each scheme's name and scopes.
    pub schemes: Vec<(String, Vec<String>)>,
}

/// An authentication scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityScheme {
    /// A key that is sent with every request.
    ApiKey {
        /// The name of the header, parameter or cookie.
        name: String,
        /// The query, a header or a cookie.
        location: Location,
    },
    /// User name and password.
    Basic,
    /// A token in the `Authorization` header.
    Bearer,
    /// An OAuth 2 access token that the client obtains with its own credentials.
    ClientCredentials {
        token_url: String,
        /// The available scopes.
        scopes: Vec<String>,
    },
    /// A token from an OpenID Connect provider.
    OpenIdConnect {
        /// The URL of the provider's discovery document.
        url: String,
    },
    /// Another OAuth 2 flow or an unsupported scheme; the user can still supply a token.
    Other {
        /// The scheme's type and, for `http`, the name of the HTTP scheme: `http digest`.
        kind: String,
    },
}
