//! Arithmetic and comparisons of pointers.

use super::operands::op_text;
use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{TokIdx, TokRange};
use crate::front::types::*;

impl Sema<'_> {
    /// Whether pointer arithmetic on `p` is possible; reports if not.
    pub(crate) fn check_pointer_step(&mut self, p: TypeId, at: TokIdx) -> bool {
        let Some(t) = self.types.pointee(p) else { return false };
        if self.types.is_error(t) || self.types.is_complete(t) {
            return true;
        }
        let shared = self.types.is_shared(t);
        let gnu = (self.opts.gnu_void || self.is_system(at)) && !shared;
        if gnu && (self.types.is_void(t) || self.types.is_function(t)) {
            return true;
        }
        let text = self.show(p);
        let why = if self.types.is_void(t) {
            "cast it to a pointer to a complete type, such as `char`, first"
        } else if self.types.is_function(t) {
            "functions have no size"
        } else {
            "the type it points to is incomplete here"
        };
        self.error(at, format!("arithmetic on a pointer of type `{text}`: {why}"));
        false
    }

    pub(super) fn pointer_arithmetic(
        &mut self,
        op: BinOp,
        at: TokIdx,
        l: Expr,
        r: Expr,
        toks: TokRange,
    ) -> Expr {
        if self.types.is_pointer(l.ty) && self.types.is_pointer(r.ty) {
            if op == BinOp::Add {
                return self.bad_operands(op, at, &l, &r, toks);
            }
            if self.mixed_pointers(op, at, &l, &r) || !self.check_pointer_step(l.ty, at) {
                return self.bad_expr(toks);
            }
            let (Some(a), Some(b)) = (self.types.pointee(l.ty), self.types.pointee(r.ty)) else {
                return self.bad_expr(toks);
            };
            let same = if !self.types.compatible_unqualified(a, b) {
                Some("to the same type")
            } else {
                (self.types.block(a) != self.types.block(b)).then_some("of the same block size")
            };
            if let Some(same) = same {
                let (x, y) = (self.show(l.ty), self.show(r.ty));
                self.error(at, format!("`-` needs pointers {same}, these are `{x}` and `{y}`"));
                return self.bad_expr(toks);
            }
            let ty = self.types.scalar(Scalar::Long);
            return self.binary_node(op, l, r, ty, toks);
        }
        let left = self.types.is_pointer(l.ty);
        let (p, i) = if left { (&l, &r) } else { (&r, &l) };
        if !self.types.is_integer(i.ty) || (op == BinOp::Sub && !left) {
            return self.bad_operands(op, at, &l, &r, toks);
        }
        let ty = p.ty;
        if !self.check_pointer_step(ty, at) {
            return self.bad_expr(toks);
        }
        let (l, r) = if left { (l, self.promote(r)) } else { (self.promote(l), r) };
        self.binary_node(op, l, r, ty, toks)
    }

    pub(super) fn compare_pointers(
        &mut self,
        op: BinOp,
        at: TokIdx,
        l: Expr,
        r: Expr,
        toks: TokRange,
    ) -> Expr {
        let (lp, rp) = (self.types.is_pointer(l.ty), self.types.is_pointer(r.ty));
        let made = if lp && rp {
            self.comparable(op, at, l, r)
        } else {
            let i = if lp { &r } else { &l };
            if !self.types.is_integer(i.ty) {
                return self.bad_operands(op, at, &l, &r, toks);
            }
            self.comparable_with_integer(op, at, l, r)
        };
        match made {
            Some((l, r)) => self.bool_node(op, l, r, toks),
            None => self.bad_expr(toks),
        }
    }

    /// Two pointers as they are compared; nothing after an error.
    fn comparable(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr) -> Option<(Expr, Expr)> {
        let equality = matches!(op, BinOp::Eq | BinOp::Ne);
        let (nl, nr) = (self.is_null_constant(&l), self.is_null_constant(&r));
        if equality && (nl || nr) {
            let (lt, rt) = (l.ty, r.ty);
            return Some(match (nl, nr) {
                (false, true) => (l, self.null_as(r, lt)),
                (true, false) => (self.null_as(l, rt), r),
                _ => (l, r),
            });
        }
        if self.mixed_pointers(op, at, &l, &r) {
            return None;
        }
        let (a, b) = (self.types.pointee(l.ty)?, self.types.pointee(r.ty)?);
        let shared = self.types.is_shared(a);
        let void = self.types.is_void(a) || self.types.is_void(b);
        if shared && !equality && (!self.types.is_complete(a) || !self.types.is_complete(b)) {
            self.error(
                at,
                format!(
                    "`{}` cannot compare pointers to an incomplete shared type such as `shared void`; cast them first",
                    op_text(op)
                ),
            );
            return None;
        }
        if shared && !void && self.types.block(a) != self.types.block(b) {
            let (x, y) = (self.show(l.ty), self.show(r.ty));
            self.error(
                at,
                format!(
                    "`{}` compares pointers of different block sizes, `{x}` and `{y}`; cast one of them",
                    op_text(op)
                ),
            );
            return None;
        }
        if !void {
            self.warn_of_unlike(op, at, &l, &r);
        }
        Some(if shared && void { self.both_generic(l, r) } else { (l, r) })
    }

    /// Warns of a comparison of pointers to different types.
    fn warn_of_unlike(&mut self, op: BinOp, at: TokIdx, l: &Expr, r: &Expr) {
        let (Some(a), Some(b)) = (self.types.pointee(l.ty), self.types.pointee(r.ty)) else { return };
        if self.types.compatible_unqualified(a, b) {
            return;
        }
        let (a, b) = (self.types.unqualified(a), self.types.unqualified(b));
        if self.types.compatible_unqualified(a, b) {
            return;
        }
        let (x, y) = (self.show(l.ty), self.show(r.ty));
        let text = format!(
            "`{}` compares pointers of different types, `{x}` and `{y}`; cast one of them",
            op_text(op)
        );
        let size = |t| self.types.as_scalar(t).map(Scalar::size);
        let differ_in_sign = size(a) == size(b) && self.types.is_integer(a) && self.types.is_integer(b);
        if differ_in_sign {
            self.warn_all(at, text);
        } else {
            self.warn(at, text);
        }
    }

    /// A pointer and an integer as they are compared; nothing after an error.
    fn comparable_with_integer(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr) -> Option<(Expr, Expr)> {
        let equality = matches!(op, BinOp::Eq | BinOp::Ne);
        let left = self.types.is_pointer(l.ty);
        let (p, i) = if left { (&l, &r) } else { (&r, &l) };
        let null = self.is_null_constant(i);
        let pts = self.types.is_pts(p.ty);
        if pts && (!null || !equality) {
            self.error(
                at,
                format!("`{}` cannot compare a pointer-to-shared with an integer; only with null, by `==` and `!=`", op_text(op)),
            );
            return None;
        }
        if !null {
            let x = self.show(p.ty);
            self.warn(at, format!("`{}` compares a pointer (`{x}`) with an integer", op_text(op)));
        }
        let ty = p.ty;
        Some(if left {
            let r = self.int_as_pointer(r, ty, null);
            (l, r)
        } else {
            let l = self.int_as_pointer(l, ty, null);
            (l, r)
        })
    }

    fn int_as_pointer(&mut self, e: Expr, ty: TypeId, null: bool) -> Expr {
        if null { self.null_as(e, ty) } else { self.implicit(Conv::IntToPtr, ty, e) }
    }

    /// A null pointer constant as a pointer of type `ty`.
    pub(crate) fn null_as(&mut self, e: Expr, ty: TypeId) -> Expr {
        let conv = if self.types.is_pts(ty) { Conv::NullToPts } else { Conv::NullToPtr };
        self.implicit(conv, ty, e)
    }

    fn both_generic(&mut self, l: Expr, r: Expr) -> (Expr, Expr) {
        let lg = self.types.pts_kind(l.ty) == Some(PtsKind::Generic);
        let rg = self.types.pts_kind(r.ty) == Some(PtsKind::Generic);
        match (lg, rg) {
            (true, false) => {
                let t = l.ty;
                (l, self.implicit(Conv::PtsToPts { reset: false }, t, r))
            }
            (false, true) => {
                let t = r.ty;
                (self.implicit(Conv::PtsToPts { reset: false }, t, l), r)
            }
            _ => (l, r),
        }
    }
}
