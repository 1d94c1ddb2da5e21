//! Accesses in large code are calls of functions that are made for the file, one for each way to access.
//!
//! **Matches.** Functions of more than 200 tokens, but for small innermost loops in them: those are worth
//! inline code.
//!
//! **Nobody can tell**, since the functions do what the inline code does.
//!
//! ```text
//! function large                    before
//!     outline: accesses are calls   after
//! while (f(x) > 0)                  before, in it
//!     outline: accesses are inline code
//! ```

use super::Passes;
use crate::front::ast::{FuncDef, Stmt, StmtKind, walk};
use crate::ir::{Context, Style};
use std::rc::Rc;

/// Tokens of loop bodies and functions in which shared accesses are inline code.
const SMALL_LOOP: u32 = 100;
const SMALL_FUNCTION: u32 = 200;

/// Whether accesses of a function are outlined where it holds no small loop.
pub(super) fn large(passes: Passes, f: &FuncDef) -> bool {
    passes.outline && f.body.toks.end - f.body.toks.start > SMALL_FUNCTION
}

/// How accesses are written in a function outside of its loops.
pub(super) fn style(large: bool) -> Style {
    if large { Style::Outlined } else { Style::Inline }
}

/// The context of a statement, from what is around it.
pub(super) fn around(s: &Stmt, around: &Rc<Context>) -> Rc<Context> {
    let body = match &s.kind {
        StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } | StmtKind::For { body, .. } => body,
        StmtKind::Forall(f) => &f.body,
        _ => return around.clone(),
    };
    if !s.has_upc || !around.large || around.style == Style::Compact {
        return around.clone();
    }
    let small = body.toks.end - body.toks.start <= SMALL_LOOP && innermost(body);
    let style = style(!small);
    if style == around.style { around.clone() } else { Rc::new(Context { style, ..(**around).clone() }) }
}

/// Whether a loop body holds no loop.
fn innermost(s: &Stmt) -> bool {
    let mut found = false;
    walk::stmt(
        s,
        &mut |s| {
            found |= matches!(
                s.kind,
                StmtKind::Forall(_)
                    | StmtKind::For { .. }
                    | StmtKind::While { .. }
                    | StmtKind::DoWhile { .. }
            )
        },
        &mut |_| {},
    );
    !found
}
