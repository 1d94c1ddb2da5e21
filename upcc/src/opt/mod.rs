//! UPC optimisations, made while C is emitted. Each is a pass of its own ([`Passes`]), to be switched off alone.
//!
//! | pass | what |
//! |---|---|
//! | `forall` | a `upc_forall` runs through the thread's own elements instead of testing each (`forall`) |
//! | `privatise` | elements known to be the thread's own, or found near at run time, are used through plain pointers |
//! | `coalesce` | runs of far elements move in bulk transfers (`stream`) |
//! | `split-phase` | transfers that do not depend on each other are under way at the same time (`stream`, `ahead`) |
//! | `arithmetic` | no phase where there is none, no sign where there is none |
//! | `outline` | accesses in large loops and functions are calls of functions made for the file (not at `-O3`) |
//! | `vector` | loops with independent iterations are written so that C compilers vectorise them (`vector`) |
//! | `hoist` | one address for an object that is read and written, and for the indices of nested arrays |
//!
//! A pass changes only what is provably the same: the accesses are relaxed, not volatile, and nothing that happens between
//! the old and the new place of an access can tell the difference.

mod ahead;
mod forall;
mod stream;
mod vector;

use crate::ast::{
    BinOp, Conv, Decl, DeclId, DeclKind, Definition, Expr, ExprKind, Stmt, StmtKind, TranslationUnit, UnOp,
};
use crate::emit::{Emitter, Frag, walk};
use crate::types::{Scalar, TypeId};
use std::collections::{HashMap, HashSet};

/// Alignment of every shared array on every thread.
pub const ARRAY_ALIGN: u64 = 64;

/// Which passes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named in the table above")]
pub struct Passes {
    pub forall: bool,
    pub privatise: bool,
    pub coalesce: bool,
    pub split_phase: bool,
    pub arithmetic: bool,
    pub hoist: bool,
    pub outline: bool,
    pub vector: bool,
}

impl Passes {
    /// Their names, as options have them.
    pub const NAMES: [&str; 8] =
        ["forall", "privatise", "coalesce", "split-phase", "arithmetic", "hoist", "outline", "vector"];

    /// All or none.
    pub fn all(on: bool) -> Passes {
        Passes {
            forall: on,
            privatise: on,
            coalesce: on,
            split_phase: on,
            arithmetic: on,
            hoist: on,
            outline: on,
            vector: on,
        }
    }

    /// Switches one; whether there is such a pass.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        let place = match name {
            "forall" => &mut self.forall,
            "privatise" | "privatize" => &mut self.privatise,
            "coalesce" => &mut self.coalesce,
            "split-phase" => &mut self.split_phase,
            "arithmetic" => &mut self.arithmetic,
            "hoist" => &mut self.hoist,
            "outline" => &mut self.outline,
            "vector" => &mut self.vector,
            _ => return false,
        };
        *place = on;
        true
    }
}

/// Elements that are used through C pointers while a loop body is emitted.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// For the address of the AST node of an element: index into `refs`.
    nodes: HashMap<usize, usize>,
    /// Pointer and index.
    refs: Vec<(String, String)>,
}

impl Locals {
    fn add(&mut self, pointer: String, index: &str) -> usize {
        self.refs.push((pointer, index.to_string()));
        self.refs.len() - 1
    }

    fn bind(&mut self, e: &Expr, to: usize) {
        self.nodes.insert(std::ptr::from_ref(e) as usize, to);
    }

    /// Those whose index is this counter.
    fn along(&self, counter: &str) -> Vec<(usize, (String, String))> {
        let all = self.refs.iter().enumerate();
        all.filter(|(_, r)| r.1 == counter).map(|(n, r)| (n, r.clone())).collect()
    }

    fn of(&self, e: &Expr) -> Option<&(String, String)> {
        self.nodes.get(&(std::ptr::from_ref(e) as usize)).map(|&n| &self.refs[n])
    }
}

/// An index that grows by one with the loop variable: `variable + rest + constant`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Affine {
    /// Times the loop variable.
    factor: i64,
    constant: i128,
    /// Other terms, which do not change in the loop, as text; sorted.
    rest: Vec<String>,
}

/// Which elements an access in a loop runs through; equal keys are the same element in every iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    base: String,
    /// Indices of the outer dimensions.
    outer: Vec<String>,
    index: Affine,
}

/// An element of a shared array, at an index that grows by one with the loop variable.
struct Element {
    key: Key,
    /// The declared array, if it is one.
    array: Option<DeclId>,
    block: u64,
    size: u64,
    ty: TypeId,
}

