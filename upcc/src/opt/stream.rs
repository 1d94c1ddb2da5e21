//! Loops over runs of shared elements: `x[i + c]` in a loop that counts `i` up.
//!
//! The elements that such an access visits are consecutive in memory as long as the loop stays inside one block of the array
//! (or, with block size 1, if the loop steps by THREADS). So the loop is cut into *stretches* in which that holds for all of
//! its accesses, and at the head of each it is found out once whether the elements are near. If so the stretch runs over C
//! pointers. If not, and if nobody can tell the difference, the elements are brought into buffers in bulk, all transfers under
//! way at the same time; the loop runs over the buffers, and those that it writes are taken back.
//!
//! Nobody can tell the difference if
//! - every iteration reads (or writes) the element, so that nothing else is touched;
//! - nothing in the body synchronises: no call, strict access, fence; nothing leaves the loop;
//! - what the loop writes is no other name for what is buffered: different declared arrays, or private memory, which a test at
//!   run time makes sure of for private pointers.
//!
//! Accesses that do not run along, such as `x[index[i]]`, are fetched beforehand too if they are only read: one transfer for
//! each, all at the same time.

use super::vector::Vectors;
use super::{Count, Element, Facts, breaks, is_array, names, strip};
use crate::ast::{BinOp, Conv, DeclId, Expr, ExprKind, ForInit, Stmt, StmtKind, UnOp};
use crate::emit::{Emitter, walk};

/// Buffers that the runtime has, and their size in bytes.
const BUFFERS: usize = 8;
const BUFFER_BYTES: u64 = 16 << 10;
/// Blocks shorter than this make no stretches worth their while.
const SHORT_BLOCK: u64 = 16;
/// Loop bodies of more tokens are not emitted twice.
const LONG_BODY: u32 = 600;

/// How the loop variable moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    One,
    Threads,
}

/// A loop to emit: so many iterations from the present value of the variable on.
pub(super) struct Runs {
    pub var: DeclId,
    /// Iterations, as C of type long.
    pub left: String,
    pub step: Step,
    /// A counter that goes along.
    pub own: Option<String>,
}

/// An element of the thread's own, used in place: what is known of it, and whether it is written.
pub(super) type Own<'a> = (&'a Expr, Option<Element>, bool);

/// Accesses to the same run.
pub(super) struct Stream<'a> {
    pub element: Element,
    pub nodes: Vec<&'a Expr>,
    reads: bool,
    pub writes: bool,
    /// Each iteration accesses it, reads it, writes it as a whole.
    always: bool,
    always_read: bool,
    always_written: bool,
    /// Only a part of an element is written somewhere.
    partly: bool,
}

/// What a body accesses.
#[derive(Default)]
struct Scan<'a> {
    streams: Vec<Stream<'a>>,
    /// Other shared objects read (and whether in every iteration) and written.
    loads: Vec<(&'a Expr, bool)>,
    stores: Vec<&'a Expr>,
    /// Private lvalues read and written through pointers.
    private_loads: Vec<&'a Expr>,
    private_stores: Vec<&'a Expr>,
    /// Private lvalues written that are no plain variables.
    private_changes: Vec<&'a Expr>,
    /// The thread's own elements, used in place: whether written.
    own: Vec<Own<'a>>,
    /// Not every iteration does the same, or it calls something.
    branches: bool,
    /// Nested loops, `continue`, anything that the far form cannot have.
    loops: bool,
    continues: bool,
    bars: Option<&'static str>,
}

/// How to emit a loop.
struct Plan<'a> {
    streams: Vec<Stream<'a>>,
    /// Other reads to be made beforehand.
    gathers: Vec<&'a Expr>,
    /// The far form can be used: if these pointers are private.
    far: Result<Vec<&'a Expr>, &'static str>,
    /// Near elements are not used in place: blocks are too short.
    short: bool,
    /// The loop can be computed several iterations at a time: how.
    vectors: Option<Vectors>,
}

struct Scanner<'s, 'e> {
    e: &'s Emitter<'e>,
    var: DeclId,
    step: Step,
    facts: &'s Facts,
}

