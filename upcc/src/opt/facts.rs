//! Facts about loops for the passes: variables that a body changes, expressions that stay the same in it,
//! and elements that follow each other.

use super::Optimiser;
use super::same::{all_same, same};
use crate::front::ast::{
    BinOp, Conv, Decl, DeclId, DeclKind, Definition, Expr, ExprKind, NodeId, SizeArg, Stmt, StmtKind,
    Storage, TranslationUnit, UnOp, walk,
};
use crate::front::types::{Scalar, TypeId};
use crate::ir::{Count, Spread};
use crate::lower;
use std::collections::HashSet;

/// An index that grows by one with the loop variable: `variable + rest + constant`.
#[derive(Clone, Debug, Default)]
pub(super) struct Affine<'a> {
    /// Times the loop variable.
    pub factor: i64,
    pub constant: i128,
    /// Other terms, which do not change in the loop, and whether each is subtracted.
    pub rest: Vec<(bool, &'a Expr)>,
}

impl Affine<'_> {
    /// Whether the difference to the other is a constant.
    fn along(&self, other: &Affine<'_>) -> bool {
        let mut left = other.rest.clone();
        let taken = self.rest.iter().all(|(minus, x)| {
            let at = left.iter().position(|(m, y)| m == minus && same(x, y));
            at.map(|at| left.swap_remove(at)).is_some()
        });
        taken && left.is_empty() && self.factor == other.factor
    }
}

impl PartialEq for Affine<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.constant == other.constant && self.along(other)
    }
}

/// The array or pointer that an index is added to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base<'a> {
    Array(DeclId),
    Pointer(&'a Expr),
}

/// Which elements an access in a loop runs through; equal keys are the same element in every iteration.
#[derive(Clone, Debug)]
pub(super) struct RunKey<'a> {
    pub base: Base<'a>,
    /// Indices of the outer dimensions.
    pub outer: Vec<&'a Expr>,
    pub index: Affine<'a>,
}

impl RunKey<'_> {
    fn row(&self, other: &RunKey<'_>) -> bool {
        let base = match (self.base, other.base) {
            (Base::Array(a), Base::Array(b)) => a == b,
            (Base::Pointer(a), Base::Pointer(b)) => same(a, b),
            _ => false,
        };
        base && all_same(&self.outer, &other.outer)
    }

    /// How many elements the one is from the other, if that is known.
    pub fn apart(&self, other: &RunKey<'_>) -> Option<u128> {
        let known = self.row(other) && self.index.along(&other.index);
        known.then(|| (self.index.constant - other.index.constant).unsigned_abs())
    }
}

impl PartialEq for RunKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.row(other) && self.index == other.index
    }
}

/// An element of a shared array, at an index that grows by one with the loop variable.
#[derive(Clone, Debug)]
pub(super) struct Element<'a> {
    pub key: RunKey<'a>,
    /// The declared array, if it is one.
    pub array: Option<DeclId>,
    pub spread: Spread,
    pub ty: TypeId,
}

/// Looks through parentheses and conversions that keep an integer's value in the index range.
pub(super) fn strip(e: &Expr) -> &Expr {
    let mut e = e.unparen();
    loop {
        e = match &e.kind {
            ExprKind::Implicit { conv: Conv::Load | Conv::Arith | Conv::Same, expr }
            | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } => expr.unparen(),
            _ => return e,
        };
    }
}

impl<'a> Optimiser<'a> {
    /// An automatic scalar that only direct assignments can change.
    pub(super) fn private_scalar(&self, d: DeclId) -> bool {
        let decl: &Decl = self.u.decl(d);
        matches!(decl.kind, DeclKind::Var | DeclKind::Param)
            && !decl.is_static
            && decl.def != Definition::Declared
            && !self.u.types.quals(decl.ty).is_volatile
            && !decl.addressed
    }

