//! Places in C: text of type `struct __upc_w`, where a shared object is.

use super::Emitter;
use super::abi::{
    ADD, ADD_0, ADD_1, ADD_1U, ADD_B, ADD_BU, ELEMENT_0, ELEMENT_1, ELEMENT_B, NO_PHASE, NOT_NULL, NULL,
    NULL_PLACE, PLACE,
};
use super::at::{At, By, Outline};
use super::expr::{Frag, fr};
use crate::front::ast::{BinOp, Conv, Expr, ExprKind, UnOp};
use crate::front::types::{RecordId, TypeId, TypeKind};
use crate::ir::{Index, Place, Spread, Style};
use crate::lower;

/// The array that a place is the first element of, if it is a declared one.
fn first_of(place: &Place<'_>) -> Option<crate::front::ast::DeclId> {
    match place {
        Place::Start(of) => match **of {
            Place::Variable(d) => Some(d),
            _ => None,
        },
        _ => None,
    }
}

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
                    if !reset && !lower::phase_dies(self.u, expr.ty, e.ty) {
                        // Same bits, another typedef.
                        let f = self.rv(expr);
                        return Some(f);
                    }
                    true
                }
                Conv::NullToPts => return Some(fr(NULL, 16)),
                Conv::Same => return Some(self.rv(expr)),
                _ => false,
            },
            _ => false,
        };
        if !address {
            return None;
        }
        let w = self.pplace(e);
        Some(fr(format!("({})", w.packed()), 16))
    }

    /// The place of a shared lvalue.
    pub fn place(&mut self, e: &Expr) -> At {
        let program = self.program;
        self.at_place(&program.place(e))
    }

    /// The place that a pointer-to-shared points to.
    pub fn pplace(&mut self, e: &Expr) -> At {
        let program = self.program;
        self.at_place(&program.pointed_to(e))
    }

    /// Operands of a place are evaluated from the last to the first.
    pub(super) fn at_place(&mut self, place: &Place<'_>) -> At {
        match place {
            Place::Variable(d) => At::Variable(self.shared_alias(*d)),
            Place::Start(of) => self.at_place(of),
            Place::Pointer(e) => At::Unpacked(self.rv(e).p(2)),
            Place::Null => At::Other(NULL_PLACE.into()),
            Place::Element { from, by, spread, exists } => self.at_element(from, by, *spread, *exists),
            Place::Moved { from, by, back, spread } => {
                let w = self.at_place(from);
                let i = self.by(by.count, *back);
                self.step(&w, &i, by.of, *spread)
            }
            Place::Member { of, record, path } => {
                let w = self.at_place(of);
                At::Offset(Box::new(w), self.member_offset(*record, path))
            }
            Place::Part { of, bytes } => At::Offset(Box::new(self.at_place(of)), *bytes),
            Place::NoPhase(of) => At::Other(format!("{NO_PHASE}({})", self.at_place(of))),
            Place::After(e, then) => {
                let l = self.discard(e);
                let r = self.at_place(then);
                At::Other(format!("({l}, {r})"))
            }
            Place::Either(cond, t, f) => {
                let c = self.cond(cond).p(4);
                let t = self.at_place(t);
                let f = self.at_place(f);
                At::Other(format!("({c} ? {t} : {f})"))
            }
            Place::OrElse(first, second) => {
                let t = self.fresh("w");
                let c = self.at_place(first);
                let f = self.at_place(second);
                At::Other(format!("({{ {PLACE} {t} = {c}; {NOT_NULL}({t}) ? {t} : {f}; }})"))
            }
        }
    }

    fn at_element(&mut self, from: &Place<'_>, by: &[Index<'_>], spread: Spread, exists: bool) -> At {
        let mut deltas = Vec::new();
        for index in by.iter().rev() {
            let k = self.several(index.of);
            let d = self.distance(index.count);
            deltas.push(match k {
                Some(k) => format!("{d} * (long)({k})"),
                None => d,
            });
        }
        deltas.reverse();
        let up = by.iter().all(|index| index.not_negative);
        let zero = by.iter().all(|index| index.count.int() == Some(0));
        let delta = deltas.join(" + ");
        if let Some(d) = first_of(from) {
            let a = self.shared_alias(d);
            if zero {
                return At::Variable(a);
            }
            if self.context.style != Style::Inline || !self.passes.arithmetic || !exists && !up {
                return self.moved(&At::Variable(a), &delta, up, spread);
            }
            // No element comes before the first.
            let Spread { block, size } = spread;
            return At::Other(match block {
                0 => format!("{ELEMENT_0}({a}.offset, {delta}, {size})"),
                1 => format!("{ELEMENT_1}({a}.offset, {delta}, {size})"),
                _ => format!("{ELEMENT_B}({a}.offset, {delta}, {block}, {size})"),
            });
        }
        let w = self.at_place(from);
        if zero { w } else { self.moved(&w, &delta, up, spread) }
    }

    /// A number of objects, of type `int` or `long`.
    fn distance(&mut self, count: &Expr) -> String {
        match number(count) {
            Some(n) => n.to_string(),
            None => format!("(long)({})", self.rv(count).s),
        }
    }

    /// A step of `count` objects, subtracted if `back`.
    pub(super) fn by(&mut self, count: &Expr, back: bool) -> By {
        By { distance: self.distance(count), back, up: !back && count.int().is_some_and(|v| v >= 0) }
    }

    /// The place that a pointer of type `pts`, held in `pointer`, points to after it has been moved.
    pub(super) fn step_from(&mut self, pointer: &str, by: &By, pts: TypeId) -> At {
        let pointee = self.u.types.pointee(pts).unwrap_or(pts);
        let spread = lower::spread(self.u, pts);
        self.step(&At::Unpacked(pointer.to_string()), by, pointee, spread)
    }

    /// `w` moved by objects of type `of`.
    fn step(&mut self, w: &At, by: &By, of: TypeId, spread: Spread) -> At {
        let d = format!("{}{}", if by.back { "-" } else { "" }, by.distance);
        let d = match self.several(of) {
            Some(k) => format!("{d} * (long)({k})"),
            None => d,
        };
        self.moved(w, &d, by.up, spread)
    }

    /// `w` moved by `d` elements; `up`: `d` is not negative.
    fn moved(&mut self, w: &At, d: &str, up: bool, spread: Spread) -> At {
        let Spread { block, size } = spread;
        if self.context.style != Style::Inline {
            self.outlines.insert(Outline::new(spread, "mv", "-"));
            return At::Outlined { spread, args: format!("{}, {d}", w.packed()) };
        }
        At::Other(match block {
            _ if !self.passes.arithmetic => format!("{ADD}({w}, {d}, {block}, {size})"),
            0 => format!("{ADD_0}({w}, {d}, {size})"),
            1 => format!("{}({w}, {d}, {size})", if up { ADD_1U } else { ADD_1 }),
            _ => format!("{}({w}, {d}, {block}, {size})", if up { ADD_BU } else { ADD_B }),
        })
    }
}

/// The value of a number, if it is so small that `int` holds it, and sums of a few.
fn number(e: &Expr) -> Option<i128> {
    let mut inner = e;
    while let ExprKind::Implicit { expr, .. } = &inner.kind {
        inner = expr;
    }
    e.int().filter(|v| matches!(inner.kind, ExprKind::Number) && (0..1 << 28).contains(v))
}
