//! `upc_forall`.

use super::Emitter;
use super::abi::{
    FIRST, FORALL_DEPTH, FORALL_RESTORED, LIKELY, MINE, OWN, OWNED, PLACE, ROW, SHARE, THREADS_LONG, TURNS,
    local, nth,
};
use super::stretches::Counter;
use crate::front::ast::{Affinity, ForInit, Forall};
use crate::ir::{Blocks, Code, Count, Memory, OwnIterations, Share};
use crate::lower;

/// A multiple of the elements in a vector.
const CHUNK: u32 = 16;

impl Emitter<'_> {
    /// The loop through the thread's own elements, and for the case that a `upc_forall` encloses it, the one
    /// that tests each.
    pub(super) fn share(&mut self, share: &Share<'_>) {
        let u = self.u;
        let n = self.next_number();
        let c = &share.count;
        let var = u.name(u.decl(c.var).name).to_string();
        self.out.put("{ ");
        match &share.forall.init {
            ForInit::Decl(d) => {
                let text = self.verbatim(d.toks);
                self.out.put(&format!("{text} "));
            }
            ForInit::Expr(e) => {
                let text = self.discard(e);
                self.out.put(&format!("{text}; "));
            }
            ForInit::None => {}
        }
        let bound = self.bound(c);
        let (lo, hi) = (local("lo", n), local("hi", n));
        self.out
            .put(&format!("const long {lo} = (long){var}, {hi} = {bound}; if ({LIKELY}({FORALL_DEPTH} == 0"));
        if let OwnIterations::Turns(e, _) = &share.own {
            // Numbers below zero have no owner.
            let a = self.rv(e).p(11);
            self.out.put(&format!(" && {a} >= 0"));
        }
        self.out.put(&format!(")) {{ if ({lo} < {hi}) {{"));
        if share.nests {
            let saved = self.fresh("forall");
            // Only a jump could leave the loop without coming by its end.
            let restore = if share.returns { FORALL_RESTORED } else { "" };
            self.out.put(&format!(" const int {saved}{restore} = 0; {FORALL_DEPTH} = 1;"));
        }
        self.loops.push("");
        let keep = self.pointers.clone();
        match &share.own {
            OwnIterations::Turns(e, each) => {
                let a = self.rv(e).p(14);
                let (d, left, t) = (local("d", n), local("m", n), self.ctype_plain(u.decl(c.var).ty, ""));
                self.out.put(&format!(
                    " const long {d} = {TURNS}((long){a}); {var} = ({t})({lo} + {d}); \
                     const long {left} = {SHARE}({hi} - {lo} - {d});"
                ));
                self.iterations(each, &Counter { left, own: None });
            }
            OwnIterations::Rows { at, row, blocks } => {
                let at = self.at_place(at);
                self.counted_from(&format!("{ROW}({at}, {row})"), n);
                self.blocks(c, blocks, n);
            }
            OwnIterations::Blocks(at, blocks) => {
                let at = self.at_place(at);
                self.counted_from(&at.to_string(), n);
                self.blocks(c, blocks, n);
            }
            OwnIterations::Memory(at, memory) => {
                let at = self.at_place(at);
                self.counted_from(&at.to_string(), n);
                self.memory(memory, n);
            }
        }
        self.loops.pop();
        self.pointers = keep;
        if share.nests {
            self.out.put(&format!(" {FORALL_DEPTH} = 0;"));
        }
        self.out.put(&format!(" {var} = {hi}; }} }} else"));
        let around = std::mem::replace(&mut self.context, share.rare.context.clone());
        self.forall(share.forall, &share.rare, true);
        self.context = around;
        self.out.put(" }");
    }

    /// Where the elements of all threads begin, and how many iterations there are.
    fn counted_from(&mut self, at: &str, n: u32) {
        let (from, total, lo, hi) = (local("a", n), local("n", n), local("lo", n), local("hi", n));
        self.out.put(&format!(" const {PLACE} {from} = {at}; const long {total} = {hi} - {lo};"));
    }

    /// The thread's own elements (or rows) block by block.
    fn blocks(&mut self, c: &Count<'_>, blocks: &Blocks<'_>, n: u32) {
        let u = self.u;
        let b = blocks.block;
        let (var, w) = (u.name(u.decl(c.var).name).to_string(), local("a", n));
        let t = self.ctype_plain(u.decl(c.var).ty, "");
        let (lo, total, start) = (local("lo", n), local("n", n), local("s", n));
        let (left, k) = (local("m", n), local("k", n));
        self.out.put(&format!(" long {start} = {FIRST}({w}, {b});"));
        for (m, o) in blocks.elements.iter().enumerate() {
            let p = nth("p", n, m);
            let ty = self.access_type(o.ty);
            let at = o.at.as_ref().map_or_else(|| w.clone(), |at| self.at_place(at).to_string());
            self.out.put(&format!(" {ty} *{p} = ({ty} *){OWN}({at}, {b}, {});", o.size));
            self.pointers.add(&o.nodes, p, &k);
        }
        let counter = Counter { left: left.clone(), own: Some(k.clone()) };
        if b == 1 {
            self.out.put(&format!(
                " {var} = ({t})({lo} + {start}); const long {left} = {SHARE}({total} - {start}); long {k} = 0;"
            ));
            self.iterations(&blocks.each, &counter);
        } else {
            self.out.put(&format!(
                " for (; {start} < {total}; {start} += {b}l * (long){THREADS_LONG}) {{ long {k} = {start} < 0 ? -{start} : 0; \
                 const long {left} = ({total} - {start} < {b}l ? {total} - {start} : {b}l) - {k}; \
                 {var} = ({t})({lo} + {start} + {k});"
            ));
            self.iterations(&blocks.each, &counter);
            for m in 0..blocks.elements.len() {
                self.out.put(&format!(" {} += {b};", nth("p", n, m)));
            }
            self.out.put(" }");
        }
    }

    /// The loop in two parts that take turns: single iterations up to an aligned index and at the end, and
    /// between them a number of iterations that is seen to be a multiple of every vector's length, over
    /// aligned memory. That is what a C compiler vectorises at `-O2`.
    fn memory(&mut self, memory: &Memory<'_>, n: u32) {
        let b = memory.block;
        let (k, end, j) = (local("k", n), local("end", n), local("j", n));
        let (most, stop) = (local("m", n), local("stop", n));
        let (from, total, start) = (local("a", n), local("n", n), local("s", n));
        let own = &memory.elements;
        // All arrays are alike: index k in the local part of the one is index k in that of the others.
        let first = own[0].array.map(|d| self.shared_alias(d)).unwrap_or_default();
        let at = own[0].at.as_ref().map(|at| self.at_place(at).to_string()).unwrap_or_default();
        self.out.put(&format!(
            " const long {start} = {FIRST}({from}, {b}); long {k} = (long)({OWN}({at}, {b}, {size_0}) - \
             {MINE}({first}.offset)) / {size_0}l + ({start} < 0 ? -{start} : 0); \
             const long {end} = {k} + {OWNED}({start}, {total}, {b});",
            size_0 = own[0].size
        ));
        let mut pointers = Vec::new();
        for (m, o) in own.iter().enumerate() {
            let p = nth("p", n, m);
            let ty = self.access_type(o.ty);
            let a = o.array.map(|d| self.shared_alias(d)).unwrap_or_default();
            self.out.put(&format!(" {ty} *const {p} = ({ty} *){MINE}({a}.offset);"));
            pointers.push((self.pointers.add(&o.nodes, p.clone(), &k), p, o.size));
        }
        self.out.put(&format!(
            " while ({k} < {end}) {{ long {stop} = ({k} + {0}) & -{CHUNK}l; if ({end} - {stop} < {CHUNK}) {stop} = {end}; \
             for (; {k} < {stop}; {k}++)",
            CHUNK - 1
        ));
        self.stmt(&memory.body);
        self.out.put(&format!(" const long {most} = ({end} - {k}) & -{CHUNK}l;"));
        let (from, count) = match memory.strip {
            Some(strip) => {
                let (f, e) = self.open_strips(strip, &most, u64::from(CHUNK), n);
                (format!("{k} + {f}"), e)
            }
            None => (k.clone(), most.clone()),
        };
        for (at, p, size) in pointers {
            let q = format!("{p}q");
            let align =
                1u64 << (size * u64::from(CHUNK)).trailing_zeros().min(super::ARRAY_ALIGN.trailing_zeros());
            self.out.put(&format!(
                " __typeof__({p}) {q} = (__typeof__({p}))__builtin_assume_aligned({p} + {from}, {align});"
            ));
            if memory.strip.is_some() {
                self.touch(&q);
            }
            self.pointers.set(at, q, &j);
        }
        self.out.put(&format!(" _Pragma(\"GCC ivdep\") for (long {j} = 0; {j} < {count}; {j}++)"));
        self.stmt(&memory.body);
        if memory.strip.is_some() {
            self.out.put(" }");
        }
        self.out.put(&format!(" {k} += {most}; }}"));
    }

    /// A `upc_forall` that tests each iteration. `started`: the first clause has been done already.
    pub(super) fn forall(&mut self, f: &Forall, body: &Code<'_>, started: bool) {
        let saved = self.fresh("forall");
        let wrapped = !started && self.for_init(&f.init);
        let controls = !matches!(f.affinity, Affinity::Always);
        let calls = controls && lower::may_nest(&f.body, self.u);
        if controls {
            let restore = if calls { FORALL_RESTORED } else { "" };
            self.out.put(&format!(" {{ const int {saved}{restore} = {FORALL_DEPTH}; "));
        }
        let i = if wrapped || started { String::new() } else { self.for_init_text(&f.init) };
        let c = f.cond.as_ref().map_or(String::new(), |c| self.cond(c).s);
        let mut t = f.step.as_ref().map_or(String::new(), |t| self.discard(t));
        if calls {
            let reset = format!("{FORALL_DEPTH} = {saved}");
            t = if t.is_empty() { reset } else { format!("{reset}, {t}") };
        }
        self.out.put(&format!("for ({i}; {c}; {t})"));
        if controls {
            let mine = self.turn(f);
            self.out.put(&format!(" if ({mine} | {saved} != 0)"));
            self.controlled(body, calls);
        } else {
            self.stmt(body);
        }
        if controls {
            self.out.put(" }");
        }
        if wrapped {
            self.out.put(" }");
        }
    }

    fn controlled(&mut self, body: &Code<'_>, calls: bool) {
        if calls {
            self.out.put(&format!(" {{ {FORALL_DEPTH} = 1;"));
        }
        self.stmt(body);
        if calls {
            self.out.put(" }");
        }
    }

    /// The first number that the loop variable does not reach, as `long`.
    pub(super) fn bound(&mut self, c: &Count<'_>) -> String {
        let hi = self.rv(c.bound).p(14);
        let t = self.ctype_plain(c.compared, "");
        let plus = if c.inclusive { " + 1" } else { "" };
        format!("(long)({t}){hi}{plus}")
    }
}
