//! Reads of shared memory that give the same value in every iteration of a loop: pointers to rows
//! (`d[k][i]`), offsets (`x[first[k] + i]`), factors. They are made once, before the loop.
//!
//! **Matches** such reads in loops that `stream` looks at, in every iteration, of scalars and pointers.
//!
//! **Nobody can tell** if
//! - the first iteration makes the read, and there is a first iteration, which is tested at run time;
//! - the object that it reads is the same each time: what its place is computed from does not change;
//! - nothing in the loop synchronises: no call, strict access, barrier, fence. So the read may as well have
//!   happened at once;
//! - nothing in the loop writes the object: not by this thread, neither through shared nor through private
//!   lvalues. Types that cannot alias, and different declared arrays, are different memory.
//!
//! ```text
//! for (i < n; i++)                                 before; it reads rows_of[k][i] and t
//!     hoist: read once: rows_of[k], t              after
//! ```

use super::Optimiser;
use super::facts::{Facts, accessed, names};
use crate::front::ast::{Conv, DeclId, Expr, ExprKind, UnOp, walk};
use crate::ir::Context;
use crate::lower;

impl<'a> Optimiser<'a> {
    /// The objects, of those that a loop reads (and whether in every iteration), whose value is the same each
    /// time. The loop writes the shared lvalues `writes`, and holds nothing that synchronises.
    pub(super) fn steady_reads(
        &self,
        reads: &[(&'a Expr, bool)],
        writes: &[&Expr],
        var: DeclId,
        facts: &Facts,
        around: &Context,
    ) -> Vec<&'a Expr> {
        if !self.passes.hoist || facts.calls || facts.synchronises {
            return Vec::new();
        }
        let always = reads.iter().filter(|(_, always)| *always);
        always.map(|(lv, _)| *lv).filter(|lv| self.steady_object(lv, writes, var, facts, around)).collect()
    }

    fn steady_object(
        &self,
        lv: &Expr,
        writes: &[&Expr],
        var: DeclId,
        facts: &Facts,
        around: &Context,
    ) -> bool {
        let t = &self.u.types;
        let relaxed = !lv.strict && !accessed(lv).strict && !t.quals(lv.ty).is_volatile;
        let scalar = lv.bit_field(t).is_none()
            && (t.is_pts(lv.ty) || lower::carrier(self.u, lv.ty).is_some())
            && !around.is_bound(lv);
        relaxed
            && scalar
            && !names(lv, var)
            && writes.iter().all(|w| self.apart(w, lv))
            && facts.stored.iter().all(|s| !t.may_alias(*s, lv.ty))
            && self.steady_place(lv, writes, facts, &|x| self.steady_object(x, writes, var, facts, around))
    }

    /// Whether a write to the one shared lvalue leaves the other alone.
    pub(super) fn apart(&self, written: &Expr, read: &Expr) -> bool {
        let roots = (self.root_array(written), self.root_array(read));
        matches!(roots, (Some(a), Some(b)) if a != b) || !self.u.types.may_alias(written.ty, read.ty)
    }

    /// Whether the place of a shared lvalue stays the same while code runs that does what `facts` say and
    /// writes the shared lvalues `writes`, where that is so of the shared objects that it reads itself.
    pub(super) fn steady_place(
        &self,
        lv: &Expr,
        writes: &[&Expr],
        facts: &Facts,
        steady_object: &dyn Fn(&Expr) -> bool,
    ) -> bool {
        let t = &self.u.types;
        let mut ok = true;
        walk::expr(lv, &mut |_| ok = false, &mut |_| {});
        walk::expr(lv, &mut |_| {}, &mut |x| {
            ok &= match &x.kind {
                ExprKind::Name(d) if t.is_shared(x.ty) || t.is_array(x.ty) => !facts.declared.contains(d),
                ExprKind::Name(d) => self.steady(*d, facts),
                // Memory that holds a pointer or an index; it may be the thread's own part of a shared
                // object.
                ExprKind::Index { .. }
                | ExprKind::Member { .. }
                | ExprKind::Unary { op: UnOp::Deref | UnOp::Real | UnOp::Imag, .. } => {
                    let stored = facts.stored.iter().copied().chain(writes.iter().map(|w| w.ty));
                    t.is_shared(x.ty)
                        || t.is_array(x.ty)
                        || !t.quals(x.ty).is_volatile && stored.into_iter().all(|s| !t.may_alias(s, x.ty))
                }
                ExprKind::Unary { op: UnOp::AddrOf, expr } => t.is_shared(expr.ty),
                ExprKind::Implicit { conv: Conv::SharedLoad, expr } => steady_object(expr),
                ExprKind::Implicit { conv, .. } | ExprKind::Cast { conv, .. } => matches!(
                    conv,
                    Conv::Load
                        | Conv::Arith
                        | Conv::Same
                        | Conv::ArrayDecay
                        | Conv::SharedDecay
                        | Conv::PtsToPts { .. }
                ),
                ExprKind::Paren(_)
                | ExprKind::Number
                | ExprKind::EnumConst(_)
                | ExprKind::Threads
                | ExprKind::MyThread
                | ExprKind::Binary { .. }
                | ExprKind::Unary { .. }
                | ExprKind::SizeOf { .. } => true,
                _ => false,
            };
        });
        ok
    }
}
