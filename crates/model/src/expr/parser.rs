//! Parses tokens into a tree by recursive descent, with one token of lookahead.
//!
//! It stops at the first error, resolves macro variables to slots, and records every reference and
//! secret along the way. Calls are in `parse_call.rs`.

use milepost_syntax::span::Span;

use super::ast::{
    AccessKind, AccessStep, BinaryOp, ChainLink, Element, Entry, ExprNode, LogicOp, MacroKind,
    NodeKind, UnaryOp,
};
use super::function::{self, Form};
use super::hyphenated_name::{HyphenatedName, misread};
use super::lexer::{Lexer, Tok, Token};
use super::limits::{NESTING_DEPTH_MAX, SOURCE_BYTES_MAX};
use super::literal::{self, Literal};
use super::parse_call::mark_legal;
use super::{Inner, Reference, SecretUse, SyntaxError, ValueType, common_mistakes, reference};

pub(super) type Parsed<T> = Result<T, Box<SyntaxError>>;

pub(super) fn parse(source: &str) -> Parsed<Inner> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!(
            "the expression is {} bytes long, and the limit is {SOURCE_BYTES_MAX}",
            source.len()
        );
        return SyntaxError::new(Span::new(0, 0), message)
            .help("compute parts of it in a `set` step and refer to them")
            .fail();
    }
    if let Some(error) = common_mistakes::braces_around(source) {
        return error.fail();
    }
    let mut parser = Parser::new(source)?;
    let root = parser.expr()?;
    if parser.token.tok != Tok::End {
        return parser.unexpected().fail();
    }
    let Parser { references, mut secrets, hyphenated, .. } = parser;
    mark_legal(&root, &mut secrets);
    Ok(Inner { source: source.into(), root, references, secrets, hyphenated })
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s str,
    lexer: Lexer<'s>,
    pub(super) token: Token,
    /// The token before `token`.
    pub(super) before: Token,
    depth: usize,
    pub(super) locals: Vec<&'s str>,
    pub(super) references: Vec<Reference>,
    pub(super) secrets: Vec<SecretUse>,
    hyphenated: Vec<HyphenatedName>,
}

