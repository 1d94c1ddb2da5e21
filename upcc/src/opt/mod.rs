//! UPC optimisations: `upc_forall` loops that run through the local part of shared arrays.
//!
//! A loop `upc_forall (i = lo; i < hi; i++; &a[i + c])` (or with affinity `i + c`) visits, on one thread, elements that lie next to
//! each other in the thread's memory, whatever the block size: the k-th of them is at local index k. So the loop counts local
//! indices from `count(lo + c)` to `count(hi + c)`, and every `b[i + c]` of the same block size is `b_local[k]`. Where `i` is used
//! for more than that it is kept up beside k.
//!
//! This is done only if nobody could tell the difference: bounds without side effects that the body cannot change, a loop
//! variable that only the loop changes, and (tested at run time) no enclosing `upc_forall` and pointers that start a block.
//! Otherwise, and in the other branch of the test, the loop is lowered plainly.

use crate::ast::{
    Affinity, BinOp, Conv, Decl, DeclId, DeclKind, Definition, Expr, ExprKind, ForInit, Forall, Init, Stmt,
    StmtKind, UnOp,
};
use crate::emit::{Emitter, Frag, walk};
use crate::types::{Scalar, TypeKind, Types};

/// A multiple of the elements in a vector.
const CHUNK: u32 = 16;
/// Alignment of every shared array on every thread.
pub const ARRAY_ALIGN: u64 = 64;
/// Bodies of fewer tokens than this may be emitted once more.
const SHORT_BODY: u32 = 120;

/// An array (or pointer) whose element `[index + offset]` is local while a loop body is emitted.
#[derive(Clone, Debug)]
pub struct Local {
    /// The shared array, or the private variable that points to shared memory.
    base: DeclId,
    /// The loop variable.
    var: DeclId,
    /// Constant in the index.
    offset: i128,
    /// The C pointer to the local part.
    pointer: String,
    /// The local index.
    index: String,
    /// Bytes of an element.
    elem_size: u64,
}

/// What the shape of a loop says.
struct Shape<'a> {
    var: DeclId,
    lo: &'a Expr,
    hi: &'a Expr,
    inclusive: bool,
    declared: bool,
    /// Affinity: array, or `None` for an integer.
    base: Option<DeclId>,
    block: u64,
    offset: i128,
}

