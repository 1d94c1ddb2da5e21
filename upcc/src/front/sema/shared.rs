//! Constraints on shared types: layouts, THREADS in array bounds.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::TokIdx;
use crate::front::types::Block;
use crate::front::types::*;

impl Sema<'_> {
    /// `ty` with another layout.
    pub(crate) fn set_block(&mut self, ty: TypeId, block: Block) -> TypeId {
        let q = self.types.quals(ty);
        self.types.with_quals(ty, Quals { shared: Some(block), ..q })
    }

    pub(crate) fn block_too_big(&self, n: i128) -> String {
        format!("block size {n} is larger than UPC_MAX_BLOCK_SIZE, which is {}", self.opts.max_block)
    }

    /// Whether an expression that is no constant involves THREADS: `Some(Some(n))` if it is `n * THREADS`,
    /// `Some(None)` if it uses THREADS in any other way, `None` if not at all.
    pub(crate) fn threads_form(&self, e: &Expr) -> Option<Option<i128>> {
        match &e.kind {
            ExprKind::Threads => Some(Some(1)),
            ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension | UnOp::Plus, expr: x } => {
                self.threads_form(x)
            }
            ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr } => self.threads_form(expr),
            ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } if self.types.is_integer(e.ty) => {
                self.threads_form(expr)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (l, r) = (self.threads_form(lhs), self.threads_form(rhs));
                match (op, l, r) {
                    (_, None, None) => None,
                    (BinOp::Mul, Some(Some(n)), None) => Some(rhs.int().and_then(|c| n.checked_mul(c))),
                    (BinOp::Mul, None, Some(Some(n))) => Some(lhs.int().and_then(|c| n.checked_mul(c))),
                    // `(c * THREADS) / d` and shifts are not of the form; nor is anything else.
                    _ => Some(None),
                }
            }
            ExprKind::Unary { expr, .. } => self.threads_form(expr).map(|_| None),
            ExprKind::Cond { cond, then, els } => {
                let t = then.as_ref().and_then(|t| self.threads_form(t));
                self.threads_form(cond).or(t).or(self.threads_form(els)).map(|_| None)
            }
            ExprKind::SizeOf { .. } if e.value.is_none() && e.has_upc => Some(None),
            _ => None,
        }
    }

    /// Rules for THREADS in the bounds of any shared array type (dynamic environment).
    pub(crate) fn check_threads_type(&mut self, ty: TypeId, tok: TokIdx) {
        if self.opts.static_threads.is_some() || !self.types.is_shared(ty) {
            return;
        }
        let mut t = self.types.canon(ty);
        let mut count = 0;
        while let TypeKind::Array { elem, len } = self.types.kind(t) {
            if let ArrayLen::Threads(_) = len {
                count += 1;
            }
            t = *elem;
        }
        if count > 0 && self.types.block(ty) == Some(Block::Indefinite) {
            self.error(
                tok,
                "with dynamic THREADS an array of indefinite block size (`shared []`) cannot have THREADS in a bound (UPC 1.3, 6.5.2.1); compile with `-T N`",
            );
        } else if count > 1 {
            self.error(
                tok,
                "with dynamic THREADS only one bound of a shared array type may use THREADS; compile with `-T N`",
            );
        }
    }

    /// Rules for the type of a declared shared object, its layout being a number.
    pub(crate) fn check_shared_object(&mut self, ty: TypeId, tok: TokIdx) {
        self.check_threads_type(ty, tok);
        let mut t = self.types.canon(ty);
        let (mut threads, mut open, mut array) = (0, false, false);
        while let TypeKind::Array { elem, len } = self.types.kind(t) {
            array = true;
            match len {
                ArrayLen::Threads(_) => threads += 1,
                ArrayLen::Incomplete => open = true,
                ArrayLen::Vla(_) | ArrayLen::Star => {
                    self.error(tok, "a shared array cannot have a bound that is known at run time only");
                    return;
                }
                ArrayLen::Const(_) => {}
            }
            t = *elem;
        }
        if array
            && self.opts.static_threads.is_none()
            && threads == 0
            && !open
            && self.types.block(ty) != Some(Block::Indefinite)
        {
            self.error(
                tok,
                "with dynamic THREADS one bound of a shared array must be a multiple of THREADS (`[n*THREADS]`); compile with `-T N`, or use `shared []`",
            );
        }
    }

    /// The type of an array object declared `shared [*]`, with the block size computed.
    pub(crate) fn resolve_star(&mut self, ty: TypeId, tok: TokIdx) -> TypeId {
        if !self.types.is_array(ty) {
            return self.set_block(ty, Block::N(1));
        }
        if !self.types.is_complete(ty) {
            self.error(tok, "the layout `[*]` needs a complete array type: give the bound");
            return self.set_block(ty, Block::N(1));
        }
        let n = match (self.types.total_elems(ty), self.opts.static_threads) {
            (Some((n, false)), Some(t)) => n.div_ceil(u64::from(t.max(1))),
            (Some((n, _)), _) => n,
            // Other errors follow, or were reported.
            (None, _) => 1,
        };
        let n = n.max(1);
        if n > self.opts.max_block {
            let text = format!("of the layout `[*]`: {}", self.block_too_big(i128::from(n)));
            self.error(tok, text);
            return self.set_block(ty, Block::N(1));
        }
        self.set_block(ty, Block::N(n))
    }
}