/// Looks through parentheses and conversions that keep an integer's value in the index range.
fn strip(e: &Expr) -> &Expr {
    let mut e = e.unparen();
    loop {
        e = match &e.kind {
            ExprKind::Implicit { conv: Conv::Load | Conv::Arith | Conv::Same, expr }
            | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } => expr.unparen(),
            _ => return e,
        };
    }
}

impl Emitter<'_> {
    /// An automatic scalar that only direct assignments can change.
    fn private_scalar(&self, d: DeclId) -> bool {
        let decl: &Decl = self.u.decl(d);
        matches!(decl.kind, DeclKind::Var | DeclKind::Param)
            && !decl.is_static
            && decl.def != Definition::Declared
            && !self.u.types.quals(decl.ty).is_volatile
            && !decl.addressed
    }

    /// Whether the value of `e` cannot change while `body` runs and computing it has no effect.
    fn invariant(&self, e: &Expr, body: &Facts) -> bool {
        let (mut ok, mut statements) = (true, false);
        walk::expr(e, &mut |_| statements = true, &mut |x| {
            ok &= match &x.kind {
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
        });
        ok && !statements
    }

    /// Whether the private variable cannot change while `body` runs.
    fn steady(&self, d: DeclId, body: &Facts) -> bool {
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
    fn affine(&self, e: &Expr, var: DeclId, body: &Facts) -> Option<Affine> {
        let mut a = Affine::default();
        self.terms(e, 1, var, body, &mut a)?;
        a.rest.sort();
        Some(a)
    }

    fn terms(&self, e: &Expr, sign: i64, var: DeclId, body: &Facts, a: &mut Affine) -> Option<()> {
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
            _ if !e.toks.is_empty() && t.is_integer(e.ty) && !names(e, var) && self.invariant(e, body) => {
                a.rest.push(format!("{}{}", if sign > 0 { '+' } else { '-' }, self.verbatim(e.toks)));
                Some(())
            }
            _ => None,
        }
    }

    /// The element of a run along `var` that a shared lvalue is.
    fn element(&self, e: &Expr, var: DeclId, body: &Facts) -> Option<Element> {
        let t = &self.u.types;
        if !t.is_shared(e.ty) || e.strict || t.quals(e.ty).is_volatile {
            return None;
        }
        let ExprKind::Index { base, index } = &e.kind else { return None };
        self.pointed(base, index, var, body)
    }

    /// The same of `*(base + index)`.
    fn pointed(&self, base: &Expr, index: &Expr, var: DeclId, body: &Facts) -> Option<Element> {
        let t = &self.u.types;
        let pointee = t.pointee(base.ty)?;
        if t.is_array(pointee) || t.is_void(pointee) {
            return None;
        }
        let ty = pointee;
        let (block, size) = self.pts_params(base.ty);
        let index = self.affine(index, var, body).filter(|a| a.factor == 1)?;
        let mut outer = Vec::new();
        let mut base = base;
        loop {
            if let Some(d) = self.declared_array(base) {
                let decl = self.u.decl(d);
                return decl.is_static.then(|| Element {
                    key: Key { base: format!("={}", d.0), outer, index },
                    array: Some(d),
                    block,
                    size,
                    ty,
                });
            }
            if let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind {
                let ExprKind::Index { base: b, index: i } = &expr.unparen().kind else { return None };
                if names(i, var) || !self.invariant(i, body) || self.pts_params(b.ty) != (block, size) {
                    return None;
                }
                outer.push(self.verbatim(i.toks));
                base = b;
                continue;
            }
            if names(base, var) || !t.is_pts(base.ty) || !self.invariant(base, body) {
                return None;
            }
            let key = Key { base: self.verbatim(base.toks), outer, index };
            return Some(Element { key, array: None, block, size, ty });
        }
    }

    /// Whether the shared lvalue is used through a pointer here.
    fn is_local(&self, lv: &Expr) -> bool {
        match &lv.kind {
            ExprKind::Paren(x) | ExprKind::Member { base: x, arrow: false, .. } => self.is_local(x),
            _ => self.local.of(lv).is_some(),
        }
    }

    /// The private C lvalue of a shared lvalue that is used through a pointer here.
    pub fn privatised(&mut self, lv: &Expr) -> Option<Frag> {
        if self.local.nodes.is_empty() || lv.strict {
            return None;
        }
        match &lv.kind {
            ExprKind::Paren(x) => self.privatised(x),
            ExprKind::Member { base, arrow: false, record, path } => {
                let b = self.privatised(base)?;
                let m = self.member_names(*record, path);
                Some(Frag { s: if m.is_empty() { b.s } else { format!("{}.{m}", b.s) }, prec: 16 })
            }
            ExprKind::Index { .. } => {
                let (p, k) = self.local.of(lv)?;
                Some(Frag { s: format!("{p}[{k}]"), prec: 16 })
            }
            _ => None,
        }
    }
}

