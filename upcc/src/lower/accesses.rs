//! Collects the accesses of statements to shared objects.

use super::places::place;
use crate::front::ast::{Conv, Expr, ExprKind, Stmt, TranslationUnit, walk};
use crate::ir::{Access, Action, Order, Place};

/// The order of an access to this shared lvalue with others.
pub fn order(u: &TranslationUnit, lv: &Expr) -> Order {
    if lv.strict {
        Order::Strict
    } else if u.types.quals(lv.ty).is_volatile {
        Order::Volatile
    } else {
        Order::Relaxed
    }
}

/// The accesses to shared objects of a statement and all in it, in the order of the source.
pub fn accesses<'a>(u: &TranslationUnit, s: &'a Stmt) -> Vec<Access<'a>> {
    let mut found = Vec::new();
    walk::stmt(s, &mut |_| {}, &mut |e| {
        let (action, lvalue) = match &e.kind {
            ExprKind::Implicit { conv: Conv::SharedLoad, expr } => (Action::Read, expr),
            ExprKind::Assign { lhs, .. } => (Action::Write, lhs),
            ExprKind::CompoundAssign { lhs, .. } => (Action::Update, lhs),
            ExprKind::IncDec { expr, .. } => (Action::Update, expr),
            _ => return,
        };
        if u.types.is_shared(lvalue.ty) {
            found.push(Access {
                action,
                order: order(u, lvalue),
                ty: lvalue.ty,
                place: holder(u, lvalue),
                lvalue,
            });
        }
    });
    found
}

/// The place of the object, of a bit-field that of the structure that holds it.
fn holder<'a>(u: &TranslationUnit, lv: &'a Expr) -> Place<'a> {
    match (lv.bit_field(&u.types), place(u, lv)) {
        (Some(_), Place::Member { of, .. }) => *of,
        (_, at) => at,
    }
}
