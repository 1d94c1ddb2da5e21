//! Places: C text of type `struct __upc_w`, where a shared object is.

use super::Emitter;
use super::expr::{Frag, fr};
use crate::ast::{BinOp, Conv, Expr, ExprKind, UnOp};
use crate::types::{PtsKind, RecordId, TypeId, TypeKind};

/// How a place begins that a function computes: name and arguments follow.
pub(super) const OUT: &str = "__upc_u(__upc_mv";

impl Emitter<'_> {
    /// Byte offset of a member.
    pub(super) fn member_offset(&mut self, record: RecordId, path: &[u32]) -> u64 {
        let mut rec = record;
        let mut off = 0;
        for &f in path {
            self.laid_out.insert(rec);
            let Some(field) = self.u.types.records[rec.0 as usize].fields.get(f as usize) else { break };
            off += field.offset;
            if let TypeKind::Record(r) = self.u.types.ckind(field.ty) {
                rec = *r;
            }
        }
        off
    }

    /// Values of pointer-to-shared type that are addresses: made from places. `None`: a plain C expression.
    pub(super) fn pts_value(&mut self, e: &Expr) -> Option<Frag> {
        let address = match &e.kind {
            ExprKind::Unary { op: UnOp::AddrOf, .. } => true,
            ExprKind::Binary { op: BinOp::Add | BinOp::Sub, .. } => true,
            ExprKind::Implicit { conv, expr } | ExprKind::Cast { conv, expr, .. } => match conv {
                Conv::SharedDecay => true,
                Conv::PtsToPts { reset } => {
                    if !reset && !self.phase_dies(expr.ty, e.ty) {
                        // Same bits, another typedef.
                        let f = self.rv(expr);
                        return Some(f);
                    }
                    true
                }
                Conv::NullToPts => return Some(fr("__UPC_NULL", 16)),
                Conv::Same => return Some(self.rv(expr)),
                _ => false,
            },
            _ => false,
        };
        if !address {
            return None;
        }
        let w = self.pplace(e);
        Some(fr(format!("({})", self.packed(&w)), 16))
    }

    /// Whether a conversion that keeps the phase arrives at a type that has none.
    pub(super) fn phase_dies(&self, from: TypeId, to: TypeId) -> bool {
        let none = |k| matches!(k, Some(PtsKind::Cyclic | PtsKind::Indefinite));
        none(self.u.types.pts_kind(to)) && !none(self.u.types.pts_kind(from))
    }

    /// The place that a pointer-to-shared points to.
    pub fn pplace(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => return self.pplace(x),
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => return self.pplace(chosen),
            ExprKind::Unary { op: UnOp::AddrOf, expr } => return self.place(expr),
            ExprKind::Implicit { conv, expr } | ExprKind::Cast { conv, expr, .. } => match conv {
                Conv::SharedDecay => return self.place(expr),
                Conv::PtsToPts { reset } => {
                    let w = self.pplace(expr);
                    let drop = *reset || self.phase_dies(expr.ty, e.ty);
                    return if drop { format!("__upc_ph0({w})") } else { w };
                }
                Conv::Same if self.is_pts(expr.ty) => return self.pplace(expr),
                Conv::NullToPts => return "__UPC_NULLW".into(),
                _ => {}
            },
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), lhs, rhs } => {
                let (p, i) = if self.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
                if *op == BinOp::Add && i.int().is_none_or(|v| v >= 0) {
                    return self.element_place(p, i);
                }
                let w = self.pplace(p);
                let i = self.rv(i);
                return self.step(&w, i, *op == BinOp::Sub, e.ty);
            }
            ExprKind::Comma { lhs, rhs } => {
                let l = self.discard(lhs);
                let r = self.pplace(rhs);
                return format!("({l}, {r})");
            }
            ExprKind::Cond { cond, then: Some(t), els } => {
                let c = self.cond(cond).p(4);
                let t = self.pplace(t);
                let f = self.pplace(els);
                return format!("({c} ? {t} : {f})");
            }
            ExprKind::Cond { cond, then: None, els } => {
                let t = self.fresh("w");
                let c = self.pplace(cond);
                let f = self.pplace(els);
                return format!("({{ struct __upc_w {t} = {c}; __upc_nonnull({t}) ? {t} : {f}; }})");
            }
            _ => {}
        }
        let v = self.rv(e).p(2);
        format!("__upc_u({v})")
    }

    /// `w` moved by `i` elements of the pointee of `pts`.
    pub(super) fn step(&mut self, w: &str, i: Frag, back: bool, pts: TypeId) -> String {
        let (b, e) = self.pts_params(pts);
        let pointee = self.u.types.pointee(pts).unwrap_or(pts);
        let k = self.count_expr(pointee);
        let minus = if back { "-" } else { "" };
        let digits = i.s.chars().all(|c| c.is_ascii_digit());
        let i = if digits { format!("{minus}{}", i.s) } else { format!("{minus}(long)({})", i.s) };
        let d = if k == "1" { i } else { format!("{i} * (long)({k})") };
        self.moved(w, &d, digits && !back, b, e)
    }

    /// `w` moved by `d` elements of `e` bytes; `up`: `d` is not negative.
    pub(super) fn moved(&mut self, w: &str, d: &str, up: bool, b: u64, e: u64) -> String {
        if self.compact || self.outlined {
            self.outlines.insert(format!("{b}_{e} mv -"));
            let p = self.packed(w);
            return format!("{OUT}{b}_{e}({p}, {d}))");
        }
        if !self.passes.arithmetic {
            return format!("__upc_add({w}, {d}, {b}, {e})");
        }
        let u = if up { "u" } else { "" };
        match b {
            0 => format!("__upc_add0({w}, {d}, {e})"),
            1 => format!("__upc_add1{u}({w}, {d}, {e})"),
            _ => format!("__upc_addb{u}({w}, {d}, {b}, {e})"),
        }
    }

    /// A place as a pointer.
    pub(super) fn packed(&self, w: &str) -> String {
        let inner = |start: &str| {
            let x = w.strip_prefix(start)?.strip_suffix(')')?;
            let depth = x.chars().scan(0, |d, c| {
                *d += i32::from(c == '(') - i32::from(c == ')');
                Some(*d)
            });
            depth.into_iter().all(|d| d >= 0).then_some(x)
        };
        if let Some(p) = inner("__upc_u(") {
            return p.to_string();
        }
        match inner("__UPC_VAR(") {
            Some(a) => format!("__UPC_VARP({a})"),
            None => format!("__upc_p({w})"),
        }
    }

    /// Whether the integer cannot be negative.
    pub(super) fn not_negative(&self, e: &Expr) -> bool {
        if let Some(v) = e.int() {
            return v >= 0;
        }
        let t = &self.u.types;
        let narrow = matches!(t.as_scalar(e.ty), Some(s) if !s.is_signed() && s.size() < 8);
        if narrow && t.is_integer(e.ty) {
            return true;
        }
        match &e.unparen().kind {
            ExprKind::Threads | ExprKind::MyThread => true,
            ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr }
            | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } => {
                let wide = |x: TypeId| t.const_size(x).unwrap_or(0);
                t.is_integer(expr.ty) && wide(e.ty) >= wide(expr.ty) && self.not_negative(expr)
            }
            ExprKind::Binary { op: BinOp::Add | BinOp::Mul | BinOp::Div, lhs, rhs } => {
                self.not_negative(lhs) && self.not_negative(rhs)
            }
            ExprKind::Binary { op: BinOp::Rem | BinOp::Shr, lhs, .. } => self.not_negative(lhs),
            ExprKind::Binary { op: BinOp::BitAnd, lhs, rhs } => {
                self.not_negative(lhs) || self.not_negative(rhs)
            }
            _ => false,
        }
    }

    /// The place of `pointer[index]`. Indices of nested arrays make one index of ultimate elements.
    pub(super) fn element_place(&mut self, pointer: &Expr, index: &Expr) -> String {
        let params = self.pts_params(pointer.ty);
        let (mut base, mut deltas, mut up) = (pointer, Vec::new(), true);
        let mut at = index;
        loop {
            let pointee = self.u.types.pointee(base.ty).unwrap_or(base.ty);
            let k = self.count_expr(pointee);
            up &= self.not_negative(at);
            let f = self.rv(at);
            let d = if f.s.chars().all(|c| c.is_ascii_digit()) { f.s } else { format!("(long)({})", f.s) };
            deltas.push(if k == "1" { d } else { format!("{d} * (long)({k})") });
            // A row of a nested array.
            let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind else { break };
            let ExprKind::Index { base: outer, index: i } = &expr.unparen().kind else { break };
            if self.pts_params(outer.ty) != params || !self.passes.hoist {
                break;
            }
            (base, at) = (outer, i);
        }
        deltas.reverse();
        let (b, e) = params;
        let zero = deltas.iter().all(|d| d == "0");
        if let Some(d) = self.declared_array(base) {
            let a = self.shared_alias(d);
            if zero {
                return format!("__UPC_VAR({a})");
            }
            let d = deltas.join(" + ");
            if self.compact || self.outlined || !self.passes.arithmetic || self.before_first && !up {
                return self.moved(&format!("__UPC_VAR({a})"), &d, up, b, e);
            }
            // No element comes before the first.
            return match b {
                0 => format!("__upc_el0({a}.offset, {d}, {e})"),
                1 => format!("__upc_el1({a}.offset, {d}, {e})"),
                _ => format!("__upc_elb({a}.offset, {d}, {b}, {e})"),
            };
        }
        let w = self.pplace(base);
        if zero {
            return w;
        }
        self.moved(&w, &deltas.join(" + "), up, b, e)
    }

    /// The shared array that a pointer expression is the start of.
    pub fn declared_array(&self, e: &Expr) -> Option<crate::ast::DeclId> {
        let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &e.unparen().kind else { return None };
        match expr.unparen().kind {
            ExprKind::Name(d) => Some(d),
            _ => None,
        }
    }

    /// The place of a shared lvalue.
    pub fn place(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Name(d) => {
                let a = self.shared_alias(*d);
                format!("__UPC_VAR({a})")
            }
            ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => self.place(x),
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => self.place(chosen),
            ExprKind::Unary { op: UnOp::Deref, expr } => self.pplace(expr),
            ExprKind::Unary { op: UnOp::Real, expr } => {
                let w = self.place(expr);
                format!("__upc_off({w}, 0)")
            }
            ExprKind::Unary { op: UnOp::Imag, expr } => {
                let half = self.u.types.const_size(expr.ty).unwrap_or(0) / 2;
                let w = self.place(expr);
                format!("__upc_off({w}, {half})")
            }
            ExprKind::Index { base, index } => self.element_place(base, index),
            ExprKind::Member { base, arrow, record, path } => {
                let w = if *arrow { self.pplace(base) } else { self.place(base) };
                let off = self.member_offset(*record, path);
                format!("__upc_off({w}, {off})")
            }
            ExprKind::Implicit { conv: Conv::Same, expr } => self.place(expr),
            ExprKind::Comma { lhs, rhs } => {
                let l = self.discard(lhs);
                let r = self.place(rhs);
                format!("({l}, {r})")
            }
            _ => "__UPC_NULLW".into(),
        }
    }
}
