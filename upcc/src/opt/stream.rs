//! Loops over runs of shared elements: `x[i + c]` in a loop that counts `i` up.
//!
//! **Matches** loops that count up by one and hold no other, with elements of declared arrays, or through
//! pointers that stay the same, at the loop variable plus something that stays the same. The elements that
//! such an access visits are consecutive in memory as long as the loop stays inside one block of the array
//! (or, with block size 1, if the loop steps by THREADS). So the loop is cut into *stretches* in which that
//! holds for all of its accesses, and at the head of each it is found out once whether the elements are near.
//! If so the stretch runs over C pointers (`privatise`). If not, and if nobody can tell the difference, the
//! elements are brought into buffers in bulk (`coalesce`), all transfers under way at the same time
//! (`split-phase`); the loop runs over the buffers, and those that it writes are taken back.
//!
//! **Nobody can tell** if
//! - every iteration reads (or writes) the element, so that nothing else is touched;
//! - nothing in the body synchronises: no call, strict access, fence; nothing leaves the loop;
//! - what the loop writes is no other name for what is buffered: different declared arrays, or private
//!   memory, which a test at run time makes sure of for private pointers.
//!
//! Accesses that do not run along, such as `x[index[i]]`, are fetched beforehand too if they are only read
//! (*gathered*): one transfer for each, all at the same time.
//!
//! ```text
//! for (i < n; i++)                                                            before
//!     run: element(at(p), [i], 64 x 8) by 1, fetched                          after
//!     coalesce: stretches that are far are brought, 2048 at a time, if private: to
//! ```

use super::facts::{Element, Facts, accessed, breaks, is_array, names, strip};
use super::same::same;
use super::{LEFT_ALONE, Optimiser};
use crate::front::ast::{BinOp, Conv, DeclId, Expr, ExprKind, ForInit, Stmt, StmtKind, UnOp, walk};
use crate::ir::{Context, CountStep, Iterations, Loop, Pace, Place, Run, Stretches, Style};
use crate::lower;
use std::rc::Rc;

/// Buffers that the runtime has on each thread; a test of `upc-rt` compares.
pub const BUFFERS: usize = 8;
/// Their size in bytes; likewise.
pub const BUFFER_BYTES: u64 = 16 << 10;
/// Blocks shorter than this make no stretches worth their while.
const SHORT_BLOCK: u64 = 16;
/// Loop bodies of more tokens are not emitted twice.
const LONG_BODY: u32 = 600;

/// An element of the thread's own, used in place: what is known of it, and whether it is written.
pub(super) type Own<'a> = (&'a Expr, Option<Element<'a>>, bool);

/// Accesses to the same run.
pub(super) struct Stream<'a> {
    pub element: Element<'a>,
    pub nodes: Vec<&'a Expr>,
    pub reads: bool,
    pub writes: bool,
    /// Each iteration accesses it, reads it, writes it as a whole.
    pub always: bool,
    pub always_read: bool,
    pub always_written: bool,
    /// Only a part of an element is written somewhere.
    pub partly: bool,
}

/// The accesses of a loop body, sorted by kind.
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

impl<'a> Scan<'a> {
    /// The shared lvalues that are written.
    fn written(&self) -> Vec<&'a Expr> {
        let runs = self.streams.iter().filter(|s| s.writes).flat_map(|s| s.nodes.iter().copied());
        let own = self.own.iter().filter(|(_, _, written)| *written).map(|(e, _, _)| *e);
        self.stores.iter().copied().chain(runs).chain(own).collect()
    }
}

struct Scanner<'s, 'a> {
    o: &'s Optimiser<'a>,
    around: &'s Context,
    var: DeclId,
    step: CountStep,
    facts: &'s Facts,
}