/// How a loop body uses the loop variable and memory.
#[derive(Debug, Default)]
struct Uses {
    /// Times that the loop variable is named ...
    all: u32,
    /// ... and in indices of elements that become local.
    local: u32,
    /// Memory is touched through pointers, or shared memory other than those elements.
    memory: bool,
    /// No iteration can depend on another one through memory.
    independent: bool,
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
    /// `i`, `i + c`, `c + i`, `i - c`: the variable and the constant. Conversions must not narrow.
    fn affine(&self, e: &Expr) -> Option<(DeclId, i128)> {
        if self.u.types.const_size(e.ty).unwrap_or(0) < 4 {
            return None;
        }
        let s = strip(e);
        match &s.kind {
            ExprKind::Name(d) => Some((*d, 0)),
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), lhs, rhs }
                if self.u.types.is_integer(s.ty) =>
            {
                let small = |c: i128| (0..1 << 30).contains(&c).then_some(c);
                if let Some(c) = rhs.int().and_then(small) {
                    let (d, k) = self.affine(lhs)?;
                    return Some((d, if *op == BinOp::Add { k + c } else { k - c }));
                }
                if let (Some(c), BinOp::Add) = (lhs.int().and_then(small), op) {
                    let (d, k) = self.affine(rhs)?;
                    return Some((d, k + c));
                }
                None
            }
            _ => None,
        }
    }

    /// The variable behind a pointer to the elements of a one-dimensional shared array, and the block size.
    fn array_base(&self, e: &Expr) -> Option<(DeclId, u64)> {
        let t = &self.u.types;
        let pointee = t.pointee(e.ty)?;
        if t.is_array(pointee) || t.is_void(pointee) {
            return None;
        }
        let block = t.block(pointee)?.size();
        let inner = match &e.unparen().kind {
            ExprKind::Implicit { conv: Conv::SharedDecay | Conv::Load, expr } => expr.unparen(),
            _ => return None,
        };
        let ExprKind::Name(d) = &inner.kind else { return None };
        let decl = self.u.decl(*d);
        let same = match t.ckind(decl.ty) {
            TypeKind::Array { elem, .. } => decl.is_static && t.canon(*elem) == t.canon(pointee),
            TypeKind::Pointer(_) => !t.is_shared(decl.ty),
            _ => false,
        };
        (same && block > 0).then_some((*d, block))
    }

    /// Array, block size, loop variable, constant of `a[i + c]`.
    fn element(&self, e: &Expr) -> Option<(DeclId, u64, DeclId, i128)> {
        let ExprKind::Index { base, index } = &e.unparen().kind else { return None };
        let (d, b) = self.array_base(base)?;
        let (v, c) = self.affine(index)?;
        Some((d, b, v, c))
    }

    fn shape<'f>(&self, f: &'f Forall) -> Option<Shape<'f>> {
        let (var, lo, declared) = match &f.init {
            ForInit::Decl(d) if d.declarators.len() == 1 => match &d.declarators[0].init {
                Some(Init::Expr(e)) => (d.declarators[0].decl, &**e, true),
                _ => return None,
            },
            ForInit::Expr(e) => match &e.unparen().kind {
                ExprKind::Assign { lhs, rhs } => match &lhs.unparen().kind {
                    ExprKind::Name(d) => (*d, &**rhs, false),
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        let ExprKind::Binary { op, lhs, rhs } = &f.cond.as_ref()?.unparen().kind else { return None };
        let is_var = |e: &Expr| matches!(strip(e).kind, ExprKind::Name(d) if d == var);
        let (hi, inclusive) = match op {
            BinOp::Lt if is_var(lhs) => (&**rhs, false),
            BinOp::Le if is_var(lhs) => (&**rhs, true),
            BinOp::Gt if is_var(rhs) => (&**lhs, false),
            BinOp::Ge if is_var(rhs) => (&**lhs, true),
            _ => return None,
        };
        if !self.u.types.is_integer(hi.ty) {
            return None;
        }
        let unit = match &f.step.as_ref()?.unparen().kind {
            ExprKind::IncDec { inc: true, expr, .. } => is_var(expr),
            ExprKind::CompoundAssign { op: BinOp::Add, lhs, rhs, .. } => is_var(lhs) && rhs.int() == Some(1),
            _ => false,
        };
        if !unit {
            return None;
        }
        let (base, block, v, offset) = match &f.affinity {
            Affinity::Always => return None,
            Affinity::Int(e) => {
                let (v, c) = self.affine(e)?;
                (None, 1, v, c)
            }
            Affinity::Pts(e) => {
                let mut e = e.unparen();
                while let ExprKind::Implicit { conv: Conv::PtsToPts { .. }, expr } = &e.kind {
                    e = expr.unparen();
                }
                let (d, b, v, c) = match &e.kind {
                    ExprKind::Unary { op: UnOp::AddrOf, expr } => self.element(expr)?,
                    ExprKind::Binary { op: BinOp::Add, lhs, rhs } => {
                        let (p, i) = if self.u.types.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
                        let (d, b) = self.array_base(p)?;
                        let (v, c) = self.affine(i)?;
                        (d, b, v, c)
                    }
                    _ => return None,
                };
                (Some(d), b, v, c)
            }
        };
        (v == var).then_some(Shape { var, lo, hi, inclusive, declared, base, block, offset })
    }

    /// An automatic scalar that only direct assignments can change.
    fn private_scalar(&self, d: DeclId) -> bool {
        let decl: &Decl = self.u.decl(d);
        matches!(decl.kind, DeclKind::Var | DeclKind::Param)
            && !decl.is_static
            && decl.def != Definition::Declared
            && !self.u.types.quals(decl.ty).is_volatile
            && !self.address_taken.contains(&d)
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
        if q.is_volatile || q.shared.is_some() || body.assigned.contains(&d) {
            return false;
        }
        q.is_const || self.private_scalar(d) || (!body.calls && !body.private_stores)
    }

    /// Emits a `upc_forall` in a faster form, if one is known to be right. Whether it did.
    pub fn forall_optimised(&mut self, f: &Forall) -> bool {
        if self.in_forall > 0 {
            return false;
        }
        let Some(s) = self.shape(f) else { return false };
        let var = self.u.decl(s.var);
        let Some(max) = max_of(self.u.types.as_scalar(var.ty)) else { return false };
        if !self.private_scalar(s.var) || !self.u.types.quals(var.ty).is_none() {
            return false;
        }
        let facts = Facts::of(&f.body, &self.u.types);
        if facts.labels || breaks(&f.body) || facts.assigned.contains(&s.var) || !self.invariant(s.hi, &facts)
        {
            return false;
        }
        if s.base.is_some_and(|d| !self.base_ok(d, &facts)) || !self.u.types.is_integer(s.lo.ty) {
            return false;
        }
        // Which accesses become local.
        let mut bases: Vec<DeclId> = Vec::new();
        let mut uses = Uses::default();
        walk::stmt(&f.body, &mut |_| {}, &mut |e| match &e.kind {
            ExprKind::Name(d) if *d == s.var => uses.all += 1,
            ExprKind::Name(d) => {
                let ty = self.u.decl(*d).ty;
                uses.memory |= self.u.types.is_shared(ty) && !self.u.types.is_array(ty);
            }
            ExprKind::Index { base, .. } if self.runs_along(e, &s, &facts).is_none() => {
                uses.memory |= !is_array(base);
            }
            // Only an access becomes local; an address, say, still needs the loop variable.
            ExprKind::Implicit { conv: Conv::Load | Conv::SharedLoad, expr: lv }
            | ExprKind::Assign { lhs: lv, .. }
            | ExprKind::CompoundAssign { lhs: lv, .. }
            | ExprKind::IncDec { expr: lv, .. } => {
                if let Some(d) = self.runs_along(accessed(lv), &s, &facts) {
                    uses.local += 1;
                    if !bases.contains(&d) {
                        bases.push(d);
                    }
                }
            }
            ExprKind::Unary { op: UnOp::Deref, .. } | ExprKind::Member { arrow: true, .. } => {
                uses.memory = true
            }
            _ => {}
        });
        // Iterations do not depend on each other through memory: declared arrays are distinct, and nothing else is touched.
        uses.independent = !facts.calls
            && !uses.memory
            && !facts.private_stores
            && facts.assigned.iter().all(|d| self.private_scalar(*d))
            && bases.iter().all(|d| self.u.types.is_array(self.u.decl(*d).ty));
        self.emit_local_loop(f, &s, &bases, &uses, max);
        true
    }

    /// The array if `e` is an element of one that the loop can run through beside that of its affinity.
    fn runs_along(&self, e: &Expr, s: &Shape<'_>, body: &Facts) -> Option<DeclId> {
        let (d, b, v, c) = self.element(e).filter(|_| self.u.types.is_shared(e.ty) && !e.strict)?;
        (v == s.var && c == s.offset && b == s.block && self.base_ok(d, body)).then_some(d)
    }

    /// A declared shared array, or a private pointer that stays as it is.
    fn base_ok(&self, d: DeclId, body: &Facts) -> bool {
        let decl = self.u.decl(d);
        if self.u.types.is_array(decl.ty) { decl.is_static } else { self.steady(d, body) }
    }

    fn emit_local_loop(&mut self, f: &Forall, s: &Shape, bases: &[DeclId], uses: &Uses, max: u64) {
        let u = self.u;
        let var = u.name(u.decl(s.var).name).to_string();
        let n = self.next_number();
        let (lo, hi, k, end) =
            (format!("__upc_lo{n}"), format!("__upc_hi{n}"), format!("__upc_k{n}"), format!("__upc_end{n}"));
        let (b, c) = (s.block, s.offset);
        self.out.put("{");
        if s.declared {
            let t = self.ctype(u.decl(s.var).ty, &var);
            self.out.put(&format!(" {t};"));
        }
        let first = self.rv(s.lo).p(2);
        let last = self.rv(s.hi).p(14);
        let plus = if s.inclusive { " + 1" } else { "" };
        self.out.put(&format!(
            " {var} = {first}; const long {lo} = (long){var}; const long {hi} = (long){last}{plus};"
        ));
        // Where the arrays start; a pointer must be at the start of a block.
        let mut guard = format!(
            "__upc_forall_depth == 0 && {lo} >= 0 && {lo} + {c} >= 0 && {hi} >= 0 && (unsigned long){hi} <= {max}ul"
        );
        let mut order: Vec<DeclId> = bases.to_vec();
        if let Some(d) = s.base {
            order.retain(|x| *x != d);
            order.insert(0, d);
        }
        let mut places = Vec::new();
        for (m, d) in order.iter().enumerate() {
            let decl = u.decl(*d);
            let w = format!("__upc_a{n}_{m}");
            if u.types.is_array(decl.ty) {
                let a = self.shared_alias(*d);
                self.out.put(&format!(" const struct __upc_w {w} = __UPC_VAR({a});"));
            } else {
                self.out.put(&format!(" const struct __upc_w {w} = __upc_u({});", u.name(decl.name)));
                guard.push_str(&format!(" && {w}.ph == 0"));
            }
            places.push(w);
        }
        // All start on the same thread.
        let origin = places.first().map_or("0".to_string(), |w| format!("{w}.t"));
        if let Some(first) = order.first() {
            let fixed = |d: &DeclId| u.types.is_array(u.decl(*d).ty);
            for (m, d) in order.iter().enumerate().skip(1) {
                if !(fixed(first) && fixed(d)) {
                    guard.push_str(&format!(" && {}.t == {origin}", places[m]));
                }
            }
        }
        if s.base.is_none() {
            // The affinity is a number: element e is thread e mod THREADS's.
            for (m, d) in order.iter().enumerate() {
                if !u.types.is_array(u.decl(*d).ty) {
                    guard.push_str(&format!(" && {}.t == 0", places[m]));
                }
            }
        }
        self.out.put(&format!(" if ({guard}) {{"));
        let nest = crate::emit::may_nest(&f.body);
        if nest {
            let saved = self.fresh("forall");
            self.out.put(&format!(
                " const int {saved} __attribute__((__cleanup__(__upc_forall_end))) = 0; __upc_forall_depth = 1;"
            ));
        }
        let me = format!("__upc_me{n}");
        let origin = if s.base.is_none() { "0".to_string() } else { origin };
        self.out.put(&format!(" const unsigned long {me} = __upc_rank_from({origin});"));
        let mut locals = Vec::new();
        for (m, d) in order.iter().enumerate() {
            if !bases.contains(d) {
                continue;
            }
            let decl = u.decl(*d);
            let elem = u.types.elem(decl.ty).or_else(|| u.types.pointee(decl.ty)).unwrap_or(decl.ty);
            let t = self.access_type(elem);
            let p = format!("__upc_p{n}_{m}");
            let w = &places[m];
            self.out.put(&format!(
                " {t} *const {p} = ({t} *)__upc_local({w}.o, {w}.t, {b}, {});",
                self.elem_size(elem)
            ));
            locals.push(Local {
                base: *d,
                var: s.var,
                offset: c,
                pointer: p,
                index: k.clone(),
                elem_size: self.elem_size(elem),
            });
        }
        self.out.put(&format!(
            " const long {end} = __upc_count({hi} + {c}, {b}, {me}); long {k} = __upc_count({lo} + {c}, {b}, {me});"
        ));
        let keep = std::mem::replace(&mut self.local, locals);
        self.in_forall += 1;
        let pragma = if uses.independent { " _Pragma(\"GCC ivdep\")" } else { "" };
        if uses.all == uses.local {
            // The loop variable serves as index only.
            if uses.independent && f.body.toks.end - f.body.toks.start < SHORT_BODY {
                self.in_vectors(f, (&k, &end), n);
            } else {
                self.out.put(&format!(" for (; {k} < {end}; {k}++)"));
                self.stmt(&f.body);
            }
        } else if b == 1 {
            let t = self.ctype_plain(u.decl(s.var).ty, "");
            self.out.put(&format!(
                " {var} = ({t})(__upc_elem({k}, 1, {me}) - {c}); for (; {k} < {end}; {k}++, {var} = ({t})({var} + __UPC_T))"
            ));
            self.stmt(&f.body);
        } else {
            let t = self.ctype_plain(u.decl(s.var).ty, "");
            let stop = format!("__upc_stop{n}");
            self.out.put(&format!(
                " while ({k} < {end}) {{ {var} = ({t})(__upc_elem({k}, {b}, {me}) - {c}); long {stop} = {k} - {k} % {b}l + {b}; \
                 if ({stop} > {end}) {stop} = {end};"
            ));
            self.out.put(pragma);
            self.out.put(&format!(" for (; {k} < {stop}; {k}++, {var}++)"));
            self.stmt(&f.body);
            self.out.put(" }");
        }
        self.local = keep;
        self.out.put(&format!(" {var} = {hi} > {lo} ? {hi} : {lo}; }} else"));
        self.forall_plain(f, true);
        self.in_forall -= 1;
        self.out.put(" }");
    }

    /// The loop in two parts that take turns: single iterations up to an aligned index and at the end, and between them a number
    /// of iterations that is seen to be a multiple of every vector's length, over aligned memory. That is what a C compiler
    /// vectorises at `-O2`.
    fn in_vectors(&mut self, f: &Forall, (k, end): (&str, &str), n: u32) {
        let (j, most, stop) = (format!("__upc_j{n}"), format!("__upc_m{n}"), format!("__upc_s{n}"));
        self.out.put(&format!(
            " while ({k} < {end}) {{ long {stop} = ({k} + {0}) & -{CHUNK}l; if ({end} - {stop} < {CHUNK}) {stop} = {end}; \
             for (; {k} < {stop}; {k}++)",
            CHUNK - 1
        ));
        self.stmt(&f.body);
        self.out.put(&format!(" const long {most} = ({end} - {k}) & -{CHUNK}l;"));
        let saved = self.local.clone();
        for (m, l) in saved.iter().enumerate() {
            let q = format!("__upc_q{n}_{m}");
            let align =
                1u64 << (l.elem_size * u64::from(CHUNK)).trailing_zeros().min(ARRAY_ALIGN.trailing_zeros());
            self.out.put(&format!(
                " __typeof__({0}) {q} = (__typeof__({0}))__builtin_assume_aligned({0} + {k}, {align});",
                l.pointer
            ));
            self.local[m] = Local { pointer: q, index: j.clone(), ..l.clone() };
        }
        self.out.put(&format!(" _Pragma(\"GCC ivdep\") for (long {j} = 0; {j} < {most}; {j}++)"));
        self.stmt(&f.body);
        self.out.put(&format!(" {k} += {most}; }}"));
        self.local = saved;
    }

    /// The private C lvalue of a shared lvalue that is known to be local here.
    pub fn privatised(&mut self, lv: &Expr) -> Option<Frag> {
        if self.local.is_empty() || lv.strict {
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
                let (d, _, v, c) = self.element(lv)?;
                let l = self.local.iter().find(|l| l.base == d && l.var == v && l.offset == c)?;
                if self.u.types.quals(lv.ty).is_volatile {
                    let (p, k) = (l.pointer.clone(), l.index.clone());
                    let t = self.access_type(lv.ty);
                    return Some(Frag { s: format!("((volatile {t} *){p})[{k}]"), prec: 16 });
                }
                Some(Frag { s: format!("{}[{}]", l.pointer, l.index), prec: 16 })
            }
            _ => None,
        }
    }
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
    /// Labels, static variables, nested functions: the body cannot stand twice in a function.
    labels: bool,
}

impl Facts {
    fn of(body: &Stmt, types: &Types) -> Facts {
        let mut f = Facts::default();
        let mut labels = false;
        walk::stmt(
            body,
            &mut |s| match &s.kind {
                StmtKind::Label { .. }
                | StmtKind::LocalLabels
                | StmtKind::NestedFunc(_)
                | StmtKind::Asm(_)
                | StmtKind::Goto(_)
                | StmtKind::GotoPtr(_) => labels = true,
                StmtKind::Decl(d) => {
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
                    ExprKind::Call { .. } | ExprKind::VaArg { .. } => {
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
                if types.is_shared(target.ty) {
                    return;
                }
                let mut t = target;
                loop {
                    match &t.kind {
                        ExprKind::Name(d) => {
                            f.assigned.push(*d);
                            break;
                        }
                        ExprKind::Member { base, arrow: false, .. } | ExprKind::Paren(base) => t = base,
                        ExprKind::Unary { op: UnOp::Real | UnOp::Imag, expr } => t = expr,
                        _ => {
                            f.private_stores = true;
                            break;
                        }
                    }
                }
            },
        );
        f.labels = labels;
        f
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
