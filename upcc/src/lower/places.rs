//! Where shared objects are.

use crate::front::ast::{BinOp, Conv, DeclId, Expr, ExprKind, TranslationUnit, UnOp};
use crate::front::types::{PtsKind, TypeId};
use crate::ir::{Index, Place, Spread};

/// How the elements are dealt out that a pointer of this type counts.
pub fn spread(u: &TranslationUnit, pts: TypeId) -> Spread {
    let t = &u.types;
    let Some(p) = t.pointee(pts) else { return Spread { block: 0, size: 1 } };
    let block = match t.pts_kind(pts) {
        Some(PtsKind::Blocked(n)) => n,
        Some(PtsKind::Cyclic) => 1,
        _ => 0,
    };
    let size = t.const_size(t.ultimate_elem(p)).unwrap_or(1).max(1);
    Spread { block, size }
}

/// The shared array that a pointer expression is the start of, if it is a declared one.
pub fn declared_array(e: &Expr) -> Option<DeclId> {
    let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &e.unparen().kind else { return None };
    match expr.unparen().kind {
        ExprKind::Name(d) => Some(d),
        _ => None,
    }
}

/// The place of a shared lvalue.
pub fn place<'a>(u: &TranslationUnit, e: &'a Expr) -> Place<'a> {
    match &e.kind {
        ExprKind::Name(d) => Place::Variable(*d),
        ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => place(u, x),
        ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => place(u, chosen),
        ExprKind::Unary { op: UnOp::Deref, expr } => pointed(u, expr),
        ExprKind::Unary { op: UnOp::Real, expr } => Place::Part { of: Box::new(place(u, expr)), bytes: 0 },
        ExprKind::Unary { op: UnOp::Imag, expr } => {
            let bytes = u.types.const_size(expr.ty).unwrap_or(0) / 2;
            Place::Part { of: Box::new(place(u, expr)), bytes }
        }
        ExprKind::Index { base, index } => element(u, base, index),
        ExprKind::Member { base, arrow, record, path } => {
            let of = Box::new(if *arrow { pointed(u, base) } else { place(u, base) });
            Place::Member { of, record: *record, path }
        }
        ExprKind::Implicit { conv: Conv::Same, expr } => place(u, expr),
        ExprKind::Comma { lhs, rhs } => Place::After(lhs, Box::new(place(u, rhs))),
        _ => Place::Null,
    }
}

/// The place that a pointer-to-shared points to.
pub fn pointed<'a>(u: &TranslationUnit, e: &'a Expr) -> Place<'a> {
    match &e.kind {
        ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => pointed(u, x),
        ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => pointed(u, chosen),
        ExprKind::Unary { op: UnOp::AddrOf, expr } => place(u, expr),
        ExprKind::Implicit { conv, expr } | ExprKind::Cast { conv, expr, .. } => match conv {
            Conv::SharedDecay => Place::Start(Box::new(place(u, expr))),
            Conv::PtsToPts { reset } => {
                let to = pointed(u, expr);
                let reset = *reset || phase_dies(u, expr.ty, e.ty);
                if reset { Place::NoPhase(Box::new(to)) } else { to }
            }
            Conv::Same if u.types.is_pts(expr.ty) => pointed(u, expr),
            Conv::NullToPts => Place::Null,
            _ => Place::Pointer(e),
        },
        ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), lhs, rhs } => {
            let (p, i) = if u.types.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
            if *op == BinOp::Add && i.int().is_none_or(|v| v >= 0) {
                return element(u, p, i);
            }
            Place::Moved {
                from: Box::new(pointed(u, p)),
                by: index(u, e.ty, i),
                back: *op == BinOp::Sub,
                spread: spread(u, e.ty),
            }
        }
        ExprKind::Comma { lhs, rhs } => Place::After(lhs, Box::new(pointed(u, rhs))),
        ExprKind::Cond { cond, then: Some(t), els } => {
            Place::Either(cond, Box::new(pointed(u, t)), Box::new(pointed(u, els)))
        }
        ExprKind::Cond { cond, then: None, els } => {
            Place::OrElse(Box::new(pointed(u, cond)), Box::new(pointed(u, els)))
        }
        _ => Place::Pointer(e),
    }
}

/// The place of `pointer[index]`.
fn element<'a>(u: &TranslationUnit, pointer: &'a Expr, at: &'a Expr) -> Place<'a> {
    let from = Box::new(pointed(u, pointer));
    Place::Element { from, by: vec![index(u, pointer.ty, at)], spread: spread(u, pointer.ty), exists: true }
}

fn index<'a>(u: &TranslationUnit, pts: TypeId, count: &'a Expr) -> Index<'a> {
    Index { count, of: u.types.pointee(pts).unwrap_or(pts), not_negative: not_negative(u, count) }
}

/// Whether a conversion that keeps the phase arrives at a type that has none.
pub(crate) fn phase_dies(u: &TranslationUnit, from: TypeId, to: TypeId) -> bool {
    let none = |k| matches!(k, Some(PtsKind::Cyclic | PtsKind::Indefinite));
    none(u.types.pts_kind(to)) && !none(u.types.pts_kind(from))
}

/// Whether the integer cannot be negative.
fn not_negative(u: &TranslationUnit, e: &Expr) -> bool {
    if let Some(v) = e.int() {
        return v >= 0;
    }
    let t = &u.types;
    let narrow = matches!(t.as_scalar(e.ty), Some(s) if !s.is_signed() && s.size() < 8);
    if narrow && t.is_integer(e.ty) {
        return true;
    }
    let not_negative = |e: &Expr| not_negative(u, e);
    match &e.unparen().kind {
        ExprKind::Threads | ExprKind::MyThread => true,
        ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr }
        | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } => {
            let wide = |x: TypeId| t.const_size(x).unwrap_or(0);
            t.is_integer(expr.ty) && wide(e.ty) >= wide(expr.ty) && not_negative(expr)
        }
        ExprKind::Binary { op: BinOp::Add | BinOp::Mul | BinOp::Div, lhs, rhs } => {
            not_negative(lhs) && not_negative(rhs)
        }
        ExprKind::Binary { op: BinOp::Rem | BinOp::Shr, lhs, .. } => not_negative(lhs),
        ExprKind::Binary { op: BinOp::BitAnd, lhs, rhs } => not_negative(lhs) || not_negative(rhs),
        _ => false,
    }
}