impl Scanner<'_, '_> {
    fn stmt<'a>(&self, s: &'a Stmt, always: bool, out: &mut Scan<'a>) {
        match &s.kind {
            StmtKind::Block(b) => b.stmts.iter().for_each(|s| self.stmt(s, always, out)),
            StmtKind::If { cond, then, els } => {
                out.branches = true;
                self.expr(cond, always, out);
                self.stmt(then, false, out);
                if let Some(e) = els {
                    self.stmt(e, false, out);
                }
            }
            StmtKind::Expr(e) => self.expr(e, always, out),
            StmtKind::Decl(d) => {
                for i in &d.declarators {
                    for (_, _, e) in i.init.iter().flat_map(|init| init.leaves(i.ty)) {
                        self.expr(e, always, out);
                    }
                }
            }
            StmtKind::Continue => (out.continues, out.branches) = (true, true),
            StmtKind::Empty | StmtKind::UpcPragma | StmtKind::StaticAssert | StmtKind::Attribute => {}
            StmtKind::Pragma => out.bars = Some("the loop holds a pragma"),
            StmtKind::Switch { value, body } => {
                out.branches = true;
                self.expr(value, always, out);
                self.stmt(body, false, out);
            }
            StmtKind::Case { body, .. } | StmtKind::Default { body } => self.stmt(body, false, out),
            StmtKind::Break => {}
            StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. }
            | StmtKind::Forall(_) => {
                out.loops = true;
            }
            _ => out.bars = Some("the loop holds a jump or a synchronisation"),
        }
    }

    fn expr<'a>(&self, e: &'a Expr, always: bool, out: &mut Scan<'a>) {
        match &e.kind {
            ExprKind::Implicit { conv: Conv::SharedLoad, expr } => {
                return self.access(expr, (true, false), always, out);
            }
            ExprKind::Implicit { conv: Conv::Load, expr } => return self.private(expr, false, always, out),
            ExprKind::Assign { lhs, rhs } => {
                self.change(lhs, false, always, out);
                return self.expr(rhs, always, out);
            }
            ExprKind::CompoundAssign { lhs, rhs, .. } => {
                self.change(lhs, true, always, out);
                return self.expr(rhs, always, out);
            }
            ExprKind::IncDec { expr, .. } => return self.change(expr, true, always, out),
            ExprKind::Call { callee, .. } => {
                out.branches = true;
                if !super::pure_call(callee, self.e.u) {
                    out.bars = Some("the loop calls a function");
                }
            }
            _ => {}
        }
        let plain = walk::operands(e, &mut |x, each_time| self.expr(x, always && each_time, out));
        if !plain || matches!(e.kind, ExprKind::CompoundLit { .. }) {
            out.bars = Some("the loop holds an expression that is not looked into");
        }
    }

    /// A lvalue is written, and read before.
    fn change<'a>(&self, lv: &'a Expr, reads: bool, always: bool, out: &mut Scan<'a>) {
        if self.e.u.types.is_shared(lv.ty) {
            self.access(lv, (reads, true), always, out);
        } else {
            self.private(lv, true, always, out);
        }
    }

    /// Operands of the lvalue of a private access, and the access.
    fn private<'a>(&self, lv: &'a Expr, store: bool, always: bool, out: &mut Scan<'a>) {
        if through_pointer(lv) {
            if store { &mut out.private_stores } else { &mut out.private_loads }.push(lv);
        }
        if store && !matches!(lv.unparen().kind, ExprKind::Name(_)) {
            out.private_changes.push(lv);
        }
        self.expr(lv, always, out);
    }

    fn access<'a>(&self, lv: &'a Expr, (reads, writes): (bool, bool), always: bool, out: &mut Scan<'a>) {
        let types = &self.e.u.types;
        let target = super::accessed(lv);
        let whole = std::ptr::eq(target, lv.unparen());
        if lv.strict || target.strict {
            out.bars = Some("the loop holds a strict access");
        } else if types.quals(lv.ty).is_volatile {
            out.bars = Some("the loop accesses a volatile object");
        }
        self.expr(target, always, out);
        let element = self.e.element(target, self.var, self.facts);
        if self.e.local.of(target).is_some() {
            out.own.push((target, element, writes));
            return;
        }
        let fits = |x: &Element| match self.step {
            Step::One => true,
            Step::Threads => x.block == 1,
        };
        match element.filter(|x| fits(x) && x.size <= BUFFER_BYTES / 16) {
            Some(element) => {
                let at = match out.streams.iter().position(|s| s.element.key == element.key) {
                    Some(at) => at,
                    None => {
                        out.streams.push(Stream {
                            element,
                            nodes: Vec::new(),
                            reads: false,
                            writes: false,
                            always: false,
                            always_read: false,
                            always_written: false,
                            partly: false,
                        });
                        out.streams.len() - 1
                    }
                };
                let s = &mut out.streams[at];
                s.nodes.push(target);
                s.reads |= reads;
                s.writes |= writes;
                s.always |= always;
                s.always_read |= reads && always;
                s.always_written |= writes && always && whole;
                s.partly |= writes && !whole;
            }
            None => {
                if reads {
                    out.loads.push((lv, always));
                }
                if writes {
                    out.stores.push(lv);
                }
            }
        }
    }
}