/// How tightly a binary operator binds: `||` is the loosest.
fn binding(tok: Tok) -> Option<u8> {
    use BinaryOp::{Add, Divide, Multiply, Remainder, Subtract};
    Some(match tok {
        Tok::Or => 0,
        Tok::And => 1,
        Tok::Op(Add | Subtract) => 3,
        Tok::Op(Multiply | Divide | Remainder) => 4,
        // Comparisons and `in`.
        Tok::Op(_) => 2,
        _ => return None,
    })
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
            hyphenated: Vec::new(),
        })
    }

    pub(super) fn bump(&mut self) -> Parsed<Token> {
        let next = self.lexer.next()?;
        self.before = std::mem::replace(&mut self.token, next);
        Ok(self.before)
    }

    pub(super) fn eat(&mut self, tok: Tok) -> Parsed<bool> {
        let found = self.token.tok == tok;
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    pub(super) fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    /// Consumes the bracket that closes the one at `open`.
    pub(super) fn close(&mut self, tok: Tok, open: Span) -> Parsed<Span> {
        match self.token.tok {
            found if found == tok => Ok(self.bump()?.span),
            Tok::End => common_mistakes::never_closed(self.text(open), open).fail(),
            _ => self.unexpected().fail(),
        }
    }

    /// The error for a token that cannot follow the input so far.
    fn unexpected(&self) -> SyntaxError {
        common_mistakes::unexpected(self.source, self.before, self.token)
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == NESTING_DEPTH_MAX {
            let message = format!("the expression nests deeper than {NESTING_DEPTH_MAX} levels");
            return SyntaxError::new(self.token.span, message).fail();
        }
        self.depth += 1;
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn expr(&mut self) -> Parsed<ExprNode> {
        self.nested(Self::choice)
    }

    fn choice(&mut self) -> Parsed<ExprNode> {
        let mut condition = self.binary(0)?;
        let start = condition.span;
        let mut arms = Vec::new();
        while self.token.tok == Tok::Question {
            let question = self.bump()?.span;
            let then = self.expr()?;
            if self.token.tok == Tok::End {
                return SyntaxError::new(question, "`?` has no matching `:`")
                    .help("write `condition ? value : other value`")
                    .fail();
            }
            if !self.eat(Tok::Colon)? {
                return self.unexpected().fail();
            }
            arms.push((condition, then));
            condition = self.binary(0)?;
        }
        if arms.is_empty() {
            return Ok(condition);
        }
        let span = start.to(condition.span);
        Ok(ExprNode { span, kind: NodeKind::Choice { arms, otherwise: Box::new(condition) } })
    }

    /// Parses an operand and the following operators that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Parsed<ExprNode> {
        let mut node = self.unary()?;
        while let Some(level) = binding(self.token.tok).filter(|level| *level >= least) {
            node = match self.token.tok {
                Tok::Or => self.logic(LogicOp::Or, level, node)?,
                Tok::And => self.logic(LogicOp::And, level, node)?,
                _ => self.chain(level, node)?,
            };
        }
        Ok(node)
    }

    /// Parses the rest of `first && …`, all operands of that level at once.
    fn logic(&mut self, op: LogicOp, level: u8, first: ExprNode) -> Parsed<ExprNode> {
        let start = first.span;
        let mut terms = vec![first];
        while binding(self.token.tok) == Some(level) {
            self.bump()?;
            terms.push(self.binary(level + 1)?);
        }
        let span = start.to(self.before.span);
        Ok(ExprNode { span, kind: NodeKind::Logic { op, terms } })
    }

    /// Parses the rest of `first + …`, all operators of that level at once.
    fn chain(&mut self, level: u8, first: ExprNode) -> Parsed<ExprNode> {
        let start = first.span;
        let mut rest = Vec::new();
        while binding(self.token.tok) == Some(level)
            && let Tok::Op(op) = self.token.tok
        {
            let op_span = self.bump()?.span;
            let operand = self.binary(level + 1)?;
            let link = ChainLink { op, op_span, operand };
            let left = rest.last().map_or(&first, |link: &ChainLink| &link.operand);
            self.hyphenated.extend(misread(self.source, left, &link));
            rest.push(link);
        }
        let span = start.to(self.before.span);
        Ok(ExprNode { span, kind: NodeKind::Chain { first: Box::new(first), rest } })
    }

    fn unary(&mut self) -> Parsed<ExprNode> {
        let (tok, op) = match self.token.tok {
            Tok::Not => (Tok::Not, UnaryOp::Not),
            tok @ Tok::Op(BinaryOp::Subtract) => (tok, UnaryOp::Negate),
            _ => {
                let base = self.primary()?;
                return self.steps(base);
            }
        };
        let start = self.token.span;
        let mut count = 0;
        while self.eat(tok)? {
            count += 1;
        }
        let number = matches!(self.token.tok, Tok::Int | Tok::Float);
        let operand = if op == UnaryOp::Negate && number {
            // The sign is part of the number, since the smallest integer has no positive
            // counterpart.
            count -= 1;
            let sign = self.before.span;
            let literal = self.number(true)?;
            let base =
                ExprNode { span: sign.to(self.before.span), kind: NodeKind::Literal(literal) };
            self.steps(base)?
        } else {
            self.nested(Self::unary)?
        };
        if count == 0 {
            return Ok(operand);
        }
        let span = start.to(operand.span);
        Ok(ExprNode { span, kind: NodeKind::Unary { op, count, operand: Box::new(operand) } })
    }

    fn number(&mut self, negative: bool) -> Parsed<Literal> {
        let Token { tok, span } = self.bump()?;
        let text = self.text(span);
        Ok(if tok == Tok::Int {
            literal::int(text, negative, span)?
        } else {
            literal::double(text, negative, span)?
        })
    }

    fn steps(&mut self, base: ExprNode) -> Parsed<ExprNode> {
        let mark = self.references.len();
        let mut steps = Vec::new();
        loop {
            match self.token.tok {
                Tok::Dot => steps.push(self.member(&base, &steps)?),
                Tok::LBracket => steps.push(self.index()?),
                Tok::LBrace if matches!(base.kind, NodeKind::Root(_)) => {
                    let span = base.span.to(self.token.span);
                    return SyntaxError::new(span, "`{` cannot follow a name")
                        .help("write a map: `{'name': value}`")
                        .fail();
                }
                _ => break,
            }
        }
        let is_type = |name: &str| steps.is_empty() && ValueType::named(name).is_some();
        if !matches!(&base.kind, NodeKind::Root(name) if is_type(name))
            && let Some(found) = reference::of(self.source, &base, &steps)
        {
            // References inside the indexes were recorded first, but come after this one in the
            // source.
            self.references.insert(mark, found);
        }
        if steps.is_empty() {
            return Ok(base);
        }
        let span = base.span.to(self.before.span);
        Ok(ExprNode { span, kind: NodeKind::Access { base: Box::new(base), steps } })
    }

    fn index(&mut self) -> Parsed<AccessStep> {
        let open = self.bump()?.span;
        let optional = self.eat(Tok::Question)?;
        if self.token.tok == Tok::RBracket {
            return SyntaxError::new(open.to(self.token.span), "`[]` needs an index")
                .help("write `[0]` for the first element")
                .fail();
        }
        let key = Box::new(self.expr()?);
        let close = self.close(Tok::RBracket, open)?;
        Ok(AccessStep { span: open.to(close), kind: AccessKind::Index { key, optional } })
    }

    fn member(&mut self, base: &ExprNode, steps: &[AccessStep]) -> Parsed<AccessStep> {
        let dot = self.bump()?.span;
        let optional = self.eat(Tok::Question)?;
        let name_token = self.token;
        match name_token.tok {
            // Keywords are allowed after a dot, because data may have a field called `in`.
            Tok::Ident | Tok::Op(BinaryOp::In) | Tok::True | Tok::False | Tok::Null => {}
            Tok::Quoted => return self.quoted_field(dot, optional),
            _ => return common_mistakes::no_member_name(self.source, dot, name_token).fail(),
        }
        self.bump()?;
        let name = self.text(name_token.span);
        if self.token.tok != Tok::LParen {
            let kind =
                AccessKind::Field { name: name.into(), name_span: name_token.span, optional };
            return Ok(AccessStep { span: dot.to(name_token.span), kind });
        }
        if optional {
            return SyntaxError::new(dot.to(name_token.span), "`.?` cannot call a method")
                .help(format!("write `.{name}(…)` to call a method"))
                .fail();
        }
        let kind = if let Some(kind) = MacroKind::named(name) {
            AccessKind::Macro(self.macro_call(kind, name_token.span)?)
        } else if let Some(signature) = function::find(name, Form::Method) {
            AccessKind::Method(self.call(signature, name_token.span)?)
        } else {
            let end = steps.last().map_or(base.span, |step| step.span);
            let receiver = base.span.to(end);
            return common_mistakes::unknown_method(self.source, receiver, name_token.span).fail();
        };
        Ok(AccessStep { span: dot.to(self.before.span), kind })
    }

    fn quoted_field(&mut self, dot: Span, optional: bool) -> Parsed<AccessStep> {
        let token = self.bump()?;
        let name_span = literal::inside(self.text(token.span), token.span);
        let name = self.text(name_span).into();
        let kind = AccessKind::Field { name, name_span, optional };
        Ok(AccessStep { span: dot.to(token.span), kind })
    }

    fn primary(&mut self) -> Parsed<ExprNode> {
        let Token { tok, span } = self.token;
        let literal = match tok {
            Tok::Int | Tok::Float => self.number(false)?,
            Tok::Str => {
                self.bump()?;
                literal::string(self.text(span), span)?
            }
            Tok::True | Tok::False | Tok::Null => match self.bump()?.tok {
                Tok::Null => Literal::Null,
                tok => Literal::Bool(tok == Tok::True),
            },
            Tok::Ident => return self.name(),
            Tok::LParen => {
                self.bump()?;
                let inner = self.expr()?;
                let close = self.close(Tok::RParen, span)?;
                return Ok(ExprNode { span: span.to(close), kind: inner.kind });
            }
            Tok::LBracket => return self.list(),
            Tok::LBrace => return self.map(),
            _ => return common_mistakes::no_operand(self.source, self.before, self.token).fail(),
        };
        Ok(ExprNode { span, kind: NodeKind::Literal(literal) })
    }

    fn name(&mut self) -> Parsed<ExprNode> {
        let span = self.token.span;
        let name = self.text(span);
        if let Some(slot) = self.locals.iter().rposition(|local| *local == name) {
            self.bump()?;
            return Ok(ExprNode { span, kind: NodeKind::Local(slot) });
        }
        if common_mistakes::is_reserved(name) {
            return common_mistakes::reserved(self.source, span).fail();
        }
        self.bump()?;
        match self.token.tok {
            Tok::LParen if name == "has" => return self.has(span),
            Tok::LParen if name == "not" => return self.word_not(span).fail(),
            Tok::LParen => return self.global_call(name, span),
            Tok::Dot if name == "optional" => return self.optional_call(span),
            _ => {}
        }
        if let Some(error) = common_mistakes::foreign_constant(name, span) {
            return error.fail();
        }
        if name == "not" && starts_operand(self.token.tok) {
            return self.word_not(span).fail();
        }
        Ok(ExprNode { span, kind: NodeKind::Root(name.into()) })
    }

    /// The error for `not x`. The fix is certain only if no comparison or arithmetic operator
    /// follows, because `!` binds tighter than those, unlike `not`.
    fn word_not(&mut self, span: Span) -> SyntaxError {
        let operand = self.nested(Self::unary);
        let mended = operand.is_ok()
            && match self.token.tok {
                Tok::End | Tok::RParen | Tok::And | Tok::Or | Tok::Question | Tok::Comma => true,
                Tok::Ident => matches!(self.text(self.token.span), "and" | "or"),
                _ => false,
            };
        common_mistakes::word_not(span, mended)
    }

    fn list(&mut self) -> Parsed<ExprNode> {
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
        Ok(ExprNode { span: open.to(close), kind: NodeKind::List(elements) })
    }

    fn map(&mut self) -> Parsed<ExprNode> {
        let open = self.bump()?.span;
        let mut entries = Vec::new();
        while self.token.tok != Tok::RBrace {
            let optional = self.eat(Tok::Question)?;
            let key = self.expr()?;
            match self.token.tok {
                Tok::Colon => self.bump()?,
                Tok::End => return common_mistakes::never_closed("{", open).fail(),
                _ => {
                    return SyntaxError::new(self.token.span, "expected `:` after the key")
                        .help("write `{'name': value}`")
                        .fail();
                }
            };
            let value = self.expr()?;
            entries.push(Entry { optional, key, value });
            if !self.eat(Tok::Comma)? {
                break;
            }
        }
        let close = self.close(Tok::RBrace, open)?;
        Ok(ExprNode { span: open.to(close), kind: NodeKind::Map(entries) })
    }
}

fn starts_operand(tok: Tok) -> bool {
    use Tok::{False, Ident, Int, LParen, Null, Str, True};
    matches!(tok, Ident | Int | Str | True | False | Null | LParen)
}
