//! The API of one catalog: a client, its credentials and retries.

use milepost_catalog::command::SecurityRequirement;
use milepost_model::secret::Mask;

use crate::auth::{AuthError, Authenticator};
use crate::client::{Client, Response, SendOptions};
use crate::fault::SendError;
use crate::oauth::TokenId;
use crate::outgoing::Outgoing;
use crate::retry::{CallRetry, HttpAttemptResult, HttpAttempts};

/// The client and the credentials of one catalog.
pub struct ApiClient {
    pub client: Client,
    pub auth: Authenticator,
}

/// A request and the options for sending it.
pub struct ApiCall<'a> {
    /// The request, without credentials.
    pub request: &'a Outgoing,
    /// The security requirements of the command.
    pub security: &'a [SecurityRequirement],
    pub retry: &'a CallRetry,
    /// Limits, and the secrets that the request contains.
    pub sending: SendOptions,
}

/// A response, with the secrets to mask before it is shown.
#[derive(Debug)]
pub struct ApiResponse {
    /// The response of the last attempt, even if its status is an error, because the body may
    /// explain it.
    pub response: Response,
    /// All secrets that were sent, because APIs may echo them.
    pub mask: Mask,
    pub attempts: u32,
    /// Whether the API refused the token that was sent. That token has been discarded: the next
    /// attempt gets a new one.
    pub token_refused: bool,
}

/// Why a call got no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Authentication failed before anything was sent to the API itself.
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error(transparent)]
    Send(#[from] SendError),
}

impl CallError {
    /// Whether the API certainly never saw the request.
    pub fn certainly_not_sent(&self) -> bool {
        match self {
            CallError::Auth(_) => true,
            CallError::Send(error) => error.certainly_not_sent(),
        }
    }
}

impl ApiClient {
    /// Sends a request, with retries. A refused token is replaced, once, if the request may be
    /// repeated; otherwise the caller decides whether to send it again.
    pub async fn call(&self, call: ApiCall<'_>) -> Result<ApiResponse, CallError> {
        let choice = self.auth.choose(call.security)?;
        let mut mask = call.sending.mask.clone();
        let mut renewed = false;
        let mut attempts = HttpAttempts::new(call.retry);
        loop {
            let (mut result, tokens) =
                self.once(&call, &choice, &mut mask, attempts.number).await?;
            let refused = matches!(&result, Ok(response) if response.status == 401);
            let token_refused = refused && !tokens.is_empty();
            if token_refused {
                for token in &tokens {
                    token.forget().await;
                }
            }
            if token_refused && !renewed && call.retry.max_attempts > 1 {
                renewed = true;
                result = self.once(&call, &choice, &mut mask, attempts.number).await?.0;
            }
            if !attempts.again(&result).await {
                let attempts = attempts.number;
                return Ok(ApiResponse { response: result?, mask, attempts, token_refused });
            }
        }
    }

    async fn once(
        &self,
        call: &ApiCall<'_>,
        choice: &SecurityRequirement,
        mask: &mut Mask,
        attempt: u32,
    ) -> Result<(HttpAttemptResult, Vec<TokenId>), AuthError> {
        let timeout = call.sending.timeout;
        let ready = self.auth.ready(&self.client, call.request, choice, timeout).await?;
        mask.extend(&ready.credentials.mask);
        let credentials = Some(ready.credentials);
        // A run counts its attempts itself and passes the number of the current one; `attempt` is
        // then always 1.
        let attempt = call.sending.attempt.max(attempt);
        let sending = SendOptions { credentials, attempt, ..call.sending.clone() };
        Ok((self.client.send(call.request, &sending).await, ready.tokens))
    }
}