impl<'a> Scanner<'_, 'a> {
    fn stmt(&self, s: &'a Stmt, always: bool, out: &mut Scan<'a>) {
        // Statements after a `continue` do not run in every iteration.
        let always = always && !out.continues;
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
            StmtKind::Pragma | StmtKind::Directed { .. } => out.bars = Some("the loop holds a pragma"),
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

    fn expr(&self, e: &'a Expr, always: bool, out: &mut Scan<'a>) {
        match &e.kind {
            ExprKind::Implicit { conv: Conv::SharedLoad, expr } if self.facts.reads_once(expr) => return,
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
                if !lower::pure_call(callee, self.o.u) {
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
    fn change(&self, lv: &'a Expr, reads: bool, always: bool, out: &mut Scan<'a>) {
        if self.o.u.types.is_shared(lv.ty) {
            self.access(lv, (reads, true), always, out);
        } else {
            self.private(lv, true, always, out);
        }
    }

    /// Operands of the lvalue of a private access, and the access.
    fn private(&self, lv: &'a Expr, store: bool, always: bool, out: &mut Scan<'a>) {
        if through_pointer(lv) {
            if store { &mut out.private_stores } else { &mut out.private_loads }.push(lv);
        }
        if store && !matches!(lv.unparen().kind, ExprKind::Name(_)) {
            out.private_changes.push(lv);
        }
        self.expr(lv, always, out);
    }

    fn access(&self, lv: &'a Expr, (reads, writes): (bool, bool), always: bool, out: &mut Scan<'a>) {
        let types = &self.o.u.types;
        let target = accessed(lv);
        let whole = target.id == lv.unparen().id;
        if lv.strict || target.strict {
            out.bars = Some("the loop holds a strict access");
        } else if types.quals(lv.ty).is_volatile {
            out.bars = Some("the loop accesses a volatile object");
        }
        self.expr(target, always, out);
        let element = self.o.element(target, self.var, self.facts);
        if self.around.bound.contains(&target.id) {
            out.own.push((target, element, writes));
            return;
        }
        let fits = |x: &Element| match self.step {
            CountStep::One => true,
            CountStep::Threads => x.spread.block == 1,
        };
        match element.filter(|x| fits(x) && x.spread.size <= BUFFER_BYTES / 16) {
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

/// Whether two declared arrays are known, and not the same.
fn apart(a: Option<DeclId>, b: Option<DeclId>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

impl<'a> Optimiser<'a> {
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

    /// Iterations of a body with these facts, whose accesses run along with a variable. Or why they are as
    /// written.
    pub(super) fn iterations(
        &self,
        body: &'a Stmt,
        var: DeclId,
        step: CountStep,
        facts: &Facts,
        around: &Rc<Context>,
    ) -> Result<Iterations<'a>, &'static str> {
        let scan = |facts: &Facts| {
            let mut scan = Scan::default();
            Scanner { o: self, around, var, step, facts }.stmt(body, true, &mut scan);
            scan
        };
        let mut found = scan(facts);
        let once = match found.bars {
            None if !found.loops => self.steady_reads(&found.loads, &found.written(), var, facts, around),
            _ => Vec::new(),
        };
        let mut facts = facts;
        let with_reads;
        if !once.is_empty() {
            let read_once = once.iter().map(|lv| lv.id).collect();
            with_reads = Facts { read_once, ..facts.clone() };
            facts = &with_reads;
            found = scan(facts);
        }
        if found.loops {
            return Err("the loop holds another");
        }
        let mut far = self.far(&found, facts);
        let mut gathers = self.gathered(&found, var, facts);
        let Scan { streams, loads, stores, private_loads, private_changes, own, branches, bars, .. } = found;
        let code = |around: Context| self.statement(body, &Rc::new(around));
        let mut within = (**around).clone();
        within.known.extend(once.iter().map(|lv| lv.id));
        let once = alike(once);
        let one_by_one = |once: Vec<Vec<&'a Expr>>, within: Context, why| {
            if once.is_empty() {
                return Err(why);
            }
            let pace = Pace::Single(why, Box::new(code(within)));
            Ok(Iterations { var, step, once, pace })
        };
        if streams.is_empty() && gathers.is_empty() {
            return one_by_one(once, within, bars.unwrap_or("no access runs along with the loop variable"));
        }
        if streams.len() + gathers.len() > BUFFERS {
            gathers.clear();
            if streams.len() > BUFFERS {
                far = Err("the loop accesses too many runs");
            }
        }
        let short = streams.is_empty()
            || !self.passes.privatise
            || step == CountStep::One
                && streams.iter().any(|s| (1..SHORT_BLOCK).contains(&s.element.spread.block));
        if short {
            if let Err(why) = far {
                return one_by_one(once, within, why);
            }
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
        let near = short.then(|| code(Context { in_order: true, ..within.clone() }));
        // Private pointers that are to shared memory after all, or far elements that are not brought.
        let rare = !short && far.as_ref().map_or(true, |checks| !checks.is_empty());
        let rare = rare.then(|| code(Context { style: Style::Compact, ..within.clone() }));
        within.bound.extend(streams.iter().flat_map(|s| &s.nodes).chain(&gathers).map(|e| e.id));
        let sizes = gathers.iter().map(|g| self.u.types.const_size(g.ty).unwrap_or(BUFFER_BYTES));
        let most = sizes.chain(streams.iter().map(|s| s.element.spread.size)).max().unwrap_or(1).max(1);
        let stretches = Stretches {
            body: code(within),
            runs: streams.into_iter().map(|s| self.run(s)).collect(),
            gathers,
            far,
            most: BUFFER_BYTES / most,
            vectors,
            near,
            rare,
        };
        Ok(Iterations { var, step, once, pace: Pace::Stretches(Box::new(stretches)) })
    }

    /// Whether far elements may be brought into buffers, and then which private pointers have to be tested
    /// first. Or why not.
    fn far(&self, found: &Scan<'a>, facts: &Facts) -> Result<Vec<&'a Expr>, &'static str> {
        if let Some(why) = found.bars {
            return Err(why);
        }
        if !self.passes.coalesce && !self.passes.split_phase {
            return Err(LEFT_ALONE);
        }
        if facts.calls {
            return Err("the loop calls a function");
        }
        self.nothing_buffered_twice(found)?;
        let mut suspects = found.private_stores.clone();
        if found.streams.iter().any(|s| s.writes) {
            suspects.extend(&found.private_loads);
        }
        let mut checks: Vec<&'a Expr> = Vec::new();
        for x in suspects {
            let root = pointer_root(x).filter(|p| self.invariant(p, facts));
            let p = root.ok_or("the loop uses a private pointer that changes")?;
            if !checks.iter().any(|c| same(c, p)) {
                checks.push(p);
            }
        }
        Ok(checks)
    }

    /// Whether each iteration accesses the elements of all runs, and what it writes has no other name by
    /// which the loop accesses it, as far as shared memory goes.
    fn nothing_buffered_twice(&self, found: &Scan<'a>) -> Result<(), &'static str> {
        let Scan { streams, loads, stores, own, .. } = found;
        let unless = |ok: bool, why: &'static str| if ok { Ok(()) } else { Err(why) };
        unless(!found.continues || streams.iter().all(|s| !s.writes), "the loop holds a continue")?;
        let both = "the loop reads and writes shared memory that may be the same";
        for (n, s) in streams.iter().enumerate() {
            unless(!s.partly, "parts of structures are written")?;
            let always = if s.writes { s.always_written } else { s.always_read };
            unless(always, "not every iteration accesses it")?;
            let here = s.element.array;
            unless(
                stores.iter().all(|x| apart(self.root_array(x), here)),
                "the loop writes shared memory that may be the same",
            )?;
            if s.writes {
                let others = streams.iter().enumerate().all(|(m, x)| m == n || apart(x.element.array, here));
                unless(others && loads.iter().all(|x| apart(self.root_array(x.0), here)), both)?;
            }
        }
        // The thread's own elements are used in place while others of the same array may be in a buffer.
        for (_, o, written) in own {
            let here = o.as_ref().and_then(|o| o.array);
            unless(streams.iter().all(|s| !(*written || s.writes) || apart(s.element.array, here)), both)?;
        }
        Ok(())
    }

    /// Reads that do not run along and can be done before their iterations.
    fn gathered(&self, found: &Scan<'a>, var: DeclId, facts: &Facts) -> Vec<&'a Expr> {
        let Scan { streams, loads, stores, private_changes, own, .. } = found;
        let mut gathers: Vec<&'a Expr> = Vec::new();
        if !self.passes.split_phase || !stores.is_empty() {
            return gathers;
        }
        for &(lv, always) in loads {
            let again = gathers.iter().any(|g| g.id == lv.id);
            let scalar = lv.bit_field(&self.u.types).is_none()
                && self.u.types.const_size(lv.ty).is_some_and(|n| n <= BUFFER_BYTES / 16)
                && !self.u.types.is_array(lv.ty)
                && matches!(lv.kind, ExprKind::Index { .. });
            let here = self.root_array(lv);
            let apart_from_writes = streams.iter().all(|s| !s.writes || apart(here, s.element.array))
                && own.iter().all(|(_, o, w)| !w || apart(here, o.as_ref().and_then(|o| o.array)));
            if always
                && !again
                && scalar
                && apart_from_writes
                && names(lv, var)
                && self.foreseen(lv, var, facts, private_changes)
            {
                gathers.push(lv);
            }
        }
        gathers
    }

    fn run(&self, s: Stream<'a>) -> Run<'a> {
        let mut first = self.place(s.nodes[0]);
        if !s.always {
            // The first iteration may leave out an access to what would be before the array.
            may_not_exist(&mut first);
        }
        Run {
            first,
            spread: s.element.spread,
            ty: s.element.ty,
            // An element that every iteration writes before it reads it need not be fetched either;
            // recognising that takes more analysis than is done here.
            fetched: s.reads || !s.always_written,
            written: s.writes,
            nodes: s.nodes,
        }
    }

    /// The iterations, one by one if there is no better way.
    pub(super) fn best_iterations(
        &self,
        body: &'a Stmt,
        var: DeclId,
        step: CountStep,
        facts: &Facts,
        around: &Rc<Context>,
    ) -> Iterations<'a> {
        let small = body.toks.end - body.toks.start <= LONG_BODY && !facts.returns;
        let made =
            if small { self.iterations(body, var, step, facts, around) } else { Err("the loop is too long") };
        made.unwrap_or_else(|why| {
            let pace = Pace::Single(why, Box::new(self.statement(body, around)));
            Iterations { var, step, once: Vec::new(), pace }
        })
    }

    /// Whether the place of a shared lvalue can be computed some iterations earlier.
    fn foreseen(&self, lv: &Expr, var: DeclId, facts: &Facts, stores: &[&Expr]) -> bool {
        let t = &self.u.types;
        let mut ok = true;
        walk::expr(lv, &mut |_| {}, &mut |x| {
            ok &= match &x.kind {
                ExprKind::Name(d) => {
                    *d == var || self.steady(*d, facts) || t.is_array(x.ty) && !facts.declared.contains(d)
                }
                ExprKind::Index { .. } if x.id == lv.id => true,
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

    /// A `for` loop over runs of shared elements, or why it is as written.
    pub(super) fn stream(
        &self,
        init: &'a ForInit,
        cond: Option<&'a Expr>,
        step: Option<&Expr>,
        body: &'a Stmt,
        around: &Rc<Context>,
    ) -> Result<Loop<'a>, &'static str> {
        let any = self.passes.privatise || self.passes.coalesce || self.passes.split_phase;
        if around.style == Style::Compact || !any {
            return Err(LEFT_ALONE);
        }
        if !body.has_upc || body.toks.end - body.toks.start > LONG_BODY {
            return Err("the loop is too long");
        }
        let count = self.count(cond, step).ok_or("the loop does not count up by one")?;
        let facts = Facts::of(body, self.u);
        if facts.labels || facts.returns || breaks(body) {
            return Err("the loop may end early");
        }
        if !self.counts(count.var, &facts) {
            return Err("the loop variable may change in the loop");
        }
        if !self.invariant(count.bound, &facts) {
            return Err("the bound may change in the loop");
        }
        let each = self.iterations(body, count.var, CountStep::One, &facts, around)?;
        Ok(Loop { init, count, each })
    }
}

/// Those that are written alike together.
fn alike(reads: Vec<&Expr>) -> Vec<Vec<&Expr>> {
    let mut lists: Vec<Vec<&Expr>> = Vec::new();
    for lv in reads {
        match lists.iter_mut().find(|list| same(list[0], lv)) {
            Some(list) => list.push(lv),
            None => lists.push(vec![lv]),
        }
    }
    lists
}

/// Takes note that elements on the way to the place may be before the first of an array.
fn may_not_exist(place: &mut Place<'_>) {
    match place {
        Place::Element { from, exists, .. } => {
            *exists = false;
            may_not_exist(from);
        }
        Place::Start(of)
        | Place::NoPhase(of)
        | Place::After(_, of)
        | Place::Moved { from: of, .. }
        | Place::Member { of, .. }
        | Place::Part { of, .. } => may_not_exist(of),
        Place::Either(_, a, b) | Place::OrElse(a, b) => {
            may_not_exist(a);
            may_not_exist(b);
        }
        Place::Variable(_) | Place::Pointer(_) | Place::Null => {}
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
