//! Tokens to tree: a recursive-descent parser over one token of lookahead.
//!
//! It stops at the first error, resolves macro variables to slots, checks that functions exist and
//! get the right number of arguments, and notes every reference and secret on its way.

use regex::{Regex, RegexBuilder};

use super::ast::{
    BinaryOp, Call, Element, Entry, Link, LogicOp, Macro, MacroKind, Node, NodeKind, Step,
    StepKind, UnaryOp,
};
use super::function::{self, Form, Function, Signature};
use super::lexer::{Lexer, Tok, Token};
use super::limits::{NESTING_DEPTH_MAX, PATTERN_BYTES_MAX, SOURCE_BYTES_MAX};
use super::literal::{self, Literal};
use super::{Reference, SecretUse, Span, SyntaxError, ValueType, reference, slips};

type Parsed<T> = Result<T, SyntaxError>;

/// What parsing a source yields.
pub(super) struct Parse {
    pub(super) root: Node,
    pub(super) references: Vec<Reference>,
    pub(super) secrets: Vec<SecretUse>,
}

pub(super) fn parse(source: &str) -> Parsed<Parse> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!(
            "the expression is {} bytes long, and the limit is {SOURCE_BYTES_MAX}",
            source.len()
        );
        return Err(SyntaxError::new(Span::new(0, 0), message)
            .help("compute parts of it in a `set` step and refer to them"));
    }
    if let Some(error) = slips::braces_around(source) {
        return Err(error);
    }
    let mut parser = Parser::new(source)?;
    let root = parser.expr()?;
    if parser.token.tok != Tok::End {
        return Err(parser.unexpected());
    }
    let Parser { references, mut secrets, .. } = parser;
    mark_legal(&root, &mut secrets);
    Ok(Parse { root, references, secrets })
}

/// A pattern with the engine's size bounded, or what the engine has against it.
pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The engine draws the pattern with a marker; the last line says what is wrong.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    })
}

/// A secret may be the whole expression or be joined by `+` at its top: nowhere else does its
/// sentinel reach the outbound request unchanged.
fn mark_legal(root: &Node, secrets: &mut [SecretUse]) {
    let mut mark = |node: &Node| {
        if matches!(&node.kind, NodeKind::Call(call) if call.function == Function::Secret) {
            let found = secrets.iter_mut().find(|secret| {
                node.span.start <= secret.span.start && secret.span.end <= node.span.end
            });
            if let Some(secret) = found {
                secret.legal = true;
            }
        }
    };
    mark(root);
    if let NodeKind::Chain { first, rest } = &root.kind
        && rest.iter().all(|link| link.op == BinaryOp::Add)
    {
        mark(first);
        for link in rest {
            mark(&link.operand);
        }
    }
}

struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    token: Token,
    /// The token before `token`.
    before: Token,
    depth: usize,
    locals: Vec<&'s str>,
    references: Vec<Reference>,
    secrets: Vec<SecretUse>,
}

