//! Effects that the text of a statement does not show: calls, loops that wait, demands of pragmas.

use crate::front::ast::{
    Conv, Definition, Demands, Directive, Expr, ExprKind, Stmt, StmtKind, TranslationUnit, is_empty, walk,
};
use crate::ir::Order;

/// Functions of the C library that only compute.
const PURE: &[&str] = &[
    "abs", "labs", "llabs", "fabs", "fabsf", "sqrt", "sqrtf", "cbrt", "exp", "expf", "exp2", "log", "logf",
    "log2", "log10", "pow", "powf", "sin", "sinf", "cos", "cosf", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "hypot", "floor", "floorf", "ceil", "ceilf", "trunc", "round", "rint", "fmod",
    "fmin", "fmax", "fma", "copysign",
];

/// Whether a call only computes a value from its arguments (`errno` aside, which no loop here reads).
pub fn pure_call(callee: &Expr, u: &TranslationUnit) -> bool {
    let mut e = callee.unparen();
    if let ExprKind::Implicit { conv: Conv::FuncDecay, expr } = &e.kind {
        e = expr.unparen();
    }
    let ExprKind::Name(d) = e.kind else { return false };
    let decl = u.decl(d);
    (decl.system || decl.builtin) && decl.def == Definition::Declared && PURE.contains(&u.name(decl.name))
}

/// Whether a loop of this condition and body, without a step, does nothing but wait until relaxed reads of
/// shared objects find something else. Strict reads make progress by themselves, and so do functions of the
/// library; another function may do so, or wait in its own way.
pub fn only_waits(cond: &Expr, body: &Stmt, u: &TranslationUnit) -> bool {
    let (mut relaxed, mut strict, mut calls) = (false, false, false);
    walk::expr(cond, &mut |_| {}, &mut |e| {
        if let ExprKind::Implicit { conv: Conv::SharedLoad, expr } = &e.kind {
            let is_strict = super::accesses::order(u, expr) == Order::Strict;
            (relaxed, strict) = (relaxed | !is_strict, strict | is_strict);
        }
        calls |= matches!(&e.kind, ExprKind::Call { .. });
    });
    is_empty(body) && relaxed && !strict && !calls
}

/// Whether a `upc_forall` may run while this statement does: it holds one, or calls something.
pub fn may_nest(s: &Stmt, u: &TranslationUnit) -> bool {
    let (mut found, mut call) = (false, false);
    walk::stmt(
        s,
        &mut |s| {
            found |= matches!(
                s.kind,
                StmtKind::Forall(_) | StmtKind::Asm(_) | StmtKind::Return(_) | StmtKind::Goto(_)
            )
        },
        &mut |e| {
            if let ExprKind::Call { callee, .. } = &e.kind {
                call |= !pure_call(callee, u);
            }
        },
    );
    found || call
}

/// The demands of several pragmas on the same statement, combined.
pub fn demands(pragmas: &[Directive]) -> Demands {
    pragmas.iter().map(|p| p.demands).fold(Demands::default(), |a, b| Demands {
        loops: a.loops.max(b.loops),
        sections: a.sections || b.sections,
        threads: a.threads || b.threads,
        atomic: a.atomic || b.atomic,
    })
}