/// Whether a private lvalue is reached through a pointer.
fn through_pointer(lv: &Expr) -> bool {
    match &lv.unparen().kind {
        ExprKind::Name(_) => false,
        ExprKind::Member { base, arrow: false, .. } => through_pointer(base),
        ExprKind::Index { base, .. } => match &base.unparen().kind {
            ExprKind::Implicit { conv: Conv::ArrayDecay, expr } => through_pointer(expr),
            _ => true,
        },
        ExprKind::Unary { op: UnOp::Real | UnOp::Imag, expr } => through_pointer(expr),
        ExprKind::CompoundLit { .. } | ExprKind::Str | ExprKind::FuncName => false,
        _ => true,
    }
}

/// The pointer from which an lvalue reached through pointers starts, if it is a plain value.
fn pointer_root(lv: &Expr) -> Option<&Expr> {
    let e = lv.unparen();
    match &e.kind {
        ExprKind::Index { base, .. } | ExprKind::Member { base, .. } => pointer_root(base),
        ExprKind::Unary { op: UnOp::Deref | UnOp::Real | UnOp::Imag, expr } => pointer_root(expr),
        ExprKind::Implicit { conv: Conv::ArrayDecay, expr } => pointer_root(expr),
        ExprKind::Binary { op: BinOp::Add | BinOp::Sub, lhs, rhs } => {
            pointer_root(lhs).or_else(|| pointer_root(rhs))
        }
        ExprKind::Implicit { conv: Conv::Load, expr } => {
            matches!(expr.unparen().kind, ExprKind::Name(_)).then_some(e)
        }
        _ => None,
    }
}

