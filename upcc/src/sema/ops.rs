//! Operators: each builder takes operands as read and returns the checked node.

use crate::ast::*;
use crate::consteval;
use crate::parse::Cx;
use crate::token::{TokIdx, TokRange};
use crate::types::*;

use super::conv::Why;

pub(crate) fn op_text(op: BinOp) -> &'static str {
    use BinOp::*;
    match op {
        Mul => "*",
        Div => "/",
        Rem => "%",
        Add => "+",
        Sub => "-",
        Shl => "<<",
        Shr => ">>",
        Lt => "<",
        Gt => ">",
        Le => "<=",
        Ge => ">=",
        Eq => "==",
        Ne => "!=",
        BitAnd => "&",
        BitXor => "^",
        BitOr => "|",
        LogAnd => "&&",
        LogOr => "||",
    }
}

impl Cx<'_> {
    fn is_vector(&self, t: TypeId) -> bool {
        matches!(self.types.ckind(t), TypeKind::Vector { .. })
    }
    pub(crate) fn is_scalar_type(&self, t: TypeId) -> bool {
        self.types.is_arithmetic(t) || self.types.is_pointer(t) || self.types.is_error(t)
    }
    fn bool_node(&mut self, op: BinOp, lhs: Expr, rhs: Expr, toks: TokRange) -> Expr {
        // Compared in the operands' type; the result is an int.
        let at = lhs.ty;
        let known = self.types.is_arithmetic(at) && self.types.is_arithmetic(rhs.ty);
        let int = self.types.int();
        self.folded(op, lhs, rhs, int, known.then_some(at), toks)
    }
    fn bin_node(&mut self, op: BinOp, lhs: Expr, rhs: Expr, ty: TypeId, toks: TokRange) -> Expr {
        self.folded(op, lhs, rhs, ty, Some(ty), toks)
    }

    /// A binary node of type `ty`, its constant value computed in type `at`, if any.
    fn folded(
        &mut self,
        op: BinOp,
        lhs: Expr,
        rhs: Expr,
        ty: TypeId,
        at: Option<TypeId>,
        toks: TokRange,
    ) -> Expr {
        let value = match (lhs.value, rhs.value, at) {
            (Some(a), Some(b), Some(at)) => consteval::binary(&self.types, op, a, b, at),
            _ => None,
        };
        let upc = lhs.has_upc || rhs.has_upc;
        let kind = ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) };
        let mut e = self.node(kind, ty, Cat::Rvalue, toks, upc);
        e.value = value;
        e
    }

    fn bad_operands(&mut self, op: BinOp, at: TokIdx, l: &Expr, r: &Expr, toks: TokRange) -> Expr {
        let (a, b) = (self.show(l.ty), self.show(r.ty));
        self.error(at, format!("`{}` does not go with operands of types `{a}` and `{b}`", op_text(op)));
        self.bad_expr(toks)
    }

    /// Private operand and shared operand in one operator.
    fn mixed_pointers(&mut self, op: BinOp, at: TokIdx, l: &Expr, r: &Expr) -> bool {
        let mix = self.types.is_pointer(l.ty)
            && self.types.is_pointer(r.ty)
            && self.types.is_pts(l.ty) != self.types.is_pts(r.ty);
        if mix {
            self.error(
                at,
                format!(
                    "`{}` cannot combine a pointer-to-shared and a private pointer; cast the pointer-to-shared if its data is local",
                    op_text(op)
                ),
            );
        }
        mix
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

    fn pointer_arithmetic(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr, toks: TokRange) -> Expr {
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
            if !self.types.compatible_unqualified(a, b) {
                if self.types.is_shared(a) || !self.types.compatible_unqualified(a, b) {
                    let (x, y) = (self.show(l.ty), self.show(r.ty));
                    self.error(at, format!("`-` needs pointers to the same type, these are `{x}` and `{y}`"));
                    return self.bad_expr(toks);
                }
            } else if self.types.block(a) != self.types.block(b) {
                let (x, y) = (self.show(l.ty), self.show(r.ty));
                self.error(
                    at,
                    format!("`-` needs pointers of the same block size, these are `{x}` and `{y}`"),
                );
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
        let (l, r) = if left {
            let r = self.promote(r);
            (l, r)
        } else {
            let l = self.promote(l);
            (l, r)
        };
        self.binary_node(op, l, r, ty, toks)
    }

    fn binary_node(&mut self, op: BinOp, l: Expr, r: Expr, ty: TypeId, toks: TokRange) -> Expr {
        let upc = l.has_upc || r.has_upc;
        self.node(ExprKind::Binary { op, lhs: Box::new(l), rhs: Box::new(r) }, ty, Cat::Rvalue, toks, upc)
    }

    fn compare_pointers(&mut self, op: BinOp, at: TokIdx, l: Expr, r: Expr, toks: TokRange) -> Expr {
        let equality = matches!(op, BinOp::Eq | BinOp::Ne);
        let (lp, rp) = (self.types.is_pointer(l.ty), self.types.is_pointer(r.ty));
        if lp && rp {
            let (nl, nr) = (self.is_null_constant(&l), self.is_null_constant(&r));
            if equality && (nl || nr) {
                let (l, r) = if nr && !nl {
                    let r = self.null_as(r, l.ty);
                    (l, r)
                } else if nl && !nr {
                    let l = self.null_as(l, r.ty);
                    (l, r)
                } else {
                    (l, r)
                };
                return self.bool_node(op, l, r, toks);
            }
            if self.mixed_pointers(op, at, &l, &r) {
                return self.bad_expr(toks);
            }
            let (Some(a), Some(b)) = (self.types.pointee(l.ty), self.types.pointee(r.ty)) else {
                return self.bad_expr(toks);
            };
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
                return self.bad_expr(toks);
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
                return self.bad_expr(toks);
            }
            if !void && !self.types.compatible_unqualified(a, b) {
                let (ua, ub) = (self.types.unqualified(a), self.types.unqualified(b));
                if !self.types.compatible_unqualified(ua, ub) {
                    let (x, y) = (self.show(l.ty), self.show(r.ty));
                    let signless = self.types.as_scalar(ua).map(Scalar::size)
                        == self.types.as_scalar(ub).map(Scalar::size)
                        && self.types.is_integer(ua)
                        && self.types.is_integer(ub);
                    let text = format!(
                        "`{}` compares pointers of different types, `{x}` and `{y}`; cast one of them",
                        op_text(op)
                    );
                    if signless {
                        self.warn_all(at, text);
                    } else {
                        self.warn(at, text);
                    }
                }
            }
            let (l, r) = if shared && void { self.both_generic(l, r) } else { (l, r) };
            return self.bool_node(op, l, r, toks);
        }
        let (p, i) = if lp { (&l, &r) } else { (&r, &l) };
        if !self.types.is_integer(i.ty) {
            return self.bad_operands(op, at, &l, &r, toks);
        }
        let null = self.is_null_constant(i);
        let pts = self.types.is_pts(p.ty);
        if !null || (pts && !equality) {
            if pts {
                self.error(
                    at,
                    format!("`{}` cannot compare a pointer-to-shared with an integer; only with null, by `==` and `!=`", op_text(op)),
                );
                return self.bad_expr(toks);
            }
            if !null {
                let x = self.show(p.ty);
                self.warn(at, format!("`{}` compares a pointer (`{x}`) with an integer", op_text(op)));
            }
        }
        let (l, r) = if lp {
            let r = self.int_as_pointer(r, l.ty, null);
            (l, r)
        } else {
            let l = self.int_as_pointer(l, r.ty, null);
            (l, r)
        };
        self.bool_node(op, l, r, toks)
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