    /// Whether the value of `e` cannot change while `body` runs and computing it has no effect.
    pub(super) fn invariant(&self, e: &Expr, body: &Facts) -> bool {
        let mut ok = match &e.kind {
            ExprKind::Implicit { conv: Conv::SharedLoad, expr } if body.reads_once(expr) => return true,
            ExprKind::SizeOf { arg: SizeArg::Expr(x), .. } => return self.invariant(x, body),
            ExprKind::Name(d) => self.steady(*d, body),
            ExprKind::EnumConst(_)
            | ExprKind::Number
            | ExprKind::Threads
            | ExprKind::MyThread
            | ExprKind::Paren(_)
            | ExprKind::SizeOf { .. }
            | ExprKind::Cond { .. } => true,
            ExprKind::Unary { op, .. } => !matches!(op, UnOp::Deref | UnOp::AddrOf),
            ExprKind::Binary { .. } => true,
            ExprKind::Cast { conv, .. } | ExprKind::Implicit { conv, .. } => {
                matches!(conv, Conv::Arith | Conv::Same | Conv::Load)
            }
            _ => false,
        };
        if ok {
            walk::operands(e, &mut |x, _| ok = ok && self.invariant(x, body));
        }
        ok
    }

    /// Whether the private variable cannot change while `body` runs.
    pub(super) fn steady(&self, d: DeclId, body: &Facts) -> bool {
        let decl = self.u.decl(d);
        let q = self.u.types.quals(decl.ty);
        if q.is_volatile || q.shared.is_some() || body.assigned.contains(&d) || body.declared.contains(&d) {
            return false;
        }
        q.is_const
            || self.private_scalar(d)
            || !body.calls && body.stored.iter().all(|&t| !self.u.types.may_alias(t, decl.ty))
    }

    /// `e` as a multiple of `var` and what does not change while the loop body runs.
    pub(super) fn affine(&self, e: &'a Expr, var: DeclId, body: &Facts) -> Option<Affine<'a>> {
        let mut a = Affine::default();
        self.terms(e, 1, var, body, &mut a)?;
        Some(a)
    }

    fn terms(&self, e: &'a Expr, sign: i64, var: DeclId, body: &Facts, a: &mut Affine<'a>) -> Option<()> {
        if let Some(c) = e.int() {
            if c.unsigned_abs() >= 1 << 40 {
                return None;
            }
            a.constant += i128::from(sign) * c;
            return Some(());
        }
        let t = &self.u.types;
        let size = |ty| t.const_size(ty).unwrap_or(0);
        match &e.kind {
            ExprKind::Paren(x) => self.terms(x, sign, var, body, a),
            ExprKind::Implicit { conv: Conv::Load | Conv::Arith | Conv::Same, expr }
            | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. }
                if t.is_integer(e.ty) && t.is_integer(expr.ty) && size(e.ty) >= size(expr.ty).min(8) =>
            {
                self.terms(expr, sign, var, body, a)
            }
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), lhs, rhs }
                if t.is_integer(e.ty) && size(e.ty) >= 4 =>
            {
                self.terms(lhs, sign, var, body, a)?;
                self.terms(rhs, if *op == BinOp::Add { sign } else { -sign }, var, body, a)
            }
            ExprKind::Name(d) if *d == var => {
                a.factor += sign;
                Some(())
            }
            _ if t.is_integer(e.ty) && !names(e, var) && self.invariant(e, body) => {
                a.rest.push((sign < 0, e));
                Some(())
            }
            _ => None,
        }
    }

    /// The element of a run along `var` that a shared lvalue is.
    pub(super) fn element(&self, e: &'a Expr, var: DeclId, body: &Facts) -> Option<Element<'a>> {
        let t = &self.u.types;
        if !t.is_shared(e.ty) || e.strict || t.quals(e.ty).is_volatile {
            return None;
        }
        let ExprKind::Index { base, index } = &e.kind else { return None };
        self.pointed(base, index, var, body)
    }

    /// The same of `*(base + index)`.
    pub(super) fn pointed(
        &self,
        base: &'a Expr,
        index: &'a Expr,
        var: DeclId,
        body: &Facts,
    ) -> Option<Element<'a>> {
        let t = &self.u.types;
        let pointee = t.pointee(base.ty)?;
        if t.is_array(pointee) || t.is_void(pointee) {
            return None;
        }
        let ty = pointee;
        let spread = lower::spread(self.u, base.ty);
        let index = self.affine(index, var, body).filter(|a| a.factor == 1)?;
        let mut outer = Vec::new();
        let mut base = base;
        loop {
            if let Some(d) = lower::declared_array(base) {
                let decl = self.u.decl(d);
                return decl.is_static.then_some(Element {
                    key: RunKey { base: Base::Array(d), outer, index },
                    array: Some(d),
                    spread,
                    ty,
                });
            }
            if let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind {
                let ExprKind::Index { base: b, index: i } = &expr.unparen().kind else { return None };
                if names(i, var) || !self.invariant(i, body) || lower::spread(self.u, b.ty) != spread {
                    return None;
                }
                outer.push(&**i);
                base = b;
                continue;
            }
            if names(base, var) || !t.is_pts(base.ty) || !self.invariant(base, body) {
                return None;
            }
            let key = RunKey { base: Base::Pointer(base), outer, index };
            return Some(Element { key, array: None, spread, ty });
        }
    }
}