/// The levels of binary operators, loosest first.
#[derive(Clone, Copy)]
enum Level {
    Relation,
    Sum,
    Product,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parsed<Parser<'s>> {
        let mut lexer = Lexer::new(source, 0);
        let token = lexer.next()?;
        let before = Token { tok: Tok::End, span: Span::new(0, 0) };
        Ok(Parser {
            source,
            lexer,
            token,
            before,
            depth: 0,
            locals: Vec::new(),
            references: Vec::new(),
            secrets: Vec::new(),
        })
    }

    fn bump(&mut self) -> Parsed<Token> {
        let next = self.lexer.next()?;
        self.before = std::mem::replace(&mut self.token, next);
        Ok(self.before)
    }

    fn eat(&mut self, tok: Tok) -> Parsed<bool> {
        let found = self.token.tok == tok;
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    /// The closing partner of the bracket at `open`.
    fn close(&mut self, tok: Tok, open: Span) -> Parsed<Span> {
        match self.token.tok {
            found if found == tok => Ok(self.bump()?.span),
            Tok::End => Err(slips::never_closed(self.text(open), open)),
            _ => Err(self.unexpected()),
        }
    }

    /// The error for a token that cannot follow what was read so far.
    fn unexpected(&self) -> SyntaxError {
        slips::unexpected(self.source, self.before, self.token)
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == NESTING_DEPTH_MAX {
            let message = format!("the expression nests deeper than {NESTING_DEPTH_MAX} levels");
            return Err(SyntaxError::new(self.token.span, message));
        }
        self.depth += 1;
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    fn expr(&mut self) -> Parsed<Node> {
        self.nested(Self::choice)
    }

    fn choice(&mut self) -> Parsed<Node> {
        let mut condition = self.logic(LogicOp::Or)?;
        let start = condition.span;
        let mut arms = Vec::new();
        while self.token.tok == Tok::Question {
            let question = self.bump()?.span;
            let then = self.expr()?;
            if self.token.tok == Tok::End {
                return Err(SyntaxError::new(question, "`?` has no `:` that goes with it")
                    .help("write `condition ? value : other value`"));
            }
            if !self.eat(Tok::Colon)? {
                return Err(self.unexpected());
            }
            arms.push((condition, then));
            condition = self.logic(LogicOp::Or)?;
        }
        if arms.is_empty() {
            return Ok(condition);
        }
        let span = start.to(condition.span);
        Ok(Node { span, kind: NodeKind::Choice { arms, otherwise: Box::new(condition) } })
    }

    fn logic(&mut self, op: LogicOp) -> Parsed<Node> {
        let first = self.logic_operand(op)?;
        let tok = match op {
            LogicOp::Or => Tok::Or,
            LogicOp::And => Tok::And,
        };
        if self.token.tok != tok {
            return Ok(first);
        }
        let mut terms = vec![first];
        while self.eat(tok)? {
            terms.push(self.logic_operand(op)?);
        }
        let span = terms[0].span.to(self.before_end());
        Ok(Node { span, kind: NodeKind::Logic { op, terms } })
    }

    fn logic_operand(&mut self, op: LogicOp) -> Parsed<Node> {
        match op {
            LogicOp::Or => self.logic(LogicOp::And),
            LogicOp::And => self.chain(Level::Relation),
        }
    }

    fn before_end(&self) -> Span {
        self.before.span
    }

    fn chain(&mut self, level: Level) -> Parsed<Node> {
        let first = self.chain_operand(level)?;
        let mut rest = Vec::new();
        while let Some(op) = binary_op(level, self.token.tok) {
            let op_span = self.bump()?.span;
            let operand = self.chain_operand(level)?;
            rest.push(Link { op, op_span, operand });
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let span = first.span.to(self.before_end());
        Ok(Node { span, kind: NodeKind::Chain { first: Box::new(first), rest } })
    }

    fn chain_operand(&mut self, level: Level) -> Parsed<Node> {
        match level {
            Level::Relation => self.chain(Level::Sum),
            Level::Sum => self.chain(Level::Product),
            Level::Product => self.unary(),
        }
    }

    fn unary(&mut self) -> Parsed<Node> {
        let (tok, op) = match self.token.tok {
            Tok::Not => (Tok::Not, UnaryOp::Not),
            Tok::Minus => (Tok::Minus, UnaryOp::Negate),
            _ => return self.postfix(),
        };
        let start = self.token.span;
        let mut count = 0;
        while self.eat(tok)? {
            count += 1;
        }
        let number = matches!(self.token.tok, Tok::Int | Tok::Float);
        let operand = if op == UnaryOp::Negate && number {
            // The sign belongs to the number: the least integer has no positive counterpart.
            count -= 1;
            let sign = self.before.span;
            let literal = self.number(true)?;
            let base = Node { span: sign.to(self.before.span), kind: NodeKind::Literal(literal) };
            self.steps(base)?
        } else {
            self.nested(Self::unary)?
        };
        if count == 0 {
            return Ok(operand);
        }
        let span = start.to(operand.span);
        Ok(Node { span, kind: NodeKind::Unary { op, count, operand: Box::new(operand) } })
    }

    fn number(&mut self, negative: bool) -> Parsed<Literal> {
        let Token { tok, span } = self.bump()?;
        let text = self.text(span);
        if tok == Tok::Int {
            literal::int(text, negative, span)
        } else {
            literal::double(text, negative, span)
        }
    }

    fn postfix(&mut self) -> Parsed<Node> {
        let base = self.primary()?;
        self.steps(base)
    }

    fn steps(&mut self, base: Node) -> Parsed<Node> {
        let mark = self.references.len();
        let mut steps = Vec::new();
        loop {
            match self.token.tok {
                Tok::Dot => steps.push(self.member(&base, &steps)?),
                Tok::LBracket => steps.push(self.index()?),
                Tok::LBrace if matches!(base.kind, NodeKind::Root(_)) => {
                    return Err(slips::message_literal(base.span.to(self.token.span)));
                }
                _ => break,
            }
        }
        let is_type = |name: &str| steps.is_empty() && ValueType::named(name).is_some();
        if !matches!(&base.kind, NodeKind::Root(name) if is_type(name))
            && let Some(found) = reference::of(self.source, &base, &steps)
        {
            // References inside its indexes were noted first, but stand behind it in the source.
            self.references.insert(mark, found);
        }
        if steps.is_empty() {
            return Ok(base);
        }
        let span = base.span.to(self.before.span);
        Ok(Node { span, kind: NodeKind::Access { base: Box::new(base), steps } })
    }

    fn index(&mut self) -> Parsed<Step> {
        let open = self.bump()?.span;
        let optional = self.eat(Tok::Question)?;
        if self.token.tok == Tok::RBracket {
            return Err(SyntaxError::new(open.to(self.token.span), "`[]` needs an index")
                .help("write `[0]` for the first element"));
        }
        let key = Box::new(self.expr()?);
        let close = self.close(Tok::RBracket, open)?;
        Ok(Step { span: open.to(close), kind: StepKind::Index { key, optional } })
    }

    fn member(&mut self, base: &Node, steps: &[Step]) -> Parsed<Step> {
        let dot = self.bump()?.span;
        let optional = self.eat(Tok::Question)?;
        let name_token = self.token;
        match name_token.tok {
            // Words are words behind a dot: data may well hold a field called `in`.
            Tok::Ident | Tok::In | Tok::True | Tok::False | Tok::Null => {}
            Tok::Quoted => return self.quoted_field(dot, optional),
            _ => return Err(slips::no_member_name(self.source, dot, name_token)),
        }
        self.bump()?;
        let name = self.text(name_token.span);
        if self.token.tok != Tok::LParen {
            let kind = StepKind::Field { name: name.into(), name_span: name_token.span, optional };
            return Ok(Step { span: dot.to(name_token.span), kind });
        }
        if optional {
            return Err(SyntaxError::new(dot.to(name_token.span), "`.?` reads a field")
                .help(format!("write `.{name}(…)` to call a method")));
        }
        let kind = if let Some(kind) = MacroKind::named(name) {
            StepKind::Macro(self.macro_call(kind, name_token.span)?)
        } else if let Some(signature) = function::find(name, Form::Method) {
            StepKind::Method(self.call(signature, name_token.span)?)
        } else {
            let end = steps.last().map_or(base.span, |step| step.span);
            let receiver = base.span.to(end);
            return Err(slips::unknown_method(self.source, receiver, name_token.span));
        };
        Ok(Step { span: dot.to(self.before.span), kind })
    }

    fn quoted_field(&mut self, dot: Span, optional: bool) -> Parsed<Step> {
        let token = self.bump()?;
        let name_span = literal::inside(self.text(token.span), token.span);
        let name = self.text(name_span).into();
        let kind = StepKind::Field { name, name_span, optional };
        Ok(Step { span: dot.to(token.span), kind })
    }

    /// The arguments of a macro, from its opening parenthesis on.
    fn macro_call(&mut self, kind: MacroKind, name: Span) -> Parsed<Macro> {
        let open = self.bump()?.span;
        let variable = self.token;
        if variable.tok != Tok::Ident || slips::is_reserved(self.text(variable.span)) {
            return Err(slips::no_macro_variable(kind, variable.span));
        }
        self.bump()?;
        if self.token.tok != Tok::Comma {
            return Err(match self.token.tok {
                Tok::End => slips::never_closed("(", open),
                _ => slips::no_macro_variable(kind, variable.span),
            });
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
            return Err(SyntaxError::new(name, message).help(slips::macro_usage(kind)));
        }
        self.close(Tok::RParen, open)?;
        Ok(Macro { kind, only_if, body: Box::new(body) })
    }

    /// The arguments of a function, from its opening parenthesis on.
    fn call(&mut self, signature: &'static Signature, name: Span) -> Parsed<Call> {
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
            return Err(slips::wrong_count(signature, args.len(), name.to(close)));
        }
        let mut pattern = None;
        if signature.function == Function::Matches
            && let Some(last) = args.last()
            && let Some(Literal::Str(text)) = last.literal()
        {
            let compiled = compile_pattern(text).map_err(|reason| {
                SyntaxError::new(last.span, format!("the pattern is not valid: {reason}"))
                    .help("the syntax is that of RE2: no look-around, no back-references")
            })?;
            pattern = Some(Box::new(compiled));
        }
        Ok(Call { function: signature.function, args, pattern })
    }

    fn primary(&mut self) -> Parsed<Node> {
        let Token { tok, span } = self.token;
        let literal = match tok {
            Tok::Int | Tok::Float => self.number(false)?,
            Tok::Str => {
                self.bump()?;
                literal::string(self.text(span), span)?
            }
            Tok::True | Tok::False => {
                self.bump()?;
                Literal::Bool(tok == Tok::True)
            }
            Tok::Null => {
                self.bump()?;
                Literal::Null
            }
            Tok::Ident => return self.name(),
            Tok::LParen => {
                self.bump()?;
                let inner = self.expr()?;
                let close = self.close(Tok::RParen, span)?;
                return Ok(Node { span: span.to(close), kind: inner.kind });
            }
            Tok::LBracket => return self.list(),
            Tok::LBrace => return self.map(),
            _ => return Err(slips::no_operand(self.source, self.before, self.token)),
        };
        Ok(Node { span, kind: NodeKind::Literal(literal) })
    }

    fn name(&mut self) -> Parsed<Node> {
        let span = self.token.span;
        let name = self.text(span);
        if let Some(slot) = self.locals.iter().rposition(|local| *local == name) {
            self.bump()?;
            return Ok(Node { span, kind: NodeKind::Local(slot) });
        }
        if slips::is_reserved(name) {
            return Err(slips::reserved(self.source, span));
        }
        self.bump()?;
        match self.token.tok {
            Tok::LParen if name == "has" => return self.has(span),
            Tok::LParen if name == "not" => return Err(self.word_not(span)),
            Tok::LParen => return self.global_call(name, span),
            Tok::Dot if name == "optional" => return self.optional_call(span),
            _ => {}
        }
        if let Some(error) = slips::foreign_constant(name, span) {
            return Err(error);
        }
        if name == "not" && starts_operand(self.token.tok) {
            return Err(self.word_not(span));
        }
        Ok(Node { span, kind: NodeKind::Root(name.into()) })
    }

    /// `not x` can be mended for certain only if nothing that `!` binds tighter than follows.
    fn word_not(&mut self, span: Span) -> SyntaxError {
        let operand = self.nested(Self::unary);
        let mended = operand.is_ok()
            && match self.token.tok {
                Tok::End | Tok::RParen | Tok::And | Tok::Or | Tok::Question | Tok::Comma => true,
                Tok::Ident => matches!(self.text(self.token.span), "and" | "or"),
                _ => false,
            };
        slips::word_not(span, mended)
    }

    fn global_call(&mut self, name: &'s str, span: Span) -> Parsed<Node> {
        let Some(signature) = function::find(name, Form::Global) else {
            return Err(slips::unknown_function(name, span));
        };
        let mark = self.references.len();
        let call = self.call(signature, span)?;
        let span = span.to(self.before.span);
        match call.function {
            Function::Coalesce => {
                self.references[mark..].iter_mut().for_each(|found| found.guarded = true);
            }
            Function::Secret => {
                let arg = &call.args[0];
                let Some(Literal::Str(name)) = arg.literal() else {
                    return Err(SyntaxError::new(
                        arg.span,
                        "the name of a secret must be written out as a string",
                    )
                    .help("write `secret('name')`: which secrets a run needs is known before it"));
                };
                self.secrets.push(SecretUse { name: name.to_string(), span, legal: false });
            }
            _ => {}
        }
        Ok(Node { span, kind: NodeKind::Call(call) })
    }

    /// `optional.of(x)` and its like, from the dot on.
    fn optional_call(&mut self, start: Span) -> Parsed<Node> {
        self.bump()?;
        let name = self.token;
        let signature = function::find(self.text(name.span), Form::Optional);
        let (Tok::Ident, Some(signature)) = (name.tok, signature) else {
            return Err(slips::unknown_optional(start.to(name.span)));
        };
        self.bump()?;
        if self.token.tok != Tok::LParen {
            return Err(slips::unknown_optional(start.to(name.span)));
        }
        let call = self.call(signature, name.span)?;
        Ok(Node { span: start.to(self.before.span), kind: NodeKind::Call(call) })
    }

    /// `has(a.b)`, from the opening parenthesis on.
    fn has(&mut self, start: Span) -> Parsed<Node> {
        let open = self.bump()?.span;
        let mark = self.references.len();
        let arg = self.expr()?;
        if let Some(found) = self.references.get_mut(mark) {
            found.guarded = true;
        }
        let arg_span = arg.span;
        if self.token.tok == Tok::Comma {
            return Err(SyntaxError::new(start, "`has` takes 1 argument"));
        }
        let close = self.close(Tok::RParen, open)?;
        if let NodeKind::Access { base, mut steps } = arg.kind
            && let Some(step) = steps.pop()
            && matches!(step.kind, StepKind::Field { .. } | StepKind::Index { .. })
        {
            let base = if steps.is_empty() {
                base
            } else {
                let end = steps[steps.len() - 1].span;
                let span = Span { start: base.span.start, end: end.end };
                Box::new(Node { span, kind: NodeKind::Access { base, steps } })
            };
            let kind = NodeKind::Has { base, step: Box::new(step) };
            return Ok(Node { span: start.to(close), kind });
        }
        Err(SyntaxError::new(arg_span, "`has` takes the path of a field")
            .help("write `has(inputs.name)`"))
    }

    fn list(&mut self) -> Parsed<Node> {
        let open = self.bump()?.span;
        let mut elements = Vec::new();
        while self.token.tok != Tok::RBracket {
            let optional = self.eat(Tok::Question)?;
            let value = self.expr()?;
            elements.push(Element { optional, value });
            if !self.eat(Tok::Comma)? {
                break;
            }
        }
        let close = self.close(Tok::RBracket, open)?;
        Ok(Node { span: open.to(close), kind: NodeKind::List(elements) })
    }

    fn map(&mut self) -> Parsed<Node> {
        let open = self.bump()?.span;
        let mut entries = Vec::new();
        while self.token.tok != Tok::RBrace {
            let optional = self.eat(Tok::Question)?;
            let key = self.expr()?;
            match self.token.tok {
                Tok::Colon => self.bump()?,
                Tok::End => return Err(slips::never_closed("{", open)),
                _ => return Err(slips::no_colon(self.token.span)),
            };
            let value = self.expr()?;
            entries.push(Entry { optional, key, value });
            if !self.eat(Tok::Comma)? {
                break;
            }
        }
        let close = self.close(Tok::RBrace, open)?;
        Ok(Node { span: open.to(close), kind: NodeKind::Map(entries) })
    }
}

fn binary_op(level: Level, tok: Tok) -> Option<BinaryOp> {
    Some(match (level, tok) {
        (Level::Relation, Tok::Eq) => BinaryOp::Equal,
        (Level::Relation, Tok::Ne) => BinaryOp::NotEqual,
        (Level::Relation, Tok::Lt) => BinaryOp::Less,
        (Level::Relation, Tok::Le) => BinaryOp::LessOrEqual,
        (Level::Relation, Tok::Gt) => BinaryOp::Greater,
        (Level::Relation, Tok::Ge) => BinaryOp::GreaterOrEqual,
        (Level::Relation, Tok::In) => BinaryOp::In,
        (Level::Sum, Tok::Plus) => BinaryOp::Add,
        (Level::Sum, Tok::Minus) => BinaryOp::Subtract,
        (Level::Product, Tok::Star) => BinaryOp::Multiply,
        (Level::Product, Tok::Slash) => BinaryOp::Divide,
        (Level::Product, Tok::Percent) => BinaryOp::Remainder,
        _ => return None,
    })
}

fn starts_operand(tok: Tok) -> bool {
    use Tok::{False, Ident, Int, LParen, Null, Str, True};
    matches!(tok, Ident | Int | Str | True | False | Null | LParen)
}
