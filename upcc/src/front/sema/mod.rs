//! Type checking: builders of checked nodes, called by the parser.

mod access;
mod assign;
mod builtins;
mod compat;
mod conditional;
mod constraints;
pub(crate) mod conv;
mod formats;
mod implicit;
mod jumps;
mod layout;
mod lint;
pub(crate) mod operands;
pub(crate) mod ops;
mod pointers;
pub(crate) mod read;
pub(crate) mod scope;
mod shared;
mod show;
mod unknown;
mod vectors;

use crate::diag::{Diagnostic, Severity};
use crate::front::ast::*;
use crate::front::keyword::{self, Kw};
use crate::front::source::Sources;
use crate::front::token::*;
use crate::front::types::*;
use read::*;
use rustc_hash::FxHashMap;
use scope::Scope;
use std::cell::Cell;

/// A syntax error, already reported.
#[derive(Debug)]
pub(crate) struct Bad;
pub(crate) type PResult<T> = Result<T, Bad>;

/// Errors shown before giving up.
pub(crate) const MAX_ERRORS: usize = 200;
/// Warnings shown.
const MAX_WARNINGS: usize = 500;

/// The semantic state of a translation unit: types, scopes, checked nodes, diagnostics.
pub(crate) struct Sema<'a> {
    pub(crate) opts: &'a FrontOptions,
    pub(crate) toks: TokenBuf,
    pub(crate) types: Types,
    pub(crate) decls: Vec<Decl>,
    pub(crate) exprs: Vec<Expr>,
    /// How many nodes there are.
    pub(crate) nodes: Cell<u32>,
    /// Diagnostics, each with the token it is sorted by: a note has that of what it belongs to.
    pub(crate) diags: Vec<(TokIdx, Diagnostic)>,
    pub(crate) sources: Sources,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    /// Reading stopped before the end: what is missing after this is nobody's mistake.
    pub(crate) gave_up: bool,
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
    /// Inside an operand that is not evaluated.
    pub(crate) unevaluated: u32,
    /// File-scope objects of incomplete type, to be looked at again at the end.
    pub(crate) tentative: Vec<(DeclId, TokIdx)>,
    /// Threads of OpenMP may run while a `upc_forall` of this file is around.
    pub(crate) foralls: bool,
    /// Per token: UPC keywords are identifiers there. Empty if nowhere.
    pub(crate) c_mode: Vec<bool>,
    /// There were too many errors: nothing more is read.
    pub(crate) stopped: bool,
}

impl<'a> Sema<'a> {
    pub(crate) fn new(toks: TokenBuf, opts: &'a FrontOptions) -> Self {
        let forall =
            |t: &Token| matches!(t.kind, TokKind::Ident(s) if keyword::keyword(s) == Some(Kw::Forall));
        Sema {
            foralls: opts.openmp && toks.toks.iter().any(forall),
            types: Types::new(opts.pts, opts.static_threads),
            stopped: false,
            opts,
            toks,
            decls: Vec::new(),
            exprs: Vec::new(),
            nodes: Cell::new(0),
            diags: Vec::new(),
            sources: Sources::default(),
            errors: 0,
            warnings: 0,
            gave_up: false,
            scopes: Vec::new(),
            names: Vec::new(),
            tags: FxHashMap::default(),
            linked: FxHashMap::default(),
            func: None,
            strict: false,
            vla: Vec::new(),
            tag_defs: Vec::new(),
            unevaluated: 0,
            tentative: Vec::new(),
            c_mode: Vec::new(),
        }
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
    /// The identifier (no keyword) that token `i` is.
    pub(crate) fn ident_at(&self, i: TokIdx) -> Option<Sym> {
        match self.toks.tok(i).kind {
            TokKind::Ident(s) if self.kw_at(i).is_none() => Some(s),
            _ => None,
        }
    }
    pub(crate) fn name(&self, s: Sym) -> &str {
        self.toks.name(s)
    }
    pub(crate) fn is_system(&self, i: TokIdx) -> bool {
        self.toks.tok(i).system
    }
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
                    self.stopped = true;
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
}

/// At most some 40 characters of `s`.
pub(crate) fn shorten(s: &str) -> String {
    if s.chars().count() <= 40 { s.to_owned() } else { s.chars().take(37).chain("...".chars()).collect() }
}