impl<'a> Optimiser<'a> {
    /// The loop's variable and bound, if it counts up by one.
    pub(super) fn count(&self, cond: Option<&'a Expr>, step: Option<&Expr>) -> Option<Count<'a>> {
        let ExprKind::Binary { op, lhs, rhs } = &cond?.unparen().kind else { return None };
        let (v, hi, inclusive) = match op {
            BinOp::Lt => (lhs, &**rhs, false),
            BinOp::Le => (lhs, &**rhs, true),
            BinOp::Gt => (rhs, &**lhs, false),
            BinOp::Ge => (rhs, &**lhs, true),
            _ => return None,
        };
        let ExprKind::Name(var) = strip(v).kind else { return None };
        let is_var = |e: &Expr| matches!(strip(e).kind, ExprKind::Name(d) if d == var);
        let unit = match &step?.unparen().kind {
            ExprKind::IncDec { inc: true, expr, .. } => is_var(expr),
            ExprKind::CompoundAssign { op: BinOp::Add, lhs, rhs, .. } => is_var(lhs) && rhs.int() == Some(1),
            _ => false,
        };
        let t = &self.u.types;
        if !unit || !t.is_integer(hi.ty) || !t.is_integer(v.ty) || names(hi, var) {
            return None;
        }
        let compared = if t.const_size(v.ty) >= t.const_size(hi.ty) { v.ty } else { hi.ty };
        Some(Count { var, bound: hi, inclusive, compared })
    }

    /// Whether the variable can be a loop variable that only the loop changes.
    pub(super) fn counts(&self, var: DeclId, body: &Facts) -> bool {
        let ty = self.u.decl(var).ty;
        self.private_scalar(var)
            && self.u.types.quals(ty).is_none()
            && max_of(self.u.types.as_scalar(ty)).is_some()
            && !body.assigned.contains(&var)
    }
}

/// Whether `e` names the variable.
pub(super) fn names(e: &Expr, var: DeclId) -> bool {
    let mut found = false;
    walk::expr(e, &mut |_| {}, &mut |x| found |= matches!(x.kind, ExprKind::Name(d) if d == var));
    found
}

/// The largest value of a loop variable's type, capped so that bounds stay in `long`.
fn max_of(s: Option<Scalar>) -> Option<u64> {
    use Scalar::*;
    Some(match s? {
        Short => i16::MAX as u64,
        UShort => u64::from(u16::MAX),
        Int => i32::MAX as u64,
        UInt => u64::from(u32::MAX),
        Long | LLong | ULong | ULLong => i64::MAX as u64 >> 2,
        _ => return None,
    })
}

/// Facts about a loop body.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Variables assigned to, incremented, or handed to `asm`.
    pub assigned: Vec<DeclId>,
    pub calls: bool,
    /// Stores through private pointers, or to private objects that are not simple variables.
    pub private_stores: bool,
    /// Types of what they store.
    pub stored: Vec<TypeId>,
    /// Labels, static variables, nested functions: the body cannot stand twice in a function.
    pub labels: bool,
    /// Variables declared in the body.
    pub declared: HashSet<DeclId>,
    /// The body leaves the function.
    pub returns: bool,
    /// It holds a `upc_forall`, a barrier or a fence.
    pub synchronises: bool,
    /// Shared lvalues that are read once, before the loop.
    pub read_once: HashSet<NodeId>,
}

