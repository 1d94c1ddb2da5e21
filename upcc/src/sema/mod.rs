//! Type checking: builders of checked nodes (called by the parser), and the whole of [`check`].

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
pub(crate) mod ops;
mod pointers;
pub(crate) mod scope;
mod shared;
mod show;
mod unknown;
mod vectors;

use crate::ast::{FrontOptions, FrontResult};
use crate::lex;
use crate::parse::{Cx, keywords};
use crate::token::TokenBuf;

/// The largest static thread count.
const MAX_THREADS: u32 = 1 << 20;

/// Lexes, parses and checks.
pub(crate) fn check(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    let mut tokens = TokenBuf { syms: keywords(), ..TokenBuf::default() };
    let too_long = preprocessed.len() >= u32::MAX as usize;
    let lex_errors = lex::lex(if too_long { "" } else { preprocessed }, &opts.dir, &mut tokens);
    let mut cx = Cx::new(tokens, opts);
    if too_long {
        cx.error(0, "this file is too large");
    }
    let bad_tokens = lex_errors.len();
    let open = lex_errors.iter().any(|e| e.open);
    for e in lex_errors {
        cx.error(e.tok, e.message);
    }
    cx.reserved_macros();
    if opts.static_threads.is_some_and(|t| t == 0 || t > MAX_THREADS) {
        cx.error(0, format!("the number of threads must be from 1 to {MAX_THREADS}"));
    }
    cx.push_scope();
    // What lacks the rest of a line would only draw more errors.
    let items = if open { Vec::new() } else { cx.translation_unit() };
    cx.finish_tentative();
    cx.pop_scope();
    if opts.warn.upc {
        cx.lint(&items);
    }
    let mut r = cx.finish();
    r.unit.items = items;
    r.lex_errors = bad_tokens;
    r
}
