//! The front end: from preprocessed text to a typed tree, or to diagnostics.
//!
//! | module | what |
//! |---|---|
//! | `source` | lines of the files that were read, for messages |
//! | `token`, `lex`, `keyword` | tokens, with where they were read |
//! | `types` | types and their layout |
//! | `ast` | the typed tree |
//! | `consteval` | arithmetic on constants |
//! | `sema` | what the parser calls to build checked nodes |
//! | `parse` | the parser: it reads tokens and owns the checks, since a C parser must know types anyway |

pub mod ast;
mod consteval;
pub(crate) mod keyword;
mod lex;
mod parse;
mod sema;
pub mod source;
pub mod token;
pub mod types;

pub(crate) use parse::c_mode;
pub(crate) use sema::operands;

use ast::{FrontOptions, FrontResult};
use keyword::keywords;
use parse::Parser;
use token::TokenBuf;

/// Reads and checks one preprocessed translation unit (`cc -E` output with line markers).
///
/// Works on a thread of its own with a large stack; the passes that follow should do the same
/// ([`on_big_stack`]), since expressions may be nested thousands of levels deep.
pub fn check(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    on_big_stack(|| translate(preprocessed, opts))
}

/// The same on the stack of the caller, which is large enough ([`on_big_stack`]): for many small units in a
/// row.
pub fn check_here(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    translate(preprocessed, opts)
}

/// Runs `f` on a thread with a stack large enough for every recursion over an AST that [`check`] returns, its
/// drop included.
pub fn on_big_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| {
        let t =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(s, f).expect("cannot start a thread");
        match t.join() {
            Ok(v) => v,
            Err(p) => std::panic::resume_unwind(p),
        }
    })
}

/// Address space only: pages are touched as needed.
const STACK: usize = 1 << 30;

/// The largest static thread count.
const MAX_THREADS: u32 = 1 << 20;

/// Lexes, parses and checks.
fn translate(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    let mut tokens = TokenBuf { syms: keywords(), ..TokenBuf::default() };
    let too_long = preprocessed.len() >= u32::MAX as usize;
    let lex_errors = lex::lex(if too_long { "" } else { preprocessed }, &opts.dir, opts.c23, &mut tokens);
    let mut cx = Parser::new(tokens, opts);
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
    // An unterminated token is already an error; parsing the rest would only give errors that follow from
    // it.
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
