//! Conditions, and the operator that has three operands.

use crate::front::ast::*;
use crate::front::consteval;
use crate::front::sema::Sema;
use crate::front::token::TokIdx;
use crate::front::types::*;

impl Sema<'_> {
    /// A controlling expression.
    pub(crate) fn scalar_condition(&mut self, e: Expr) -> Expr {
        let e = self.rvalue(e);
        if !self.is_scalar_type(e.ty) && !self.is_vector(e.ty) {
            let t = self.show(e.ty);
            self.error(
                e.toks.start,
                format!("a condition must be a number or a pointer, this is of type `{t}`"),
            );
            return self.bad_expr(e.toks);
        }
        e
    }

    /// `c ? t : e`
    pub(crate) fn conditional(&mut self, at: TokIdx, c: Expr, t: Option<Expr>, f: Expr) -> Expr {
        let toks = c.toks.to(f.toks);
        let c = self.scalar_condition(c);
        let f = self.rvalue(f);
        let short = t.is_none();
        let t = t.map(|t| self.rvalue(t));
        let tt = t.as_ref().map_or(c.ty, |t| t.ty);
        let ft = f.ty;
        let t_null = t.as_ref().map_or_else(|| self.is_null_constant(&c), |t| self.is_null_constant(t));
        let f_null = self.is_null_constant(&f);
        let ty = if self.types.is_error(tt) {
            tt
        } else if self.types.is_error(ft) {
            ft
        } else if self.types.is_arithmetic(tt) && self.types.is_arithmetic(ft) {
            let l = super::conv::promoted;
            let p = |cx: &mut Self, t: TypeId| match cx.types.as_scalar(t) {
                Some(s) if s.is_integer() => cx.types.scalar(l(s)),
                _ => t,
            };
            let (a, b) = (p(self, tt), p(self, ft));
            self.common_type(a, b)
        } else if self.types.is_void(tt) || self.types.is_void(ft) {
            self.types.scalar(Scalar::Void)
        } else if self.types.is_pointer(tt) && self.types.is_pointer(ft) {
            if t_null && !f_null {
                ft
            } else if f_null && !t_null {
                tt
            } else {
                match self.conditional_pointers(at, tt, ft) {
                    Some(t) => t,
                    None => return self.bad_expr(toks),
                }
            }
        } else if self.types.is_pointer(tt) && self.types.is_integer(ft) {
            if !self.pointer_or_null(at, tt, f_null) {
                return self.bad_expr(toks);
            }
            tt
        } else if self.types.is_pointer(ft) && self.types.is_integer(tt) {
            if !self.pointer_or_null(at, ft, t_null) {
                return self.bad_expr(toks);
            }
            ft
        } else if self.types.compatible_unqualified(tt, ft) || self.is_vector(tt) || self.is_vector(ft) {
            tt
        } else {
            let (a, b) = (self.show(tt), self.show(ft));
            self.error(
                at,
                format!("the two values of `?:` have types that do not go together, `{a}` and `{b}`"),
            );
            return self.bad_expr(toks);
        };
        let t = t.map(|t| self.branch(t, ty));
        let f = self.branch(f, ty);
        let value = c.value.and_then(|v| {
            let truth = consteval::is_true(v);
            match (&t, truth) {
                (Some(t), true) => t.value,
                (None, true) => consteval::convert(&self.types, v, ty),
                (_, false) => f.value,
            }
        });
        let _ = short;
        let upc = c.has_upc || t.as_ref().is_some_and(|t| t.has_upc) || f.has_upc;
        let mut n = self.node(
            ExprKind::Cond { cond: Box::new(c), then: t.map(Box::new), els: Box::new(f) },
            ty,
            Cat::Rvalue,
            toks,
            upc,
        );
        n.value = value;
        n
    }

    fn pointer_or_null(&mut self, at: TokIdx, p: TypeId, null: bool) -> bool {
        if null {
            return true;
        }
        if self.types.is_pts(p) {
            self.error(at, "`?:` cannot choose between a pointer-to-shared and an integer other than 0");
            return false;
        }
        self.warn(at, "`?:` chooses between a pointer and an integer");
        true
    }

    fn branch(&mut self, e: Expr, ty: TypeId) -> Expr {
        if self.types.is_error(ty)
            || self.types.is_error(e.ty)
            || self.types.canon(e.ty) == self.types.canon(ty)
        {
            return e;
        }
        if self.types.is_void(ty) {
            return self.implicit(Conv::ToVoid, ty, e);
        }
        if self.types.is_arithmetic(ty) {
            return self.arith(e, ty);
        }
        if self.types.is_pointer(ty) {
            if self.is_null_constant(&e) {
                return self.null_as(e, ty);
            }
            let conv = match (self.types.is_pointer(e.ty), self.types.is_pts(ty)) {
                (false, _) => Conv::IntToPtr,
                (true, true) => Conv::PtsToPts { reset: false },
                (true, false) => Conv::PtrToPtr,
            };
            return self.implicit(conv, ty, e);
        }
        e
    }

    fn conditional_pointers(&mut self, at: TokIdx, a: TypeId, b: TypeId) -> Option<TypeId> {
        let (x, y) = (self.types.pointee(a)?, self.types.pointee(b)?);
        if self.types.is_shared(x) != self.types.is_shared(y) {
            self.error(at, "`?:` cannot choose between a pointer-to-shared and a private pointer");
            return None;
        }
        let quals = {
            let (p, q) = (self.types.quals(x), self.types.quals(y));
            p.union(q)
        };
        if self.types.is_void(x) || self.types.is_void(y) {
            let v = if self.types.is_void(x) { x } else { y };
            let q = Quals { shared: self.types.quals(v).shared, ..quals };
            let v = self.types.with_quals(v, q);
            return Some(self.types.pointer(v));
        }
        if self.types.block(x) != self.types.block(y) {
            let (p, q) = (self.show(a), self.show(b));
            self.error(at, format!("`?:` chooses between pointers of different block sizes, `{p}` and `{q}`; cast one of them"));
            return None;
        }
        let (ux, uy) = (self.types.unqualified(x), self.types.unqualified(y));
        if self.types.compatible(ux, uy) {
            let c = self.types.composite(ux, uy);
            let c = self.types.qualified(c, quals);
            return Some(self.types.pointer(c));
        }
        let (p, q) = (self.show(a), self.show(b));
        self.warn(at, format!("`?:` chooses between pointers of different types, `{p}` and `{q}`"));
        if self.types.is_shared(x) {
            return Some(a);
        }
        let v = self.types.scalar(Scalar::Void);
        Some(self.types.pointer(v))
    }
}