/// A counting loop: `init; var < hi; var++`.
struct Count<'a> {
    var: DeclId,
    hi: &'a Expr,
    inclusive: bool,
    /// The common type in which the condition compares.
    compared: TypeId,
}

impl Emitter<'_> {
    /// The loop's variable and bound, if it counts up by one.
    fn count<'f>(&self, cond: Option<&'f Expr>, step: Option<&Expr>) -> Option<Count<'f>> {
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
        Some(Count { var, hi, inclusive, compared })
    }

    /// Whether the variable can be a loop variable that only the loop changes.
    fn counts(&self, var: DeclId, body: &Facts) -> bool {
        let ty = self.u.decl(var).ty;
        self.private_scalar(var)
            && self.u.types.quals(ty).is_none()
            && max_of(self.u.types.as_scalar(ty)).is_some()
            && !body.assigned.contains(&var)
    }
}

/// Whether `e` names the variable.
fn names(e: &Expr, var: DeclId) -> bool {
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

/// What a loop body does.
#[derive(Debug, Default)]
struct Facts {
    /// Variables assigned to, incremented, or handed to `asm`.
    assigned: Vec<DeclId>,
    calls: bool,
    /// Stores through private pointers, or to private objects that are not simple variables.
    private_stores: bool,
    /// Types of what they store.
    stored: Vec<TypeId>,
    /// Labels, static variables, nested functions: the body cannot stand twice in a function.
    labels: bool,
    /// Variables declared in the body.
    declared: HashSet<DeclId>,
    /// The body leaves the function, or holds a `upc_forall`, a barrier or a fence.
    returns: bool,
    upc: bool,
}

impl Facts {
    fn of(body: &Stmt, u: &TranslationUnit) -> Facts {
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
                        || matches!(
                            d.spec.storage,
                            crate::ast::Storage::Static | crate::ast::Storage::Extern
                        );
                }
                _ => {}
            },
            &mut |e| {
                let target = match &e.kind {
                    ExprKind::Assign { lhs, .. } | ExprKind::CompoundAssign { lhs, .. } => lhs.unparen(),
                    ExprKind::IncDec { expr, .. } => expr.unparen(),
                    ExprKind::Call { callee, .. } => {
                        f.calls |= !pure_call(callee, u);
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
        f.upc = f_upc.get();
        f
    }

    /// Takes note of a store to a private lvalue.
    fn change(&mut self, lv: &Expr) {
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
fn accessed(lv: &Expr) -> &Expr {
    match &lv.unparen().kind {
        ExprKind::Member { base, arrow: false, .. } => accessed(base),
        _ => lv.unparen(),
    }
}

/// Whether a `break` in the body of a loop leaves that loop (which in a `upc_forall` it should not).
fn breaks(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Break => true,
        StmtKind::Block(b) => b.stmts.iter().any(breaks),
        StmtKind::If { then, els, .. } => breaks(then) || els.as_ref().is_some_and(|e| breaks(e)),
        StmtKind::Label { body, .. } | StmtKind::Case { body, .. } | StmtKind::Default { body } => {
            breaks(body)
        }
        _ => false,
    }
}

/// A private array that is indexed, not a pointer.
fn is_array(e: &Expr) -> bool {
    matches!(&e.unparen().kind, ExprKind::Implicit { conv: Conv::ArrayDecay, .. })
}

/// Functions of the C library that only compute.
const PURE: &[&str] = &[
    "abs", "labs", "llabs", "fabs", "fabsf", "sqrt", "sqrtf", "cbrt", "exp", "expf", "exp2", "log", "logf",
    "log2", "log10", "pow", "powf", "sin", "sinf", "cos", "cosf", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "hypot", "floor", "floorf", "ceil", "ceilf", "trunc", "round", "rint", "fmod",
    "fmin", "fmax", "fma", "copysign",
];

/// Whether a call only computes a value from its arguments (`errno` aside, which no loop here reads).
pub fn pure_call(callee: &Expr, u: &TranslationUnit) -> bool {
    let mut e = callee.unparen();
    if let ExprKind::Implicit { conv: Conv::FuncDecay, expr } = &e.kind {
        e = expr.unparen();
    }
    let ExprKind::Name(d) = e.kind else { return false };
    let decl = u.decl(d);
    (decl.system || decl.builtin) && decl.def == Definition::Declared && PURE.contains(&u.name(decl.name))
}
