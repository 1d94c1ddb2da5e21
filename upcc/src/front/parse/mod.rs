//! The parser. It checks types while it reads (a C parser must know typedef names anyway): the methods of
//! [`Parser`] in this folder read tokens, those in `sema/` build checked nodes.

mod attr;
mod cmode;
mod decl;
mod expr;
mod init;
mod knr;
mod macros;
mod pragma;
mod record;
mod spec;
mod stmt;

pub(crate) use cmode::c_mode;

use crate::front::keyword::{self, Kw};

use crate::diag::{Diagnostic, Severity};
use crate::front::ast::{self, *};
pub(crate) use crate::front::sema::{Bad, MAX_ERRORS, PResult, Sema, shorten};

use crate::front::sema::read::*;
use crate::front::token::*;
use crate::front::types::*;

/// How deeply constructs may nest.
const MAX_NESTING: u32 = 4000;
/// How long chains of `else if`, of labels and of `?:` may be, in all that is open at a place: each link is a
/// level of the tree, but programs that are made by programs have thousands.
const MAX_CHAIN: u32 = 20_000;
/// How many tokens one full expression may have: bounds the depth of its tree.
const MAX_EXPR_TOKENS: u32 = 100_000;
/// The parser of one translation unit: its position in the tokens, and the [`Sema`] that receives the
/// declarations, expressions and errors.
pub(crate) struct Parser<'a> {
    pub(crate) sema: Sema<'a>,
    /// Current token; never a pragma.
    pos: TokIdx,
    /// One past the last token consumed.
    prev_end: TokIdx,
    /// Pragmas before this one are dealt with.
    pragma_done: TokIdx,
    syntax_errors: usize,
    nesting: u32,
    chain: u32,
    /// First token of the full expression being read, if any.
    full_expr: Option<TokIdx>,
    pub(crate) pack: Vec<u64>,
    pub(crate) pack_now: u64,
    /// `#pragma upc start_upc_only` not yet ended.
    pub(crate) upc_only: Vec<TokIdx>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(toks: TokenBuf, opts: &'a FrontOptions) -> Self {
        let mut cx = Parser {
            sema: Sema::new(toks, opts),
            pos: 0,
            prev_end: 0,
            pragma_done: 0,
            syntax_errors: 0,
            nesting: 0,
            chain: 0,
            full_expr: None,
            pack: Vec::new(),
            pack_now: 0,
            upc_only: Vec::new(),
        };
        cx.c_mode = cmode::c_mode(&cx.toks);
        debug_assert!(!cx.toks.toks.is_empty());
        cx.skip_pragmas();
        cx
    }

    // ---- tokens ----

    fn skip_pragmas(&mut self) {
        while self.toks.tok(self.pos).kind == TokKind::Pragma {
            self.pos += 1;
        }
    }

    pub(crate) fn pos(&self) -> TokIdx {
        self.pos
    }
    pub(crate) fn kind(&self) -> TokKind {
        if self.stopped { TokKind::Eof } else { self.toks.tok(self.pos).kind }
    }
    pub(crate) fn bump(&mut self) -> TokIdx {
        let i = self.pos;
        if self.kind() != TokKind::Eof {
            self.pos += 1;
            self.prev_end = self.pos;
            self.skip_pragmas();
        }
        i
    }
    /// Index of the `n`th token after the current one.
    pub(crate) fn ahead_idx(&self, n: u32) -> TokIdx {
        let mut i = self.pos;
        for _ in 0..n {
            if self.toks.tok(i).kind == TokKind::Eof {
                break;
            }
            i += 1;
            while self.toks.tok(i).kind == TokKind::Pragma {
                i += 1;
            }
        }
        i
    }
    pub(crate) fn ahead(&self, n: u32) -> TokKind {
        self.toks.tok(self.ahead_idx(n)).kind
    }
    pub(crate) fn is(&self, p: Punct) -> bool {
        self.kind() == TokKind::Punct(p)
    }
    pub(crate) fn eat(&mut self, p: Punct) -> bool {
        let y = self.is(p);
        if y {
            self.bump();
        }
        y
    }
    pub(crate) fn kw(&self) -> Option<Kw> {
        self.kw_at(self.pos)
    }
    pub(crate) fn kw_ahead(&self, n: u32) -> Option<Kw> {
        self.kw_at(self.ahead_idx(n))
    }
    pub(crate) fn is_kw(&self, k: Kw) -> bool {
        self.kw() == Some(k)
    }
    pub(crate) fn eat_kw(&mut self, k: Kw) -> bool {
        let y = self.is_kw(k);
        if y {
            self.bump();
        }
        y
    }
    pub(crate) fn ident(&self) -> Option<Sym> {
        self.ident_at(self.pos)
    }
    pub(crate) fn since(&self, start: TokIdx) -> TokRange {
        TokRange::new(start, self.prev_end.max(start))
    }
    /// The current token in words, for a message.
    pub(crate) fn found(&self) -> String {
        match self.kind() {
            TokKind::Eof => "the end of the file".to_owned(),
            _ => format!("`{}`", shorten(self.toks.spelling(self.pos))),
        }
    }
    pub(crate) fn expect(&mut self, p: Punct, what: &str) -> PResult<TokIdx> {
        if self.is(p) {
            return Ok(self.bump());
        }
        let found = self.found();
        if p == Punct::Semi && self.prev_end > 0 {
            // Point at what lacks the semicolon.
            let at = self.prev_end - 1;
            self.error_after(at, format!("expected `;` {what}, found {found}"));
        } else {
            self.error_here(format!("expected `{}` {what}, found {found}", p.text()));
        }
        Err(Bad)
    }

    /// Runs `f` one level deeper; an error if that is too deep.
    pub(crate) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        if self.nesting >= MAX_NESTING {
            return Err(self.too_deep());
        }
        self.nesting += 1;
        let r = f(self);
        self.nesting -= 1;
        r
    }

    fn too_deep(&mut self) -> Bad {
        self.error_here("this is nested too deeply; split it up".to_owned());
        self.gave_up = true;
        self.pos = self.toks.toks.len() as u32 - 1;
        Bad
    }

    /// Runs `f`, which reads the next link of a chain, on the level of this one.
    pub(crate) fn chained<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        if self.chain >= MAX_CHAIN {
            return Err(self.too_deep());
        }
        let level = self.nesting;
        self.nesting = level.saturating_sub(1);
        self.chain += 1;
        let r = f(self);
        self.chain -= 1;
        self.nesting = level;
        r
    }

    /// Runs `f` as (part of) a full expression, whose length is bounded.
    pub(crate) fn bounded<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        let outer = self.full_expr;
        if outer.is_none() {
            self.full_expr = Some(self.pos);
        }
        let r = f(self);
        self.full_expr = outer;
        r
    }
    pub(crate) fn check_expr_size(&mut self) -> PResult<()> {
        if self.full_expr.is_some_and(|s| self.pos - s > MAX_EXPR_TOKENS) {
            self.error_here("this expression is too long; split it up".to_owned());
            return Err(Bad);
        }
        Ok(())
    }

    /// An error at the current token.
    pub(crate) fn error_here(&mut self, message: impl Into<String>) {
        self.sema.error(self.pos, message);
    }

    /// An error at a token. It is the parser's own method so that its arguments may look at the parser.
    pub(crate) fn error(&mut self, tok: TokIdx, message: impl Into<String>) {
        self.sema.error(tok, message);
    }

    // ---- productions that others need which are above them ----
    //
    // The grammar of C is recursive. Modules call each other from the top down, statements first, and
    // whatever goes up goes through here.

    /// A constant expression with an integer value; `what` it is for, in messages.
    pub(crate) fn const_int(&mut self, what: &str) -> PResult<Option<i128>> {
        self.read_const_int(what)
    }
    /// The type that a declarator makes of another.
    pub(crate) fn apply_declarator(&mut self, base: TypeId, d: &Declarator, start: TokIdx) -> TypeId {
        self.read_apply_declarator(base, d, start)
    }
    /// A static assertion.
    pub(crate) fn static_assert(&mut self) -> PResult<bool> {
        self.read_static_assert()
    }
    /// A `struct` or `union` as a type.
    pub(crate) fn record_spec(&mut self, spec: &mut DeclSpec) -> PResult<TypeId> {
        self.read_record_spec(spec)
    }
    /// An `enum` as a type.
    pub(crate) fn enum_spec(&mut self, spec: &mut DeclSpec) -> PResult<TypeId> {
        self.read_enum_spec(spec)
    }
    /// The body of a function.
    pub(crate) fn function_body(&mut self) -> PResult<ast::Block> {
        self.read_function_body()
    }

    /// Whether `_Static_assert` follows, perhaps behind some `__extension__`, which are read then.
    pub(crate) fn at_static_assert(&mut self) -> bool {
        let mut n = 0;
        while self.kw_ahead(n) == Some(Kw::Extension) {
            n += 1;
        }
        let follows = self.kw_ahead(n) == Some(Kw::StaticAssert);
        while follows && !self.is_kw(Kw::StaticAssert) {
            self.bump();
        }
        follows
    }

    /// Whether token `i` begins declaration specifiers (a typedef name counts if it is one here).
    pub(crate) fn starts_type(&self, i: TokIdx) -> bool {
        use Kw::*;
        match self.kw_at(i) {
            Some(
                Char | Const | Double | Enum | Float | Int | Long | Restrict | Short | Signed | Struct
                | Union | Unsigned | Void | Volatile | Bool | Complex | Imaginary | Atomic | Typeof
                | AutoType | Int128 | Int128T | UInt128T | BFloat16 | Float16 | Float32 | Float64 | Float32x
                | Float64x | Float128 | Float80 | Decimal32 | Decimal64 | Decimal128 | VaListT | Shared
                | Strict | Relaxed,
            ) => true,
            Some(_) => false,
            None => self.ident_at(i).is_some_and(|s| self.is_typedef(s)),
        }
    }

    /// The token after the attributes that stand at token `i`, if any.
    pub(crate) fn past_attributes(&self, mut i: TokIdx) -> TokIdx {
        let next = |mut i: TokIdx| {
            i += 1;
            while self.toks.tok(i).kind == TokKind::Pragma {
                i += 1;
            }
            i
        };
        let double = |i: TokIdx| {
            let open = |i: TokIdx| self.toks.tok(i).kind == TokKind::Punct(Punct::LBracket);
            open(i) && open(next(i))
        };
        while self.kw_at(i) == Some(Kw::Attribute) || double(i) {
            let mut depth = i32::from(double(i));
            loop {
                i = next(i);
                match self.toks.tok(i).kind {
                    TokKind::Punct(Punct::LParen | Punct::LBracket) => depth += 1,
                    TokKind::Punct(Punct::RParen | Punct::RBracket) => depth -= 1,
                    // Never closed.
                    TokKind::Punct(Punct::Semi | Punct::LBrace | Punct::RBrace) | TokKind::Eof => return i,
                    _ => {}
                }
                if depth <= 0 {
                    break;
                }
            }
            i = next(i);
        }
        i
    }

    // ---- recovery ----

    /// Skips to after the next `;`, or to before a `}` that closes the current block, whichever comes first;
    /// groups in brackets and braces are skipped whole.
    pub(crate) fn recover(&mut self) {
        self.syntax_errors += 1;
        let mut depth = 0u32;
        loop {
            match self.kind() {
                TokKind::Eof => return,
                TokKind::Punct(Punct::LBrace) => depth += 1,
                TokKind::Punct(Punct::RBrace) => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                    if depth == 0 {
                        self.bump();
                        // `} x;` of a struct goes on to the semicolon, a function body ends here.
                        if !self.is(Punct::Semi) && !self.is(Punct::Comma) && !self.is(Punct::Star) {
                            return;
                        }
                        continue;
                    }
                }
                TokKind::Punct(Punct::Semi) if depth == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// With the current token an opening bracket: skips to after its partner.
    pub(crate) fn skip_group(&mut self) -> PResult<()> {
        let open = self.pos;
        let mut stack = Vec::new();
        loop {
            match self.kind() {
                TokKind::Eof => {
                    let p = self.toks.spelling(open).to_owned();
                    self.error(open, format!("this `{p}` is never closed"));
                    return Err(Bad);
                }
                TokKind::Punct(p @ (Punct::LParen | Punct::LBrace | Punct::LBracket)) => stack.push(p),
                TokKind::Punct(p @ (Punct::RParen | Punct::RBrace | Punct::RBracket)) => {
                    let ok = matches!(
                        (stack.pop(), p),
                        (Some(Punct::LParen), Punct::RParen)
                            | (Some(Punct::LBrace), Punct::RBrace)
                            | (Some(Punct::LBracket), Punct::RBracket)
                    );
                    if !ok {
                        self.error_here(format!("this `{}` closes nothing", p.text()));
                        return Err(Bad);
                    }
                    if stack.is_empty() {
                        self.bump();
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }

    pub(crate) fn finish(mut self) -> FrontResult {
        self.sema.diags.sort_by_key(|d| d.0);
        let diagnostics = self.sema.diags.into_iter().map(|d| d.1).collect();
        let unit = TranslationUnit {
            tokens: self.sema.toks,
            types: self.sema.types,
            decls: self.sema.decls,
            exprs: self.sema.exprs,
            items: Vec::new(),
        };
        FrontResult { unit, diagnostics, lex_errors: 0, syntax_errors: self.syntax_errors }
    }
}

impl<'a> core::ops::Deref for Parser<'a> {
    type Target = Sema<'a>;

    fn deref(&self) -> &Sema<'a> {
        &self.sema
    }
}

impl core::ops::DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.sema
    }
}
