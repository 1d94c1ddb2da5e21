//! Loops over runs of elements.

use super::Emitter;
use super::abi::{
    ALL_NEAR, AT, BUFFER, GATHER, HERE_PLACE, IS_PRIVATE, LIKELY, MOVED, NEAR, PLACE, SCATTER, START,
    THREADS_LONG, TOUCH, local, nth,
};
use crate::front::ast::{Expr, ForInit};
use crate::ir::PAGE;
use crate::ir::{Code, CountStep, Iterations, Loop, Pace, Run, Stretches, Vectors};

/// How the iterations of a loop are counted.
pub(super) struct Counter {
    /// How many are left, as C of type long.
    pub left: String,
    /// A counter that goes along.
    pub own: Option<String>,
}

impl Emitter<'_> {
    /// A `for` over runs.
    pub(super) fn counted(&mut self, made: &Loop<'_>) {
        let var = self.u.name(self.u.decl(made.count.var).name).to_string();
        self.out.put("{ ");
        let wrapped = match made.init {
            ForInit::None => false,
            ForInit::Expr(e) => {
                let t = self.discard(e);
                self.out.put(&format!("{t}; "));
                false
            }
            ForInit::Decl(d) if d.has_upc => self.for_init(made.init),
            ForInit::Decl(d) => {
                let t = self.verbatim(d.toks);
                self.out.put(&format!("{t} "));
                false
            }
        };
        let n = self.next_number();
        let hi = self.bound(&made.count);
        let left = local("m", n);
        self.out.put(&format!("long {left} = {hi} - (long){var};"));
        self.numbered(&made.each, &Counter { left, own: None }, n);
        self.out.put(if wrapped { " } }" } else { " }" });
    }

    /// Iterations from the present value of the variable on.
    pub(super) fn iterations(&mut self, each: &Iterations<'_>, c: &Counter) {
        let n = self.next_number();
        if let (Pace::Single(why, body), true) = (&each.pace, each.once.is_empty()) {
            self.single(each, c, why, body, n);
            return;
        }
        let left = local("m", n);
        self.out.put(&format!(" {{ long {left} = {};", c.left));
        self.numbered(each, &Counter { left, own: c.own.clone() }, n);
        self.out.put(" }");
    }

    /// The same, where a variable counts the iterations that are left, and `n` is in the names of all
    /// variables.
    fn numbered(&mut self, each: &Iterations<'_>, c: &Counter, n: u32) {
        self.make_reads(&each.once, &c.left, n);
        match &each.pace {
            Pace::Single(why, body) => self.single(each, c, why, body, n),
            Pace::Stretches(made) => self.stretches(each, made, c, n),
        }
        each.once.iter().for_each(|alike| self.end_reads(alike));
    }

    fn single(&mut self, each: &Iterations<'_>, c: &Counter, why: &'static str, body: &Code<'_>, n: u32) {
        self.loops.push(why);
        self.one_by_one(each, c, n, body);
        self.loops.pop();
    }

    /// All the iterations left, one by one.
    fn one_by_one(&mut self, each: &Iterations<'_>, c: &Counter, n: u32, body: &Code<'_>) {
        let next = self.advance(each, c.own.as_deref());
        let count = &c.left;
        let x = local("x", n);
        self.out.put(&format!(" for (long {x} = {count}; {x} > 0; {x}--, {next})"));
        self.stmt(body);
    }

    /// The same, and out of the loop over stretches.
    fn rare(&mut self, each: &Iterations<'_>, c: &Counter, n: u32, body: Option<&Code<'_>>) {
        let Some(body) = body else { return };
        self.out.put(" {");
        self.one_by_one(each, c, n, body);
        self.out.put(" break; }");
    }

    /// How the variable, and a counter that goes along, move.
    fn advance(&mut self, each: &Iterations<'_>, own: Option<&str>) -> String {
        let decl = self.u.decl(each.var);
        let var = self.u.name(decl.name).to_string();
        let t = self.ctype_plain(decl.ty, "");
        let mut s = match each.step {
            CountStep::One => format!("{var}++"),
            CountStep::Threads => format!("{var} = ({t})({var} + {THREADS_LONG})"),
        };
        if let Some(k) = own {
            s.push_str(&format!(", {k}++"));
        }
        s
    }

    fn stretches(&mut self, each: &Iterations<'_>, made: &Stretches<'_>, c: &Counter, n: u32) {
        let Stretches { runs, gathers, far, most, body, vectors, near, rare } = made;
        let left = &c.left;
        let next = self.advance(each, c.own.as_deref());
        let mut private = Vec::new();
        for p in far.iter().flatten() {
            let p = self.rv(p).p(2);
            private.push(format!("{IS_PRIVATE}({p})"));
        }
        let private = private.join(" && ");
        if let Some(near) = near {
            // All near: the loop as it is.
            self.out.put(&format!(" if ({LIKELY}({ALL_NEAR})"));
            if !private.is_empty() {
                self.out.put(&format!(" || !({private})"));
            }
            self.out.put(") {");
            let quiet = std::mem::replace(&mut self.quiet, true);
            self.one_by_one(each, c, n, near);
            self.quiet = quiet;
            self.out.put(" } else");
        }
        let length = local("n", n);
        self.out.put(&format!(" while ({left} > 0) {{ long {length} = {left};"));
        let near_all = self.declare_stretch(runs, gathers, n);
        let limits = limits(each, runs, n);
        let direct: String = (0..runs.len())
            .map(|m| format!(" {} = (void *){AT}({});", nth("p", n, m), nth("w", n, m)))
            .collect();
        let is_far = local("far", n);
        if near.is_none() {
            // Checked one by one if each is to be reported.
            let all = if self.o.sanitize { String::new() } else { format!("{ALL_NEAR} || ") };
            self.out.put(&format!(
                " const int {is_far} = !{LIKELY}({all}({near_all})); if (!{is_far}) {{{limits}{direct} }} else"
            ));
        }
        match far {
            Ok(_) => {
                if rare.is_some() {
                    self.out.put(&format!(" if (!({private}))"));
                    self.rare(each, c, n, rare.as_ref());
                    self.out.put(" else");
                }
                self.bring(each, runs, gathers, n, *most);
            }
            Err(why) => {
                for s in runs.iter().flat_map(|r| &r.nodes) {
                    self.loops.push(why);
                    self.remark_why(s, "access", " if it is far", None);
                    self.loops.pop();
                }
                self.rare(each, c, n, rare.as_ref());
            }
        }
        self.loops.push("");
        let pointed = || runs.iter().map(|r| &r.nodes[..]).chain(gathers.iter().map(std::slice::from_ref));
        let j = local("j", n);
        let keep = self.pointers.clone();
        let slots: Vec<usize> =
            pointed().enumerate().map(|(m, nodes)| self.pointers.add(nodes, nth("p", n, m), &j)).collect();
        let first = match vectors {
            Some(v) => self.in_vectors(v, &slots, each, c, body, n),
            None => "0".into(),
        };
        self.out.put(&format!(" for (long {j} = {first}; {j} < {length}; {j}++, {next})"));
        self.stmt(body);
        self.loops.pop();
        self.pointers = keep;
        if far.is_ok() {
            let test = if near.is_some() { String::new() } else { format!("if ({is_far}) ") };
            self.take_back(each, runs, n, &test);
        }
        self.out.put(&format!(" {left} -= {length}; }}"));
    }

    /// Declares the places where runs begin, the pointers to what is accessed, and the buffers of what is
    /// gathered. Returns the test whether all runs are near.
    fn declare_stretch(&mut self, runs: &[Run<'_>], gathers: &[&Expr], n: u32) -> String {
        let mut tests = Vec::new();
        for (m, run) in runs.iter().enumerate() {
            let at = self.at_place(&run.first);
            let w = nth("w", n, m);
            self.out.put(&format!(" const {PLACE} {w} = {at};"));
            tests.push(format!("{NEAR}({w})"));
        }
        for (m, run) in runs.iter().enumerate() {
            let ty = self.access_type(run.ty);
            self.out.put(&format!(" {ty} *{};", nth("p", n, m)));
        }
        for (m, g) in gathers.iter().enumerate() {
            let (m, ty) = (m + runs.len(), self.access_type(g.ty));
            self.out.put(&format!(" {ty} *const {} = ({ty} *){BUFFER}({m});", nth("p", n, m)));
        }
        tests.join(" & ")
    }

    /// Copies the runs that were written in buffers to where they belong, if `test` (or nothing) says so.
    fn take_back(&mut self, each: &Iterations<'_>, runs: &[Run<'_>], n: u32, test: &str) {
        let mut written = runs.iter().enumerate().filter(|(_, r)| r.written).peekable();
        if written.peek().is_none() {
            return;
        }
        self.out.put(&format!(" {test}{{"));
        for (m, run) in written {
            let args = run_args(run, m, each.step, n);
            self.out.put(&format!(" {SCATTER}({args}, {});", self.how(false)));
        }
        self.out.put(&format!(" {MOVED}(); }}"));
    }

    /// Brings a stretch into buffers.
    fn bring(&mut self, each: &Iterations<'_>, runs: &[Run<'_>], gathers: &[&Expr], n: u32, most: u64) {
        let length = local("n", n);
        self.out.put(&format!(" {{ if ({length} > {most}) {length} = {most};"));
        for (m, run) in runs.iter().enumerate() {
            let args = run_args(run, m, each.step, n);
            let how = self.how(run.fetched);
            self.out.put(&format!(" {} = {GATHER}({args}, {how});", nth("p", n, m)));
        }
        if !gathers.is_empty() {
            let decl = self.u.decl(each.var);
            let (var, t) = (self.u.name(decl.name).to_string(), self.ctype_plain(decl.ty, ""));
            let (next, saved, x) = (self.advance(each, None), local("v", n), local("x", n));
            self.out.put(&format!(
                " const {t} {saved} = {var}; for (long {x} = 0; {x} < {length}; {x}++, {next}) {{"
            ));
            for (m, g) in gathers.iter().enumerate() {
                let w = self.place(g);
                let size = self.u.types.const_size(g.ty).unwrap_or(1);
                self.out.put(&format!(
                    " {{ const {PLACE} {HERE_PLACE} = {w}; {START}({}, {x}, (unsigned){HERE_PLACE}.t, {HERE_PLACE}.o, {size}); }}",
                    m + runs.len()
                ));
            }
            self.out.put(&format!(" }} {var} = {saved};"));
        }
        self.out.put(&format!(" {MOVED}(); }}"));
    }

    /// The argument that says how to transfer.
    fn how(&self, fetch: bool) -> u32 {
        u32::from(fetch)
            | if self.passes.split_phase { 0 } else { 2 }
            | if self.passes.coalesce { 0 } else { 4 }
    }

    /// Opens the loop over strips: what they begin at, and the text of a strip's iterations.
    pub(super) fn open_strips(&mut self, strip: u64, count: &str, chunk: u64, n: u32) -> (String, String) {
        let (f, e) = (local("f", n), local("e", n));
        self.out.put(&format!(
            " for (long {f} = 0; {f} < {count}; {f} += {strip}) {{ \
             const long {e} = ({count} - {f} < {strip} ? {count} - {f} : {strip}) & -{chunk}l;"
        ));
        (f, e)
    }

    /// Has what lies a strip ahead of the pointer fetched.
    pub(super) fn touch(&mut self, p: &str) {
        self.out.put(&format!(" {TOUCH}({p}, {PAGE});"));
    }

    /// The first of two loops, whose number of iterations is seen to be a multiple; the iteration that the
    /// other begins with. `slots`: the pointers of the runs.
    fn in_vectors(
        &mut self,
        v: &Vectors,
        slots: &[usize],
        each: &Iterations<'_>,
        c: &Counter,
        body: &Code<'_>,
        n: u32,
    ) -> String {
        let decl = self.u.decl(each.var);
        let (var, t) = (self.u.name(decl.name).to_string(), self.ctype_plain(decl.ty, ""));
        let (j, end) = (local("j", n), local("c", n));
        self.out.put(&format!(" const long {end} = {} & -{}l;", local("n", n), v.chunk));
        let keep = self.pointers.clone();
        if let Some(k) = &c.own {
            for (m, p) in self.pointers.along(k) {
                let q = format!("{p}v{n}");
                self.out.put(&format!(" __typeof__(&*{p}) {q} = {p} + {k};"));
                self.pointers.set(m, q, &j);
            }
        }
        let next = if v.counted { format!(", {}", self.advance(each, None)) } else { String::new() };
        let count = match v.strip {
            Some(strip) => {
                let (f, e) = self.open_strips(strip, &end, v.chunk, n);
                for (m, p) in self.pointers.along(&j) {
                    let q = format!("{p}f");
                    self.out.put(&format!(" __typeof__(&*{p}) {q} = {p} + {f};"));
                    if !v.close.iter().any(|&run| slots[run] == m) {
                        self.touch(&q);
                    }
                    self.pointers.set(m, q, &j);
                }
                e
            }
            None => end.clone(),
        };
        self.out.put(&format!(" _Pragma(\"GCC ivdep\") for (long {j} = 0; {j} < {count}; {j}++{next})"));
        self.stmt(body);
        if v.strip.is_some() {
            self.out.put(" }");
        }
        self.pointers = keep;
        if let Some(k) = &c.own {
            self.out.put(&format!(" {k} += {end};"));
        }
        if !v.counted {
            let step = match each.step {
                CountStep::One => String::new(),
                CountStep::Threads => format!(" * (long){THREADS_LONG}"),
            };
            self.out.put(&format!(" {var} = ({t})({var} + {end}{step});"));
        }
        end
    }
}

fn run_args(run: &Run<'_>, m: usize, step: CountStep, n: u32) -> String {
    let b = if step == CountStep::Threads { 0 } else { run.spread.block };
    let (w, length) = (nth("w", n, m), local("n", n));
    format!("{m}, (unsigned){w}.t, {w}.o, {w}.ph, {length}, {b}, {}", run.spread.size)
}

/// The statements that end a stretch where a block of one of its runs ends.
fn limits(each: &Iterations<'_>, runs: &[Run<'_>], n: u32) -> String {
    let length = local("n", n);
    let mut limits = String::new();
    for (m, run) in runs.iter().enumerate().filter(|(_, r)| r.spread.block > 1 && each.step == CountStep::One)
    {
        let (b, w) = (run.spread.block, nth("w", n, m));
        limits.push_str(&format!(" if ({length} > (long)({b} - {w}.ph)) {length} = (long)({b} - {w}.ph);"));
    }
    limits
}
