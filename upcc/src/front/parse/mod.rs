//! The parser. It checks types while it reads (a C parser must know typedef names anyway): the methods of
//! [`Cx`] in this folder read tokens, those in `sema/` build checked nodes.

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
use crate::front::ast::*;
use crate::front::sema::read::*;
use crate::front::sema::scope::Scope;
use crate::front::source::Sources;
use crate::front::token::*;
use crate::front::types::*;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// A syntax error, already reported.
#[derive(Debug)]
pub(crate) struct Bad;
pub(crate) type PResult<T> = Result<T, Bad>;

/// How deeply constructs may nest.
const MAX_NESTING: u32 = 4000;
/// How long chains of `else if`, of labels and of `?:` may be, in all that is open at a place: each link is a
/// level of the tree, but programs that are made by programs have thousands.
const MAX_CHAIN: u32 = 20_000;
/// How many tokens one full expression may have: bounds the depth of its tree.
const MAX_EXPR_TOKENS: u32 = 100_000;
/// Errors shown before giving up.
const MAX_ERRORS: usize = 200;
/// Warnings shown.
const MAX_WARNINGS: usize = 500;

/// Parser and checker of one translation unit.
pub(crate) struct Cx<'a> {
    pub(crate) opts: &'a FrontOptions,
    pub(crate) toks: TokenBuf,
    /// Current token; never a pragma.
    pos: TokIdx,
    /// One past the last token consumed.
    prev_end: TokIdx,
    /// Pragmas before this one are dealt with.
    pragma_done: TokIdx,
    pub(crate) types: Types,
    pub(crate) decls: Vec<Decl>,
    pub(crate) exprs: Vec<Expr>,
    /// How many nodes there are.
    pub(crate) nodes: Cell<u32>,
    /// Diagnostics, each with the token it is sorted by: a note has that of what it belongs to.
    pub(crate) diags: Vec<(TokIdx, Diagnostic)>,
    sources: Sources,
    errors: usize,
    warnings: usize,
    syntax_errors: usize,
    nesting: u32,
    chain: u32,
    /// Reading stopped before the end: what is missing after this is nobody's mistake.
    gave_up: bool,
    /// First token of the full expression being read, if any.
    full_expr: Option<TokIdx>,
    pub(crate) scopes: Vec<Scope>,
    /// Bindings by symbol: innermost last, with the depth of its scope.
    pub(crate) names: Vec<Vec<(u32, DeclId)>>,
    pub(crate) tags: FxHashMap<Sym, Vec<(u32, TagId)>>,
    /// Entities with linkage, by name.
    pub(crate) linked: FxHashMap<Sym, DeclId>,
    pub(crate) func: Option<FuncState>,
    /// `#pragma upc strict` in force.
    pub(crate) strict: bool,
    /// Bounds of variable-length arrays met since someone last took them.
    pub(crate) vla: Vec<ExprId>,
    /// Definitions of tags met since someone last took them.
    pub(crate) tag_defs: Vec<TagId>,
    pub(crate) pack: Vec<u64>,
    pub(crate) pack_now: u64,
    /// Inside an operand that is not evaluated.
    pub(crate) unevaluated: u32,
    /// `#pragma upc start_upc_only` not yet ended.
    pub(crate) upc_only: Vec<TokIdx>,
    /// File-scope objects of incomplete type, to be looked at again at the end.
    pub(crate) tentative: Vec<(DeclId, TokIdx)>,
    /// Threads of OpenMP may run while a `upc_forall` of this file is around.
    pub(crate) foralls: bool,
    /// Per token: UPC keywords are identifiers there. Empty if nowhere.
    c_mode: Vec<bool>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(toks: TokenBuf, opts: &'a FrontOptions) -> Self {
        let types = Types::new(opts.pts, opts.static_threads);
        let n = toks.toks.len() as u32;
        let mut cx = Cx {
            opts,
            toks,
            pos: 0,
            prev_end: 0,
            pragma_done: 0,
            types,
            decls: Vec::new(),
            exprs: Vec::new(),
            nodes: Cell::new(0),
            diags: Vec::new(),
            sources: Sources::default(),
            errors: 0,
            warnings: 0,
            syntax_errors: 0,
            nesting: 0,
            chain: 0,
            gave_up: false,
            full_expr: None,
            scopes: Vec::new(),
            names: Vec::new(),
            tags: FxHashMap::default(),
            linked: FxHashMap::default(),
            func: None,
            strict: false,
            vla: Vec::new(),
            tag_defs: Vec::new(),
            pack: Vec::new(),
            pack_now: 0,
            unevaluated: 0,
            upc_only: Vec::new(),
            tentative: Vec::new(),
            foralls: false,
            c_mode: Vec::new(),
        };
        let forall =
            |t: &Token| matches!(t.kind, TokKind::Ident(s) if keyword::keyword(s) == Some(Kw::Forall));
        cx.foralls = opts.openmp && cx.toks.toks.iter().any(forall);
        cx.c_mode = cmode::c_mode(&cx.toks);
        debug_assert!(n > 0);
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
        self.toks.tok(self.pos).kind
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
    /// The keyword that token `i` is. UPC keywords are identifiers in C-mode files.
    pub(crate) fn kw_at(&self, i: TokIdx) -> Option<Kw> {
        let TokKind::Ident(s) = self.toks.tok(i).kind else { return None };
        let k = keyword::keyword(s)?;
        if k.is_upc() && self.c_mode.get(i as usize) == Some(&true) {
            return None;
        }
        Some(k)
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
    /// The identifier (no keyword) that token `i` is.
    pub(crate) fn ident_at(&self, i: TokIdx) -> Option<Sym> {
        match self.toks.tok(i).kind {
            TokKind::Ident(s) if self.kw_at(i).is_none() => Some(s),
            _ => None,
        }
    }
    pub(crate) fn ident(&self) -> Option<Sym> {
        self.ident_at(self.pos)
    }
    pub(crate) fn since(&self, start: TokIdx) -> TokRange {
        TokRange::new(start, self.prev_end.max(start))
    }
    /// What the current token is, for a message.
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
            self.error(self.pos, format!("expected `{}` {what}, found {found}", p.text()));
        }
        Err(Bad)
    }
    pub(crate) fn name(&self, s: Sym) -> &str {
        self.toks.name(s)
    }
    pub(crate) fn is_system(&self, i: TokIdx) -> bool {
        self.toks.tok(i).system
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
        self.error(self.pos, "this is nested too deeply; split it up".to_owned());
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
            self.error(self.pos, "this expression is too long; split it up".to_owned());
            return Err(Bad);
        }
        Ok(())
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
                        self.error(self.pos, format!("this `{}` closes nothing", p.text()));
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

    // ---- diagnostics ----

    pub(crate) fn report(&mut self, severity: Severity, tok: TokIdx, after: bool, message: String) {
        if self.toks.tok(tok).system && self.toks.tok(tok).kind != TokKind::Eof {
            return;
        }
        let severity = match severity {
            Severity::Warning if self.opts.warn.none => return,
            Severity::Warning if self.opts.warn.error => Severity::Error,
            s => s,
        };
        if self.gave_up {
            return;
        }
        if severity == Severity::Error {
            self.errors += 1;
            if self.errors > MAX_ERRORS {
                if self.errors == MAX_ERRORS + 1 {
                    // Whatever follows is not read.
                    let text = format!("more than {MAX_ERRORS} errors; giving up here");
                    self.push_diagnostic(Severity::Error, tok, false, text);
                    self.pos = self.toks.toks.len() as u32 - 1;
                }
                return;
            }
        } else if severity == Severity::Warning {
            self.warnings += 1;
            if self.warnings > MAX_WARNINGS {
                return;
            }
        }
        self.push_diagnostic(severity, tok, after, message);
    }

    fn push_diagnostic(&mut self, severity: Severity, tok: TokIdx, after: bool, message: String) {
        let t = *self.toks.tok(tok);
        let (source, mut col, mut len) = self.sources.locate(&self.toks, tok);
        if after {
            col += len;
            len = 1;
        }
        let file = self.toks.files[t.file as usize].name.clone();
        let d = Diagnostic { severity, message, file, line: t.line, col, source, len };
        // One construct can be looked at twice (a K&R parameter, a macro argument): say a thing once.
        let same = |(_, o): &(TokIdx, Diagnostic)| {
            o.line == d.line && o.col == d.col && o.message == d.message && o.file == d.file
        };
        if !self.diags.iter().rev().take(20).any(same) {
            let key = match (severity, self.diags.last()) {
                (Severity::Note, Some(last)) => last.0,
                _ => tok,
            };
            self.diags.push((key, d));
        }
    }
    pub(crate) fn error(&mut self, tok: TokIdx, message: impl Into<String>) {
        self.report(Severity::Error, tok, false, message.into());
    }
    pub(crate) fn error_after(&mut self, tok: TokIdx, message: impl Into<String>) {
        self.report(Severity::Error, tok, true, message.into());
    }
    pub(crate) fn warn_after(&mut self, tok: TokIdx, message: impl Into<String>) {
        self.report(Severity::Warning, tok, true, message.into());
    }
    pub(crate) fn warn(&mut self, tok: TokIdx, message: impl Into<String>) {
        self.report(Severity::Warning, tok, false, message.into());
    }
    /// A warning under `-Wall`.
    pub(crate) fn warn_all(&mut self, tok: TokIdx, message: impl Into<String>) {
        if self.opts.warn.all {
            self.warn(tok, message);
        }
    }
    /// A warning about what C allowed in 1989.
    pub(crate) fn warn_since_c99(&mut self, tok: TokIdx, message: impl Into<String>) {
        if !self.opts.c89 || self.opts.warn.all {
            self.warn(tok, message);
        }
    }
    pub(crate) fn note(&mut self, tok: TokIdx, message: impl Into<String>) {
        // A note belongs to what was said before it; if that was suppressed, so is the note.
        if self.errors <= MAX_ERRORS && !self.diags.is_empty() {
            self.report(Severity::Note, tok, false, message.into());
        }
    }

    pub(crate) fn finish(mut self) -> FrontResult {
        self.diags.sort_by_key(|d| d.0);
        let diagnostics = self.diags.into_iter().map(|d| d.1).collect();
        let unit = TranslationUnit {
            tokens: self.toks,
            types: self.types,
            decls: self.decls,
            exprs: self.exprs,
            items: Vec::new(),
        };
        FrontResult { unit, diagnostics, lex_errors: 0, syntax_errors: self.syntax_errors }
    }
}

/// At most some 40 characters of `s`.
pub(crate) fn shorten(s: &str) -> String {
    if s.chars().count() <= 40 { s.to_owned() } else { s.chars().take(37).chain("...".chars()).collect() }
}