impl Facts {
    pub fn of(body: &Stmt, u: &TranslationUnit) -> Facts {
        let mut f = Facts::default();
        let mut labels = false;
        let mut declared = HashSet::new();
        let (f_returns, f_upc) = (std::cell::Cell::new(false), std::cell::Cell::new(false));
        walk::stmt(
            body,
            &mut |s| match &s.kind {
                StmtKind::Label { .. }
                | StmtKind::LocalLabels
                | StmtKind::NestedFunc(_)
                | StmtKind::Asm(_)
                | StmtKind::Goto(_)
                | StmtKind::GotoPtr(_) => labels = true,
                StmtKind::Return(_) => f_returns.set(true),
                StmtKind::Forall(_)
                | StmtKind::Notify(_)
                | StmtKind::Wait(_)
                | StmtKind::Barrier(_)
                | StmtKind::Fence => f_upc.set(true),
                StmtKind::Decl(d) => {
                    declared.extend(d.declarators.iter().map(|i| i.decl));
                    labels |= !d.spec.defines.is_empty()
                        || matches!(d.spec.storage, Storage::Static | Storage::Extern);
                }
                _ => {}
            },
            &mut |e| {
                let target = match &e.kind {
                    ExprKind::Assign { lhs, .. } | ExprKind::CompoundAssign { lhs, .. } => lhs.unparen(),
                    ExprKind::IncDec { expr, .. } => expr.unparen(),
                    ExprKind::Call { callee, .. } => {
                        f.calls |= !lower::pure_call(callee, u);
                        return;
                    }
                    ExprKind::VaArg { .. } => {
                        f.calls = true;
                        return;
                    }
                    ExprKind::Unary { op: UnOp::AddrOf, expr } => {
                        if let ExprKind::Name(d) = expr.unparen().kind {
                            f.assigned.push(d);
                        }
                        return;
                    }
                    _ => return,
                };
                if !u.types.is_shared(target.ty) {
                    f.change(target);
                }
            },
        );
        f.labels = labels;
        f.declared = declared;
        f.returns = f_returns.get();
        f.synchronises = f_upc.get();
        f
    }

    /// Whether the shared lvalue is read once, before the loop.
    pub fn reads_once(&self, lv: &Expr) -> bool {
        self.read_once.contains(&lv.id)
    }

    /// Takes note of a store to a private lvalue.
    pub fn change(&mut self, lv: &Expr) {
        let target = lv.unparen();
        let mut t = target;
        loop {
            match &t.kind {
                ExprKind::Name(d) => {
                    self.assigned.push(*d);
                    return;
                }
                ExprKind::Member { base, arrow: false, .. } | ExprKind::Paren(base) => t = base,
                ExprKind::Unary { op: UnOp::Real | UnOp::Imag, expr } => t = expr,
                _ => {
                    self.private_stores = true;
                    self.stored.push(target.ty);
                    return;
                }
            }
        }
    }
}

/// The array element that the lvalue is or is a member of.
pub(super) fn accessed(lv: &Expr) -> &Expr {
    match &lv.unparen().kind {
        ExprKind::Member { base, arrow: false, .. } => accessed(base),
        _ => lv.unparen(),
    }
}

/// Whether a `break` in the body of a loop leaves that loop (which in a `upc_forall` it should not).
pub(super) fn breaks(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Break => true,
        StmtKind::Block(b) => b.stmts.iter().any(breaks),
        StmtKind::If { then, els, .. } => breaks(then) || els.as_ref().is_some_and(|e| breaks(e)),
        StmtKind::Label { body, .. }
        | StmtKind::Case { body, .. }
        | StmtKind::Default { body }
        | StmtKind::Directed { body, .. } => breaks(body),
        _ => false,
    }
}

/// A private array that is indexed, not a pointer.
pub(super) fn is_array(e: &Expr) -> bool {
    matches!(&e.unparen().kind, ExprKind::Implicit { conv: Conv::ArrayDecay, .. })
}