impl Emitter<'_> {
    /// The shared array that a shared lvalue is part of, if it is a declared one.
    pub(super) fn root_array(&self, lv: &Expr) -> Option<DeclId> {
        match &lv.unparen().kind {
            ExprKind::Name(d) => Some(*d),
            ExprKind::Member { base, arrow: false, .. } => self.root_array(base),
            ExprKind::Index { base, .. } => match &base.unparen().kind {
                ExprKind::Implicit { conv: Conv::SharedDecay, expr } => self.root_array(expr),
                _ => None,
            },
            _ => None,
        }
    }

    fn plan<'a>(
        &self,
        body: &'a Stmt,
        var: DeclId,
        step: Step,
        facts: &Facts,
    ) -> Result<Plan<'a>, &'static str> {
        let mut scan = Scan::default();
        Scanner { e: self, var, step, facts }.stmt(body, true, &mut scan);
        let Scan {
            streams,
            loads,
            stores,
            private_loads,
            private_stores,
            private_changes,
            own,
            branches,
            loops,
            continues,
            bars,
        } = scan;
        if loops {
            return Err("the loop holds another");
        }
        let mut far = match bars {
            Some(why) => Err(why),
            None if !self.passes.coalesce && !self.passes.split_phase => {
                Err("such loops are left alone (-noopt or -fno-upc-...)")
            }
            None if facts.calls => Err("the loop calls a function"),
            None => Ok(Vec::new()),
        };
        // Names for the same thing.
        let apart = |a: Option<DeclId>, b: Option<DeclId>| matches!((a, b), (Some(a), Some(b)) if a != b);
        let mut gathers = Vec::new();
        let mut far_if = |ok: bool, why: &'static str| {
            if !ok && far.is_ok() {
                far = Err(why);
            }
        };
        far_if(!continues || streams.iter().all(|s| !s.writes), "the loop holds a continue");
        for (n, s) in streams.iter().enumerate() {
            far_if(!s.partly, "parts of structures are written");
            far_if(
                if s.writes { s.always_written } else { s.always_read },
                "not every iteration accesses it",
            );
            let here = s.element.array;
            far_if(
                stores.iter().all(|x| apart(self.root_array(x), here)),
                "the loop writes shared memory that may be the same",
            );
            if s.writes {
                let others = streams.iter().enumerate().all(|(m, x)| m == n || apart(x.element.array, here));
                far_if(
                    others && loads.iter().all(|x| apart(self.root_array(x.0), here)),
                    "the loop reads and writes shared memory that may be the same",
                );
            }
        }
        // The thread's own elements are used in place while others of the same array may be in a buffer.
        for (_, o, written) in &own {
            let here = o.as_ref().and_then(|o| o.array);
            far_if(
                streams.iter().all(|s| !(*written || s.writes) || apart(s.element.array, here)),
                "the loop reads and writes shared memory that may be the same",
            );
        }
        // Reads that do not run along.
        if self.passes.split_phase && stores.is_empty() {
            for (lv, always) in &loads {
                let once = !gathers.iter().any(|g: &&Expr| std::ptr::eq(*g, *lv));
                let scalar = lv.bit_field(&self.u.types).is_none()
                    && self.u.types.const_size(lv.ty).is_some_and(|n| n <= BUFFER_BYTES / 16)
                    && !self.u.types.is_array(lv.ty)
                    && matches!(lv.kind, ExprKind::Index { .. });
                let apart_from_writes =
                    streams.iter().all(|s| !s.writes || apart(self.root_array(lv), s.element.array))
                        && own.iter().all(|(_, o, w)| {
                            !w || apart(self.root_array(lv), o.as_ref().and_then(|o| o.array))
                        });
                if *always
                    && once
                    && scalar
                    && apart_from_writes
                    && self.depends(lv, var)
                    && self.foreseen(lv, var, facts, &private_changes)
                {
                    gathers.push(*lv);
                }
            }
        }
        if let Ok(checks) = &mut far {
            let mut suspects: Vec<&Expr> = private_stores.clone();
            if streams.iter().any(|s| s.writes) {
                suspects.extend(&private_loads);
            }
            for x in suspects {
                match pointer_root(x) {
                    Some(p) if self.invariant(p, facts) => {
                        let same = |c: &&Expr| self.verbatim(c.toks) == self.verbatim(p.toks);
                        if !checks.iter().any(same) {
                            checks.push(p);
                        }
                    }
                    _ => {
                        far = Err("the loop uses a private pointer that changes");
                        break;
                    }
                }
            }
        }
        if streams.is_empty() && gathers.is_empty() {
            return Err(bars.unwrap_or("no access runs along with the loop variable"));
        }
        if streams.len() + gathers.len() > BUFFERS {
            gathers.clear();
            if streams.len() > BUFFERS {
                far = Err("the loop accesses too many runs");
            }
        }
        let short = streams.is_empty()
            || !self.passes.privatise
            || step == Step::One && streams.iter().any(|s| (1..SHORT_BLOCK).contains(&s.element.block));
        if short {
            far.as_ref().map_err(|e| *e)?;
        } else {
            gathers.clear();
        }
        let alone = loads.is_empty()
            && stores.is_empty()
            && private_loads.is_empty()
            && private_changes.is_empty()
            && !branches
            && bars.is_none();
        let vectors = if alone && !short { self.vectors(body, var, &streams, &own, facts) } else { None };
        Ok(Plan { streams, gathers, far, short, vectors })
    }

    /// Whether the expression names the variable.
    fn depends(&self, e: &Expr, var: DeclId) -> bool {
        names(e, var)
    }

    /// Whether the place of a shared lvalue can be computed some iterations earlier.
    fn foreseen(&self, lv: &Expr, var: DeclId, facts: &Facts, stores: &[&Expr]) -> bool {
        let t = &self.u.types;
        let mut ok = true;
        let top = std::ptr::from_ref(lv);
        walk::expr(lv, &mut |_| {}, &mut |x| {
            ok &= match &x.kind {
                ExprKind::Name(d) => {
                    *d == var || self.steady(*d, facts) || t.is_array(x.ty) && !facts.declared.contains(d)
                }
                ExprKind::Index { .. } if std::ptr::eq(x, top) => true,
                // A private array that holds the index: nothing stored may be of its kind.
                ExprKind::Index { .. } => {
                    let root = private_root(x);
                    let differ = |s: &&Expr| {
                        !t.may_alias(s.ty, x.ty)
                            || matches!((root, private_root(s)), (Some(a), Some(b)) if a != b)
                    };
                    !t.is_shared(x.ty) && !facts.calls && stores.iter().all(differ)
                }
                ExprKind::Implicit { conv, .. } | ExprKind::Cast { conv, .. } => {
                    matches!(
                        conv,
                        Conv::Load | Conv::Arith | Conv::Same | Conv::ArrayDecay | Conv::SharedDecay
                    )
                }
                ExprKind::Paren(_)
                | ExprKind::Number
                | ExprKind::EnumConst(_)
                | ExprKind::Threads
                | ExprKind::MyThread
                | ExprKind::Binary { .. }
                | ExprKind::Unary { op: UnOp::Plus | UnOp::Neg | UnOp::BitNot, .. }
                | ExprKind::SizeOf { .. } => true,
                _ => false,
            };
        });
        ok
    }

    /// A `for` loop over runs of shared elements. Whether it was emitted.
    pub fn stream_for(
        &mut self,
        init: &ForInit,
        cond: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
    ) -> Result<(), &'static str> {
        if self.compact || !(self.passes.privatise || self.passes.coalesce || self.passes.split_phase) {
            return Err("such loops are left alone (-noopt or -fno-upc-...)");
        }
        if !body.has_upc || body.toks.end - body.toks.start > LONG_BODY {
            return Err("the loop is too long");
        }
        let Some(c) = self.count(cond, step) else { return Err("the loop does not count up by one") };
        let facts = Facts::of(body, self.u);
        if facts.labels || facts.returns || breaks(body) {
            return Err("the loop may end early");
        }
        if !self.counts(c.var, &facts) {
            return Err("the loop variable may change in the loop");
        }
        if !self.invariant(c.hi, &facts) {
            return Err("the bound may change in the loop");
        }
        let plan = self.plan(body, c.var, Step::One, &facts)?;
        let var = self.u.name(self.u.decl(c.var).name).to_string();
        self.out.put("{ ");
        let wrapped = match init {
            ForInit::None => false,
            ForInit::Expr(e) => {
                let t = self.discard(e);
                self.out.put(&format!("{t}; "));
                false
            }
            ForInit::Decl(d) if d.has_upc => self.for_init(init),
            ForInit::Decl(d) => {
                let t = self.verbatim(d.toks);
                self.out.put(&format!("{t} "));
                false
            }
        };
        let n = self.next_number();
        let hi = self.bound(&Count { var: c.var, hi: c.hi, inclusive: c.inclusive, compared: c.compared });
        self.out.put(&format!("long __upc_m{n} = {hi} - (long){var};"));
        let runs = Runs { var: c.var, left: format!("__upc_m{n}"), step: Step::One, own: None };
        self.emit_plan(&runs, plan, body, n);
        self.out.put(if wrapped { " } }" } else { " }" });
        Ok(())
    }

    /// Emits the loop in the best form there is.
    pub(super) fn runs(&mut self, r: Runs, body: &Stmt, facts: &Facts) {
        let n = self.next_number();
        let small = body.toks.end - body.toks.start <= LONG_BODY && !facts.returns;
        let plan = if small { self.plan(body, r.var, r.step, facts) } else { Err("the loop is too long") };
        match plan {
            Ok(plan) => {
                self.out.put(&format!(" {{ long __upc_m{n} = {};", r.left));
                let runs = Runs { left: format!("__upc_m{n}"), ..r };
                self.emit_plan(&runs, plan, body, n);
                self.out.put(" }");
            }
            Err(why) => {
                self.loops.push(why);
                self.plain(&r, &r.left, n, body);
                self.loops.pop();
            }
        }
    }

    /// A loop of so many iterations.
    fn plain(&mut self, r: &Runs, count: &str, n: u32, body: &Stmt) {
        let next = self.advance(r);
        self.out.put(&format!(" for (long __upc_x{n} = {count}; __upc_x{n} > 0; __upc_x{n}--, {next})"));
        self.stmt(body);
    }

    pub(super) fn advance(&mut self, r: &Runs) -> String {
        let decl = self.u.decl(r.var);
        let var = self.u.name(decl.name).to_string();
        let t = self.ctype_plain(decl.ty, "");
        let mut s = match r.step {
            Step::One => format!("{var}++"),
            Step::Threads => format!("{var} = ({t})({var} + __UPC_T)"),
        };
        if let Some(k) = &r.own {
            s.push_str(&format!(", {k}++"));
        }
        s
    }

    /// `r.left` is a variable that counts the iterations that are left.
    fn emit_plan(&mut self, r: &Runs, plan: Plan, body: &Stmt, n: u32) {
        let Plan { streams, gathers, far, short, vectors } = plan;
        let left = &r.left;
        let next = self.advance(r);
        let bytes = streams.iter().map(|s| s.element.size);
        let sizes = gathers.iter().map(|g| self.u.types.const_size(g.ty).unwrap_or(BUFFER_BYTES));
        let chunk = BUFFER_BYTES / bytes.chain(sizes).max().unwrap_or(1).max(1);
        let mut private = String::new();
        for p in far.iter().flatten() {
            let p = self.rv(p).p(2);
            private.push_str(&format!(" && __upc_is_private({p})"));
        }
        if short {
            // All near: the loop as it is.
            self.out.put(" if (__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads)");
            if !private.is_empty() {
                self.out.put(&format!(" || !({})", &private[4..]));
            }
            self.out.put(") {");
            let quiet = std::mem::replace(&mut self.quiet, true);
            self.plain(r, left, n, body);
            self.quiet = quiet;
            self.out.put(" } else");
        }
        self.out.put(&format!(" while ({left} > 0) {{ long __upc_n{n} = {left};"));
        let mut near = Vec::new();
        for (m, s) in streams.iter().enumerate() {
            // The first iteration may leave out an access to what would be before the array.
            self.before_first = !s.always;
            let at = self.place(s.nodes[0]);
            self.before_first = false;
            self.out.put(&format!(" const struct __upc_w __upc_w{n}_{m} = {at};"));
            near.push(format!("__upc_near(__upc_w{n}_{m})"));
        }
        for (m, s) in streams.iter().enumerate() {
            let ty = self.access_type(s.element.ty);
            self.out.put(&format!(" {ty} *__upc_p{n}_{m};"));
        }
        for (m, g) in gathers.iter().enumerate() {
            let (m, ty) = (m + streams.len(), self.access_type(g.ty));
            self.out.put(&format!(" {ty} *const __upc_p{n}_{m} = ({ty} *)__upc_buffer({m});"));
        }
        let whole = if r.step == Step::Threads { " " } else { "" };
        let mut limits = String::new();
        for (m, s) in streams.iter().enumerate().filter(|(_, s)| s.element.block > 1 && whole.is_empty()) {
            let b = s.element.block;
            limits.push_str(&format!(
                " if (__upc_n{n} > (long)({b} - __upc_w{n}_{m}.ph)) __upc_n{n} = (long)({b} - __upc_w{n}_{m}.ph);"
            ));
        }
        let direct: String = (0..streams.len())
            .map(|m| format!(" __upc_p{n}_{m} = (void *)__upc_at(__upc_w{n}_{m});"))
            .collect();
        let is_far = format!("__upc_far{n}");
        let keep = self.local.clone();
        if !short {
            // Checked one by one if each is to be reported.
            let all = if self.o.sanitize { "" } else { "__upc_rt.mapped == __upc_rt.threads || " };
            self.out.put(&format!(
                " const int {is_far} = !__UPC_LIKELY({all}({})); if (!{is_far}) {{{limits}{direct} }} else",
                near.join(" & ")
            ));
        }
        match &far {
            Ok(_) => {
                if !private.is_empty() && !short {
                    self.out.put(&format!(" if (!({}))", &private[4..]));
                    self.far_plain(r, n, body);
                    self.out.put(" else");
                }
                self.bring(r, &streams, &gathers, n, chunk);
            }
            Err(why) => {
                for s in streams.iter().flat_map(|s| &s.nodes) {
                    self.loops.push(why);
                    self.remark_why(s, "access", " if it is far", None);
                    self.loops.pop();
                }
                self.far_plain(r, n, body);
            }
        }
        self.loops.push("");
        for (m, s) in streams.iter().enumerate() {
            let to = self.local.add(format!("__upc_p{n}_{m}"), &format!("__upc_j{n}"));
            s.nodes.iter().for_each(|e| self.local.bind(e, to));
        }
        for (m, g) in gathers.iter().enumerate() {
            let m = m + streams.len();
            let to = self.local.add(format!("__upc_p{n}_{m}"), &format!("__upc_j{n}"));
            self.local.bind(g, to);
        }
        let first = match vectors {
            Some(v) => self.in_vectors_of(&v, r, body, n),
            None => "0".into(),
        };
        self.out
            .put(&format!(" for (long __upc_j{n} = {first}; __upc_j{n} < __upc_n{n}; __upc_j{n}++, {next})"));
        self.stmt(body);
        self.loops.pop();
        self.local = keep;
        let written: Vec<usize> = (0..streams.len()).filter(|&m| streams[m].writes).collect();
        if far.is_ok() && !written.is_empty() {
            let test = if short { String::new() } else { format!("if ({is_far}) ") };
            self.out.put(&format!(" {test}{{"));
            for m in written {
                let args = self.run_args(&streams[m], m, r.step, n);
                self.out.put(&format!(" __upc_scatter({args}, {});", self.how(0)));
            }
            self.out.put(" __upc_moved(); }");
        }
        self.out.put(&format!(" {left} -= __upc_n{n}; }}"));
    }

    /// All the iterations left one by one, and out of the loop over stretches.
    fn far_plain(&mut self, r: &Runs, n: u32, body: &Stmt) {
        self.out.put(" {");
        let compact = std::mem::replace(&mut self.compact, true);
        self.plain(r, &r.left, n, body);
        self.compact = compact;
        self.out.put(" break; }");
    }

    /// Brings a stretch into buffers.
    fn bring(&mut self, r: &Runs, streams: &[Stream], gathers: &[&Expr], n: u32, chunk: u64) {
        self.out.put(&format!(" {{ if (__upc_n{n} > {chunk}) __upc_n{n} = {chunk};"));
        for (m, s) in streams.iter().enumerate() {
            let args = self.run_args(s, m, r.step, n);
            // What every iteration writes before it reads need not be fetched; to know that takes more than this.
            let how = self.how(u32::from(s.reads || !s.always_written));
            self.out.put(&format!(" __upc_p{n}_{m} = __upc_gather({args}, {how});"));
        }
        if !gathers.is_empty() {
            let decl = self.u.decl(r.var);
            let (var, t) = (self.u.name(decl.name).to_string(), self.ctype_plain(decl.ty, ""));
            let next = self.advance(&Runs { own: None, left: String::new(), ..*r });
            self.out.put(&format!(
                " const {t} __upc_v{n} = {var}; for (long __upc_x{n} = 0; __upc_x{n} < __upc_n{n}; __upc_x{n}++, {next}) {{"
            ));
            for (m, g) in gathers.iter().enumerate() {
                let w = self.place(g);
                let size = self.u.types.const_size(g.ty).unwrap_or(1);
                self.out.put(&format!(
                    " {{ const struct __upc_w __upc_a = {w}; __upc_start({}, __upc_x{n}, (unsigned)__upc_a.t, __upc_a.o, {size}); }}",
                    m + streams.len()
                ));
            }
            self.out.put(&format!(" }} {var} = __upc_v{n};"));
        }
        self.out.put(" __upc_moved(); }");
    }

    fn run_args(&self, s: &Stream, m: usize, step: Step, n: u32) -> String {
        let b = if step == Step::Threads { 0 } else { s.element.block };
        let w = format!("__upc_w{n}_{m}");
        format!("{m}, (unsigned){w}.t, {w}.o, {w}.ph, __upc_n{n}, {b}, {}", s.element.size)
    }

    /// The argument that says how to transfer.
    fn how(&self, read: u32) -> u32 {
        read | if self.passes.split_phase { 0 } else { 2 } | if self.passes.coalesce { 0 } else { 4 }
    }
}

/// The private array that holds an element.
fn private_root(e: &Expr) -> Option<DeclId> {
    match &e.unparen().kind {
        ExprKind::Index { base, .. } if is_array(base) => match &base.unparen().kind {
            ExprKind::Implicit { expr, .. } => private_root(expr),
            _ => None,
        },
        ExprKind::Name(d) => Some(*d),
        ExprKind::Member { base, arrow: false, .. } => private_root(strip(base)),
        _ => None,
    }
}
