//! Assignments, and what changes an object in its place.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{TokIdx, TokRange};
use crate::front::types::*;

use super::conv::Why;
use super::operands::op_text;

impl Sema<'_> {
    /// Whether `e` can be assigned to; reports if not.
    pub(crate) fn check_modifiable(&mut self, e: &Expr, at: TokIdx, what: &str) -> bool {
        if self.types.is_error(e.ty) {
            return false;
        }
        if e.cat != Cat::Lvalue {
            let text = match e.unparen().kind {
                ExprKind::Threads => "THREADS cannot be changed".to_owned(),
                ExprKind::MyThread => "MYTHREAD cannot be changed".to_owned(),
                _ => format!("{what} needs an object on its left, this is a value"),
            };
            self.error(at, text);
            return false;
        }
        if self.types.is_array(e.ty) {
            self.error(at, "an array cannot be assigned to; assign its elements or use memcpy or upc_memcpy");
            return false;
        }
        if self.types.quals(e.ty).is_const || self.types.record(e.ty).is_some_and(|r| r.has_const) {
            let name = match e.unparen().kind {
                ExprKind::Name(d) => format!("`{}`", self.name(self.decls[d.0 as usize].name)),
                _ => "this object".to_owned(),
            };
            self.error(at, format!("{name} is const and cannot be changed"));
            return false;
        }
        if !self.types.is_complete(e.ty) {
            let t = self.show(e.ty);
            self.error(at, format!("an object of the incomplete type `{t}` cannot be changed"));
            return false;
        }
        true
    }

    /// `l = r`
    pub(crate) fn assign(&mut self, at: TokIdx, l: Expr, r: Expr) -> Expr {
        let toks = l.toks.to(r.toks);
        if !self.check_modifiable(&l, at, "`=`") {
            let _ = self.rvalue(r);
            return self.bad_expr(toks);
        }
        let r = self.assign_convert(r, l.ty, &Why::Assign);
        let ty = self.types.unqualified(l.ty);
        let upc = l.has_upc || r.has_upc;
        self.node(ExprKind::Assign { lhs: Box::new(l), rhs: Box::new(r) }, ty, Cat::Rvalue, toks, upc)
    }

    /// `l op= r`
    pub(crate) fn compound_assign(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr) -> Expr {
        let toks = l.toks.to(r.toks);
        let r = self.rvalue(r);
        let what = format!("`{}=`", op_text(op));
        if !self.check_modifiable(&l, at, &what) || self.types.is_error(r.ty) {
            return self.bad_expr(toks);
        }
        let ty = self.types.unqualified(l.ty);
        let (compute, r) = if self.types.is_pointer(l.ty) {
            if !matches!(op, BinOp::Add | BinOp::Sub) || !self.types.is_integer(r.ty) {
                let r2 = r;
                return self.bad_operands(op, at, &l, &r2, toks);
            }
            if !self.check_pointer_step(ty, at) {
                return self.bad_expr(toks);
            }
            let r = self.promote(r);
            (ty, r)
        } else if self.is_vector(l.ty) || self.is_vector(r.ty) {
            (ty, r)
        } else {
            let ints = self.types.is_integer(l.ty) && self.types.is_integer(r.ty);
            let int_only = matches!(
                op,
                BinOp::Rem | BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitXor | BinOp::BitOr
            );
            if !self.types.is_arithmetic(l.ty) || !self.types.is_arithmetic(r.ty) || (int_only && !ints) {
                return self.bad_operands(op, at, &l, &r, toks);
            }
            let lt = match self.types.as_scalar(l.ty) {
                Some(s) if s.is_integer() => {
                    let p = super::conv::promoted(s);
                    self.types.scalar(p)
                }
                _ => ty,
            };
            let r = self.promote(r);
            if matches!(op, BinOp::Shl | BinOp::Shr) {
                (lt, r)
            } else {
                let c = self.common_type(lt, r.ty);
                let complex = matches!(self.types.ckind(c), TypeKind::Complex(_));
                let r = if complex && self.types.as_scalar(r.ty).is_some() { r } else { self.arith(r, c) };
                (c, r)
            }
        };
        let upc = l.has_upc || r.has_upc;
        self.node(
            ExprKind::CompoundAssign { op, lhs: Box::new(l), rhs: Box::new(r), compute },
            ty,
            Cat::Rvalue,
            toks,
            upc,
        )
    }

    /// `++` and `--`
    pub(crate) fn inc_dec(&mut self, at: TokIdx, inc: bool, prefix: bool, e: Expr) -> Expr {
        let toks = TokRange::new(at, at + 1).to(e.toks);
        let what = if inc { "`++`" } else { "`--`" };
        if self.types.is_error(e.ty) {
            return self.bad_expr(toks);
        }
        if e.cat != Cat::Lvalue {
            self.error(at, format!("{what} needs an object, this is a value"));
            return self.bad_expr(toks);
        }
        if !self.check_modifiable(&e, at, what) {
            return self.bad_expr(toks);
        }
        if self.types.is_pointer(e.ty) {
            if !self.check_pointer_step(e.ty, at) {
                return self.bad_expr(toks);
            }
        } else if !self.types.is_arithmetic(e.ty) && !self.is_vector(e.ty) {
            let t = self.show(e.ty);
            self.error(at, format!("{what} does not go with an operand of type `{t}`"));
            return self.bad_expr(toks);
        }
        let ty = self.types.unqualified(e.ty);
        let upc = e.has_upc;
        self.node(ExprKind::IncDec { inc, prefix, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc)
    }
}
