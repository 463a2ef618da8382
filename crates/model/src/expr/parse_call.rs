//! Parses calls to functions, methods and macros, and the few calls with special rules.

use milepost_syntax::span::Span;
use regex::{Regex, RegexBuilder};

use super::ast::{AccessKind, Call, ExprNode, Macro, MacroKind, NodeKind};
use super::function::{self, Form, Function, Signature};
use super::lexer::Tok;
use super::limits::PATTERN_BYTES_MAX;
use super::literal::Literal;
use super::parser::{Parsed, Parser};
use super::{SecretUse, SyntaxError, common_mistakes};

impl<'s> Parser<'s> {
    /// Parses the arguments of a macro, starting at the opening parenthesis.
    pub(super) fn macro_call(&mut self, kind: MacroKind, name: Span) -> Parsed<Macro> {
        let open = self.bump()?.span;
        let variable = self.token;
        if variable.tok != Tok::Ident || common_mistakes::is_reserved(self.text(variable.span)) {
            return common_mistakes::no_macro_variable(kind, variable.span).fail();
        }
        self.bump()?;
        if self.token.tok != Tok::Comma {
            let error = match self.token.tok {
                Tok::End => common_mistakes::never_closed("(", open),
                _ => common_mistakes::no_macro_variable(kind, variable.span),
            };
            return error.fail();
        }
        self.bump()?;
        self.locals.push(self.text(variable.span));
        let mut body = self.expr()?;
        let mut only_if = None;
        if kind == MacroKind::Map && self.eat(Tok::Comma)? {
            only_if = Some(Box::new(body));
            body = self.expr()?;
        }
        self.locals.pop();
        if self.token.tok == Tok::Comma {
            let message = format!("`{}` has too many arguments", kind.name());
            return SyntaxError::new(name, message).help(common_mistakes::macro_usage(kind)).fail();
        }
        self.close(Tok::RParen, open)?;
        Ok(Macro { kind, only_if, body: Box::new(body) })
    }

    /// Parses the arguments of a function, starting at the opening parenthesis.
    pub(super) fn call(&mut self, signature: &'static Signature, name: Span) -> Parsed<Call> {
        let open = self.bump()?.span;
        let mut args = Vec::new();
        while self.token.tok != Tok::RParen {
            args.push(self.expr()?);
            if !self.eat(Tok::Comma)? {
                break;
            }
        }
        let close = self.close(Tok::RParen, open)?;
        if !signature.args.contains(&args.len()) {
            return common_mistakes::wrong_count(signature, args.len(), name.to(close)).fail();
        }
        let pattern = literal_pattern(signature.function, &args)?;
        Ok(Call { function: signature.function, args, pattern })
    }

    pub(super) fn global_call(&mut self, name: &'s str, span: Span) -> Parsed<ExprNode> {
        let Some(signature) = function::find(name, Form::Global) else {
            return common_mistakes::unknown_function(name, span).fail();
        };
        let mark = self.references.len();
        let call = self.call(signature, span)?;
        let span = span.to(self.before.span);
        match call.function {
            Function::Coalesce => {
                self.references[mark..].iter_mut().for_each(|found| found.guarded = true);
            }
            Function::Secret => self.secrets.push(secret_use(&call.args[0], span)?),
            _ => {}
        }
        Ok(ExprNode { span, kind: NodeKind::Call(call) })
    }

    /// Parses `optional.of(x)` and similar calls, starting at the dot.
    pub(super) fn optional_call(&mut self, start: Span) -> Parsed<ExprNode> {
        self.bump()?;
        let name = self.token;
        let signature = function::find(self.text(name.span), Form::Optional);
        let (Tok::Ident, Some(signature)) = (name.tok, signature) else {
            return common_mistakes::unknown_optional(start.to(name.span)).fail();
        };
        self.bump()?;
        if self.token.tok != Tok::LParen {
            return common_mistakes::unknown_optional(start.to(name.span)).fail();
        }
        let call = self.call(signature, name.span)?;
        Ok(ExprNode { span: start.to(self.before.span), kind: NodeKind::Call(call) })
    }

    /// Parses `has(a.b)`, starting at the opening parenthesis.
    pub(super) fn has(&mut self, start: Span) -> Parsed<ExprNode> {
        let open = self.bump()?.span;
        let mark = self.references.len();
        let arg = self.expr()?;
        if let Some(found) = self.references.get_mut(mark) {
            found.guarded = true;
        }
        let arg_span = arg.span;
        if self.token.tok == Tok::Comma {
            return SyntaxError::new(start, "`has` takes 1 argument").fail();
        }
        let close = self.close(Tok::RParen, open)?;
        if let NodeKind::Access { base, mut steps } = arg.kind
            && let Some(step) = steps.pop()
            && matches!(step.kind, AccessKind::Field { .. } | AccessKind::Index { .. })
        {
            let base = if steps.is_empty() {
                base
            } else {
                let end = steps[steps.len() - 1].span;
                let span = Span { start: base.span.start, end: end.end };
                Box::new(ExprNode { span, kind: NodeKind::Access { base, steps } })
            };
            let kind = NodeKind::Has { base, step: Box::new(step) };
            return Ok(ExprNode { span: start.to(close), kind });
        }
        SyntaxError::new(arg_span, "`has` takes the path of a field")
            .help("write `has(inputs.name)`")
            .fail()
    }
}

/// Compiles the `matches` pattern if it is a literal.
fn literal_pattern(function: Function, args: &[ExprNode]) -> Parsed<Option<Box<Regex>>> {
    let Some(last) = args.last().filter(|_| function == Function::Matches) else {
        return Ok(None);
    };
    let Some(Literal::Str(text)) = last.literal() else {
        return Ok(None);
    };
    match compile_pattern(text) {
        Ok(compiled) => Ok(Some(Box::new(compiled))),
        Err(reason) => SyntaxError::new(last.span, format!("the pattern is not valid: {reason}"))
            .help("use RE2 syntax: no look-around, no back-references")
            .fail(),
    }
}

fn secret_use(arg: &ExprNode, span: Span) -> Parsed<SecretUse> {
    match arg.literal() {
        Some(Literal::Str(name)) => Ok(SecretUse { name: name.to_string(), span, legal: false }),
        _ => SyntaxError::new(arg.span, "the name of a secret must be written out as a string")
            .help("write `secret('name')`: a run's secrets must be known before it starts")
            .fail(),
    }
}

/// Compiles a pattern with a size limit. The error is the regex engine's message.
pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The engine shows the pattern with a marker; its last line is the actual message.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    })
}

/// Marks the secrets that are the whole expression or joined by `+` at its top level. In any other
/// place the sentinel would not reach the outbound request unchanged.
pub(super) fn mark_legal(root: &ExprNode, secrets: &mut [SecretUse]) {
    for node in root.joined() {
        if matches!(&node.kind, NodeKind::Call(call) if call.function == Function::Secret)
            && let Some(secret) = secrets.iter_mut().find(|secret| node.span.holds(secret.span))
        {
            secret.legal = true;
        }
    }
}
