//! Whether two expressions are written alike.

use crate::front::ast::{Expr, ExprKind, SizeArg};

/// Whether the expressions, which have no effects, are the same but for parentheses: where their variables
/// have the same values, so have they, and lvalues are the same object.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    let (a, b) = (a.unparen(), b.unparen());
    if a.id == b.id {
        return true;
    }
    if a.ty != b.ty || a.strict != b.strict {
        return false;
    }
    if let (Some(x), Some(y)) = (a.value, b.value) {
        return x == y;
    }
    match (&a.kind, &b.kind) {
        (ExprKind::Name(x), ExprKind::Name(y)) => x == y,
        (ExprKind::Threads, ExprKind::Threads) | (ExprKind::MyThread, ExprKind::MyThread) => true,
        (ExprKind::Unary { op: o, expr: x }, ExprKind::Unary { op: p, expr: y }) => o == p && same(x, y),
        (ExprKind::Binary { op: o, lhs: w, rhs: x }, ExprKind::Binary { op: p, lhs: y, rhs: z }) => {
            o == p && same(w, y) && same(x, z)
        }
        (ExprKind::Cond { cond: c, then: t, els: e }, ExprKind::Cond { cond: d, then: u, els: f }) => {
            let then = match (t, u) {
                (Some(t), Some(u)) => same(t, u),
                (t, u) => t.is_none() && u.is_none(),
            };
            same(c, d) && then && same(e, f)
        }
        (ExprKind::Index { base: w, index: x }, ExprKind::Index { base: y, index: z }) => {
            same(w, y) && same(x, z)
        }
        (
            ExprKind::Member { base: x, arrow: a, path: p, .. },
            ExprKind::Member { base: y, arrow: b, path: q, .. },
        ) => a == b && p == q && same(x, y),
        (ExprKind::Cast { conv: c, expr: x, .. }, ExprKind::Cast { conv: d, expr: y, .. })
        | (ExprKind::Implicit { conv: c, expr: x }, ExprKind::Implicit { conv: d, expr: y }) => {
            c == d && same(x, y)
        }
        (ExprKind::SizeOf { op: o, arg: x }, ExprKind::SizeOf { op: p, arg: y }) => {
            o == p
                && match (x, y) {
                    (SizeArg::Type(x), SizeArg::Type(y)) => x.ty == y.ty,
                    (SizeArg::Expr(x), SizeArg::Expr(y)) => same(x, y),
                    _ => false,
                }
        }
        _ => false,
    }
}

/// The same of lists.
pub(super) fn all_same(a: &[&Expr], b: &[&Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}
