//! Nodes of binary operations, and what is said of operands that do not fit.

use crate::front::ast::*;
use crate::front::consteval;
use crate::front::sema::Sema;
use crate::front::token::{TokIdx, TokRange};
use crate::front::types::*;

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

impl Sema<'_> {
    /// A binary node of type `ty`, its constant value computed in type `at`, if any.
    pub(super) fn folded(
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

    pub(super) fn bad_operands(&mut self, op: BinOp, at: TokIdx, l: &Expr, r: &Expr, toks: TokRange) -> Expr {
        let (a, b) = (self.show(l.ty), self.show(r.ty));
        self.error(at, format!("`{}` does not go with operands of types `{a}` and `{b}`", op_text(op)));
        self.bad_expr(toks)
    }

    pub(super) fn binary_node(&mut self, op: BinOp, l: Expr, r: Expr, ty: TypeId, toks: TokRange) -> Expr {
        let upc = l.has_upc || r.has_upc;
        self.node(ExprKind::Binary { op, lhs: Box::new(l), rhs: Box::new(r) }, ty, Cat::Rvalue, toks, upc)
    }

    pub(super) fn bool_node(&mut self, op: BinOp, lhs: Expr, rhs: Expr, toks: TokRange) -> Expr {
        // Compared in the operands' type; the result is an int.
        let at = lhs.ty;
        let known = self.types.is_arithmetic(at) && self.types.is_arithmetic(rhs.ty);
        let int = self.types.int();
        self.folded(op, lhs, rhs, int, known.then_some(at), toks)
    }

    /// Private operand and shared operand in one operator.
    pub(super) fn mixed_pointers(&mut self, op: BinOp, at: TokIdx, l: &Expr, r: &Expr) -> bool {
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
}
