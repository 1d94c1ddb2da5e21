//! Loops that do nothing but look at an object until others change it.

use super::{Expr, ExprKind, Stmt, StmtKind, UnOp, walk};
use crate::front::types::Types;

/// Whether a statement does nothing.
pub fn is_empty(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Empty => true,
        StmtKind::Block(b) => b.stmts.iter().all(is_empty),
        _ => false,
    }
}

/// The private object that a loop of this condition and body, without a step, looks at through a pointer to
/// volatile: the first in the condition. None if the loop does anything else, as a condition that calls or
/// changes something; so the object can be named again.
pub fn looked_at<'a>(cond: &'a Expr, body: &Stmt, types: &Types) -> Option<&'a Expr> {
    let (mut found, mut acts) = (None, !is_empty(body));
    walk::expr(cond, &mut |_| {}, &mut |e| {
        acts |= matches!(
            e.kind,
            ExprKind::Call { .. }
                | ExprKind::Assign { .. }
                | ExprKind::CompoundAssign { .. }
                | ExprKind::IncDec { .. }
                | ExprKind::StmtExpr(..)
                | ExprKind::CompoundLit { .. }
        );
        let through_pointer = matches!(
            e.kind,
            ExprKind::Unary { op: UnOp::Deref, .. }
                | ExprKind::Index { .. }
                | ExprKind::Member { arrow: true, .. }
        );
        let object = through_pointer && e.bit_field(types).is_none() && !types.is_shared(e.ty);
        if found.is_none() && object && types.quals(e.ty).is_volatile {
            found = Some(e);
        }
    });
    found.filter(|_| !acts)
}
