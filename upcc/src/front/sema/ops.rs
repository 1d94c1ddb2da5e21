//! Operators: each builder takes operands as read and returns the checked node.

use super::operands::op_text;
use crate::front::ast::*;
use crate::front::consteval;
use crate::front::sema::Sema;
use crate::front::token::{TokIdx, TokRange};
use crate::front::types::*;

impl Sema<'_> {
    pub(super) fn is_vector(&self, t: TypeId) -> bool {
        matches!(self.types.ckind(t), TypeKind::Vector { .. })
    }
    pub(crate) fn is_scalar_type(&self, t: TypeId) -> bool {
        self.types.is_arithmetic(t) || self.types.is_pointer(t) || self.types.is_error(t)
    }
    fn bin_node(&mut self, op: BinOp, lhs: Expr, rhs: Expr, ty: TypeId, toks: TokRange) -> Expr {
        self.folded(op, lhs, rhs, ty, Some(ty), toks)
    }

    /// `l op r`, the operator token being `at`.
    pub(crate) fn binary(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr) -> Expr {
        let toks = l.toks.to(r.toks);
        let l = self.rvalue(l);
        let r = self.rvalue(r);
        if self.types.is_error(l.ty) || self.types.is_error(r.ty) {
            let upc = l.has_upc || r.has_upc;
            let bool_like = op >= BinOp::Lt && op <= BinOp::Ne || op >= BinOp::LogAnd;
            let ty = if bool_like { self.types.int() } else { self.types.error() };
            return self.node(
                ExprKind::Binary { op, lhs: Box::new(l), rhs: Box::new(r) },
                ty,
                Cat::Rvalue,
                toks,
                upc,
            );
        }
        for e in [&l, &r] {
            if self.types.is_void(e.ty) {
                self.error(
                    e.toks.start,
                    format!("an operand of `{}` has no value: it is of type void", op_text(op)),
                );
                return self.bad_expr(toks);
            }
        }
        if self.is_vector(l.ty) || self.is_vector(r.ty) {
            let Some(ty) = self.vector_result(op, l.ty, r.ty) else {
                return self.bad_operands(op, at, &l, &r, toks);
            };
            return self.binary_node(op, l, r, ty, toks);
        }
        use BinOp::*;
        match op {
            Add | Sub if self.types.is_pointer(l.ty) || self.types.is_pointer(r.ty) => {
                self.pointer_arithmetic(op, at, l, r, toks)
            }
            Lt | Gt | Le | Ge | Eq | Ne if self.types.is_pointer(l.ty) || self.types.is_pointer(r.ty) => {
                self.compare_pointers(op, at, l, r, toks)
            }
            LogAnd | LogOr => {
                if !self.is_scalar_type(l.ty) || !self.is_scalar_type(r.ty) {
                    return self.bad_operands(op, at, &l, &r, toks);
                }
                let mut e = self.bool_node(op, l, r, toks);
                // `0 && x` and `1 || x` are decided by the left operand.
                if let ExprKind::Binary { lhs, .. } = &e.kind
                    && let Some(v) = lhs.value
                    && consteval::is_true(v) == (op == LogOr)
                {
                    e.value = Some(ConstValue::Int(i128::from(op == LogOr)));
                }
                e
            }
            _ if !self.types.is_arithmetic(l.ty) || !self.types.is_arithmetic(r.ty) => {
                self.bad_operands(op, at, &l, &r, toks)
            }
            Shl | Shr => {
                if !self.types.is_integer(l.ty) || !self.types.is_integer(r.ty) {
                    return self.bad_operands(op, at, &l, &r, toks);
                }
                let l = self.promote(l);
                let r = self.promote(r);
                let ty = l.ty;
                self.bin_node(op, l, r, ty, toks)
            }
            Rem | BitAnd | BitXor | BitOr if !self.types.is_integer(l.ty) || !self.types.is_integer(r.ty) => {
                self.bad_operands(op, at, &l, &r, toks)
            }
            _ => {
                let (l, r, ty) = self.balance(l, r);
                if matches!(op, Lt | Gt | Le | Ge | Eq | Ne) {
                    return self.bool_node(op, l, r, toks);
                }
                if matches!(op, Div | Rem) && r.int() == Some(0) && self.unevaluated == 0 {
                    self.warn_all(at, "division by zero");
                }
                self.bin_node(op, l, r, ty, toks)
            }
        }
    }

    /// Both arithmetic rvalues in their common type.
    fn balance(&mut self, l: Expr, r: Expr) -> (Expr, Expr, TypeId) {
        let l = self.promote(l);
        let r = self.promote(r);
        let ty = self.common_type(l.ty, r.ty);
        // A real operand of a complex operation stays real; only its base type is adapted.
        let side = |cx: &mut Self, e: Expr| {
            if matches!(cx.types.ckind(ty), TypeKind::Complex(_)) && cx.types.as_scalar(e.ty).is_some() {
                return e;
            }
            cx.arith(e, ty)
        };
        let l = side(self, l);
        let r = side(self, r);
        (l, r, ty)
    }

    /// A unary operator other than `&`, `*`, `++`, `--`.
    pub(crate) fn unary(&mut self, op: UnOp, at: TokIdx, e: Expr) -> Expr {
        let toks = TokRange::new(at, at + 1).to(e.toks);
        if op == UnOp::Extension {
            let (ty, cat, upc, strict, value) = (e.ty, e.cat, e.has_upc, e.strict, e.value);
            let mut n = self.node(ExprKind::Unary { op, expr: Box::new(e) }, ty, cat, toks, upc);
            n.strict = strict;
            n.value = value;
            return n;
        }
        if matches!(op, UnOp::Real | UnOp::Imag) {
            return self.real_imag(op, toks, e);
        }
        let e = self.rvalue(e);
        if self.types.is_error(e.ty) || self.is_vector(e.ty) {
            let (ty, upc) = (e.ty, e.has_upc);
            return self.node(ExprKind::Unary { op, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc);
        }
        let ok = match op {
            UnOp::Plus | UnOp::Neg => self.types.is_arithmetic(e.ty),
            UnOp::BitNot => {
                self.types.is_integer(e.ty) || matches!(self.types.ckind(e.ty), TypeKind::Complex(_))
            }
            _ => self.is_scalar_type(e.ty),
        };
        if !ok {
            let t = self.show(e.ty);
            let o = self.toks.spelling(at).to_owned();
            self.error(at, format!("`{o}` does not go with an operand of type `{t}`"));
            return self.bad_expr(toks);
        }
        let (e, ty) = if op == UnOp::Not {
            let int = self.types.int();
            (e, int)
        } else {
            let e = self.promote(e);
            let t = e.ty;
            (e, t)
        };
        let value = e.value.and_then(|v| {
            let s = self.types.as_scalar(ty)?;
            Some(match (op, v) {
                (UnOp::Plus, v) => v,
                (UnOp::Neg, ConstValue::Int(i)) => ConstValue::Int(consteval::wrap(i.wrapping_neg(), s)),
                (UnOp::Neg, ConstValue::Float(f)) => ConstValue::Float(-f),
                (UnOp::BitNot, ConstValue::Int(i)) => ConstValue::Int(consteval::wrap(!i, s)),
                (UnOp::Not, v) => ConstValue::Int(i128::from(!consteval::is_true(v))),
                _ => return None,
            })
        });
        let upc = e.has_upc;
        let mut n = self.node(ExprKind::Unary { op, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc);
        n.value = value;
        n
    }

    fn real_imag(&mut self, op: UnOp, toks: TokRange, e: Expr) -> Expr {
        let q = self.types.quals(e.ty);
        let ty = match *self.types.ckind(e.ty) {
            TypeKind::Complex(s) => {
                let t = self.types.scalar(s);
                if e.cat == Cat::Lvalue { self.types.qualified(t, q) } else { t }
            }
            _ if self.types.is_arithmetic(e.ty) || self.types.is_error(e.ty) => e.ty,
            _ => {
                let t = self.show(e.ty);
                self.error(toks.start, format!("a complex number is expected, this is `{t}`"));
                return self.bad_expr(toks);
            }
        };
        let (cat, upc, strict) = (e.cat, e.has_upc, e.strict);
        let mut n = self.node(ExprKind::Unary { op, expr: Box::new(e) }, ty, cat, toks, upc);
        n.strict = strict;
        n
    }

    /// `*e`
    pub(crate) fn deref(&mut self, at: TokIdx, e: Expr) -> Expr {
        let toks = TokRange::new(at, at + 1).to(e.toks);
        let e = self.rvalue(e);
        if self.types.is_error(e.ty) {
            return self.bad_expr(toks);
        }
        let Some(t) = self.types.pointee(e.ty) else {
            let t = self.show(e.ty);
            self.error(at, format!("`*` needs a pointer, this is of type `{t}`"));
            return self.bad_expr(toks);
        };
        if self.types.is_void(t) && self.unevaluated == 0 && !self.is_system(at) {
            self.warn_all(at, "this dereferences a pointer to void");
        }
        let upc = e.has_upc;
        self.lvalue_node(ExprKind::Unary { op: UnOp::Deref, expr: Box::new(e) }, t, toks, upc)
    }

    /// `&e`
    pub(crate) fn address_of(&mut self, at: TokIdx, e: Expr) -> Expr {
        let toks = TokRange::new(at, at + 1).to(e.toks);
        if self.types.is_error(e.ty) {
            return self.bad_expr(toks);
        }
        let ok = match e.cat {
            Cat::Lvalue | Cat::Function => true,
            Cat::Rvalue => self.types.is_function(e.ty),
        };
        if !ok {
            let what = match e.unparen().kind {
                ExprKind::Threads => "THREADS is a value, not an object",
                ExprKind::MyThread => "MYTHREAD is a value, not an object",
                _ => "this is a value, not an object",
            };
            self.error(at, format!("`&` needs an object to take the address of; {what}"));
            return self.bad_expr(toks);
        }
        if e.bit_field(&self.types).is_some() {
            self.error(at, "the address of a bit-field cannot be taken");
            return self.bad_expr(toks);
        }
        if let ExprKind::Name(d) = e.unparen().kind
            && self.decls[d.0 as usize].storage == Storage::Register
            && self.decls[d.0 as usize].linkage == Linkage::None
        {
            let text = format!(
                "the address of the register variable `{}` cannot be taken",
                self.name(self.decls[d.0 as usize].name)
            );
            self.error(at, text);
        }
        if let Some(d) = e.variable() {
            self.decls[d.0 as usize].addressed = true;
        }
        let ty = self.types.pointer(e.ty);
        let upc = e.has_upc;
        self.node(ExprKind::Unary { op: UnOp::AddrOf, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc)
    }

    /// `l, r`
    pub(crate) fn comma(&mut self, l: Expr, r: Expr) -> Expr {
        let toks = l.toks.to(r.toks);
        // The left operand is used for its effects: it stays an lvalue if it is one of void type.
        let l = if self.types.is_void(l.ty) { l } else { self.rvalue(l) };
        let r = self.rvalue(r);
        let ty = r.ty;
        let upc = l.has_upc || r.has_upc;
        self.node(ExprKind::Comma { lhs: Box::new(l), rhs: Box::new(r) }, ty, Cat::Rvalue, toks, upc)
    }

    /// `a[i]`
    pub(crate) fn index(&mut self, at: TokIdx, end: TokIdx, a: Expr, i: Expr) -> Expr {
        let toks = TokRange::new(a.toks.start, end);
        if self.is_vector(a.ty) {
            let TypeKind::Vector { elem, .. } = *self.types.ckind(a.ty) else { return self.bad_expr(toks) };
            let i = self.rvalue(i);
            let upc = a.has_upc || i.has_upc;
            return self.lvalue_node(
                ExprKind::Index { base: Box::new(a), index: Box::new(i) },
                elem,
                toks,
                upc,
            );
        }
        let a = self.rvalue(a);
        let i = self.rvalue(i);
        if self.types.is_error(a.ty) || self.types.is_error(i.ty) {
            return self.bad_expr(toks);
        }
        let (base, index) = if self.types.is_pointer(a.ty) { (a, i) } else { (i, a) };
        let Some(t) = self.types.pointee(base.ty) else {
            let (x, y) = (self.show(index.ty), self.show(base.ty));
            self.error(
                at,
                format!("`[]` needs an array or pointer and an integer, these are `{x}` and `{y}`"),
            );
            return self.bad_expr(toks);
        };
        if self.types.is_function(t) {
            self.error(at, "a pointer to a function cannot be subscripted");
            return self.bad_expr(toks);
        }
        if !self.types.is_integer(index.ty) {
            let x = self.show(index.ty);
            self.error(index.toks.start, format!("an index must be an integer, this is of type `{x}`"));
            return self.bad_expr(toks);
        }
        if !self.check_pointer_step(base.ty, at) {
            return self.bad_expr(toks);
        }
        let index = self.promote(index);
        let upc = base.has_upc || index.has_upc;
        self.lvalue_node(ExprKind::Index { base: Box::new(base), index: Box::new(index) }, t, toks, upc)
    }
}
