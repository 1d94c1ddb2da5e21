//! `upc_forall` loops that visit the thread's own elements only.
//!
//! Of the elements that a loop `upc_forall (i = lo; i < hi; i++; &a[i + c])` counts through, the first has a thread t and a
//! phase; from these alone follows which of the others are one's own: blocks of B elements, the first of them
//! `((me - t) mod THREADS) * B - phase` elements away (negative: the count begins inside it), then every B * THREADS elements.
//! In memory one's own blocks follow each other.
//!
//! Three forms, chosen by what the body does:
//! - the loop variable is only used as the index of own elements: one loop over consecutive memory, in a form that C compilers
//!   vectorise ([`Emitter::in_vectors`]);
//! - block size 1, or integer affinity: every THREADS-th value of the loop variable;
//! - otherwise: a loop over blocks and one inside them.
//!
//! The last two go through `stream` for elements that are not the thread's own, such as a neighbour's.
//!
//! All this is for the case that no `upc_forall` encloses the loop, as the program runs; the other is emitted too, compactly.

use super::stream::{Runs, Step};
use super::{Count, Element, Facts, breaks, names};
use crate::ast::{Affinity, BinOp, Conv, DeclId, Expr, ExprKind, ForInit, Forall, UnOp};
use crate::emit::{Emitter, walk};

/// A multiple of the elements in a vector.
const CHUNK: u32 = 16;
/// Bodies of fewer tokens than this may be emitted once more.
const SHORT_BODY: u32 = 120;

/// Whose iteration it is.
enum Owner<'a> {
    /// That of this element.
    Element(Box<Element>, &'a Expr),
    /// That of an element in a row of so many, the rows counted by the variable: blocks are whole numbers of rows.
    Row { place: &'a Expr, row: u64, rows: u64 },
    /// Thread `e mod THREADS`.
    Number(&'a Expr),
}

impl Emitter<'_> {
    /// The affinity, if it counts along with the loop variable.
    fn owner<'f>(&self, a: &'f Affinity, var: DeclId, facts: &Facts) -> Option<Owner<'f>> {
        match a {
            Affinity::Always => None,
            Affinity::Int(e) => {
                self.affine(e, var, facts).filter(|a| a.factor == 1)?;
                Some(Owner::Number(e))
            }
            Affinity::Pts(e) => {
                let mut e = e.unparen();
                while let ExprKind::Implicit { conv: Conv::PtsToPts { .. }, expr } = &e.kind {
                    e = expr.unparen();
                }
                match &e.kind {
                    ExprKind::Unary { op: UnOp::AddrOf, expr } => {
                        let place = expr.unparen();
                        let Some(el) = self.element(place, var, facts) else {
                            return self.row(place, var, facts);
                        };
                        (el.block > 0).then(|| Owner::Element(Box::new(el), place))
                    }
                    ExprKind::Binary { op: BinOp::Add, lhs, rhs } => {
                        let (p, i) = if self.u.types.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
                        let el = self.pointed(p, i, var, facts)?;
                        (el.block > 0).then(|| Owner::Element(Box::new(el), e))
                    }
                    _ => None,
                }
            }
        }
    }

    /// An element of row `var` of a declared array, always at the same place of the row.
    fn row<'f>(&self, place: &'f Expr, var: DeclId, facts: &Facts) -> Option<Owner<'f>> {
        let t = &self.u.types;
        let (mut at, mut column, mut row) = (place, 0, None);
        loop {
            let ExprKind::Index { base, index } = &at.unparen().kind else { return None };
            let pointee = t.pointee(base.ty)?;
            let count = t.const_size(pointee)? / self.pts_params(base.ty).1.max(1);
            match (row, names(index, var)) {
                (None, false) => column += u64::try_from(index.int()?).ok()? * count,
                (None, true) => {
                    self.affine(index, var, facts).filter(|a| a.factor == 1)?;
                    row = Some(count);
                }
                // Rows of rows.
                (Some(_), names) => {
                    if names || !self.invariant(index, facts) {
                        return None;
                    }
                }
            }
            if self.declared_array(base).is_some() {
                let (row, (block, _)) = (row?, self.pts_params(base.ty));
                let whole = row > 0 && block > 0 && block % row == 0 && column < row;
                return whole.then_some(Owner::Row { place, row, rows: block / row });
            }
            let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind else {
                return None;
            };
            at = expr;
        }
    }

    /// Emits a `upc_forall` in a faster form, if one is known to be right; else says why not.
    pub fn forall_optimised(&mut self, f: &Forall) -> Result<(), &'static str> {
        if !self.passes.forall || self.compact {
            return Err("such loops are left alone (-noopt or -fno-upc-...)");
        }
        if matches!(f.affinity, Affinity::Always) {
            return Err("the upc_forall has no affinity");
        }
        if self.in_forall > 0 {
            return Err("the upc_forall is inside another");
        }
        let c =
            self.count(f.cond.as_deref(), f.step.as_deref()).ok_or("the loop does not count up by one")?;
        let facts = Facts::of(&f.body, self.u);
        let declared = match &f.init {
            ForInit::Decl(d) => {
                if d.has_upc || d.declarators.len() != 1 || d.declarators[0].decl != c.var {
                    return Err("the loop declares more than its variable");
                }
                true
            }
            _ => false,
        };
        if facts.labels || breaks(&f.body) {
            return Err("the loop may end early");
        }
        if !self.counts(c.var, &facts) {
            return Err("the loop variable may change in the loop");
        }
        if !self.invariant(c.hi, &facts) || names(c.hi, c.var) {
            return Err("the bound may change in the loop");
        }
        let owner = self.owner(&f.affinity, c.var, &facts);
        let owner = owner.ok_or("the affinity does not run along with the loop variable")?;
        self.emit_own(f, &c, &owner, &facts, declared);
        Ok(())
    }

    fn emit_own(&mut self, f: &Forall, c: &Count, owner: &Owner, facts: &Facts, declared: bool) {
        let u = self.u;
        let n = self.next_number();
        let var = u.name(u.decl(c.var).name).to_string();
        self.out.put("{ ");
        match &f.init {
            ForInit::Decl(d) if declared => {
                let text = self.verbatim(d.toks);
                self.out.put(&format!("{text} "));
            }
            ForInit::Expr(e) => {
                let text = self.discard(e);
                self.out.put(&format!("{text}; "));
            }
            _ => {}
        }
        let hi = self.bound(c);
        let nest = crate::emit::may_nest(&f.body, u);
        self.out.put(&format!(
            "const long __upc_lo{n} = (long){var}, __upc_hi{n} = {hi}; if (__UPC_LIKELY(__upc_forall_depth == 0"
        ));
        if let Owner::Number(e) = owner {
            // Numbers below zero have no owner.
            let a = self.rv(e).p(11);
            self.out.put(&format!(" && {a} >= 0"));
        }
        self.out.put(&format!(")) {{ if (__upc_lo{n} < __upc_hi{n}) {{"));
        if nest {
            let saved = self.fresh("forall");
            // Only a jump could leave the loop without coming by its end.
            let restore = if facts.returns { " __attribute__((__cleanup__(__upc_forall_end)))" } else { "" };
            self.out.put(&format!(" const int {saved}{restore} = 0; __upc_forall_depth = 1;"));
        }
        let keep = self.local.clone();
        self.in_forall += 1;
        self.loops.push("");
        match owner {
            Owner::Number(e) => {
                let a = self.rv(e).p(14);
                let (d, t) = (format!("__upc_d{n}"), self.ctype_plain(u.decl(c.var).ty, ""));
                self.out.put(&format!(
                    " const long {d} = __upc_turns((long){a}); {var} = ({t})(__upc_lo{n} + {d}); \
                     const long __upc_m{n} = __upc_share(__upc_hi{n} - __upc_lo{n} - {d});"
                ));
                self.runs(
                    Runs { var: c.var, left: format!("__upc_m{n}"), step: Step::Threads, own: None },
                    &f.body,
                    facts,
                );
            }
            Owner::Row { place, row, rows } => {
                let at = self.place(place);
                self.out.put(&format!(
                    " const struct __upc_w __upc_a{n} = __upc_row({at}, {row}); const long __upc_n{n} = __upc_hi{n} - __upc_lo{n};"
                ));
                self.blocks(f, c, *rows, (&[], None), facts, n);
            }
            Owner::Element(el, place) => self.own_elements(f, c, (el, place), facts, n),
        }
        self.loops.pop();
        self.in_forall -= 1;
        self.local = keep;
        if nest {
            self.out.put(" __upc_forall_depth = 0;");
        }
        self.out.put(&format!(" {var} = __upc_hi{n}; }} }} else"));
        self.in_forall += 1;
        let compact = std::mem::replace(&mut self.compact, true);
        self.forall_plain(f, true);
        self.compact = compact;
        self.in_forall -= 1;
        self.out.put(" }");
    }

    fn own_elements(&mut self, f: &Forall, c: &Count, (el, place): (&Element, &Expr), facts: &Facts, n: u32) {
        let u = self.u;
        let b = el.block;
        // Accesses to elements that are one's own whenever the iteration is.
        let mut own: Vec<(Element, Vec<&Expr>)> = Vec::new();
        let (mut named, mut indices) = (0, 0);
        let mut memory = false;
        walk::stmt(&f.body, &mut |_| {}, &mut |e| match &e.kind {
            ExprKind::Name(d) if *d == c.var => named += 1,
            ExprKind::Name(d) => {
                let ty = u.decl(*d).ty;
                memory |= u.types.is_shared(ty) && !u.types.is_array(ty);
            }
            ExprKind::Index { base, .. } => match self.element(e, c.var, facts) {
                Some(x) if beside(&x, el) && self.passes.privatise => {
                    indices += 1;
                    match own.iter_mut().find(|(o, _)| o.key == x.key) {
                        Some((_, list)) => list.push(e),
                        None => own.push((x, vec![e])),
                    }
                }
                _ => memory |= !super::is_array(base),
            },
            ExprKind::Unary { op: UnOp::Deref, .. } | ExprKind::Member { arrow: true, .. } => memory = true,
            // An address needs the loop variable.
            ExprKind::Unary { op: UnOp::AddrOf, expr } if u.types.is_shared(expr.ty) => named += 1,
            _ => {}
        });
        // Iterations do not depend on each other through memory: declared arrays are distinct, and nothing else is touched.
        let independent = !facts.calls
            && !memory
            && !facts.private_stores
            && facts.assigned.iter().all(|d| self.private_scalar(*d))
            && own.iter().all(|(o, _)| o.array.is_some() && o.key.outer.is_empty());
        let w = format!("__upc_a{n}");
        let at = match &place.kind {
            ExprKind::Index { .. } => self.place(place),
            _ => self.pplace(place),
        };
        self.out.put(&format!(
            " const struct __upc_w {w} = {at}; const long __upc_n{n} = __upc_hi{n} - __upc_lo{n};"
        ));
        let only_index = named == indices && el.array.is_some() && el.key.outer.is_empty();
        if self.passes.vector
            && only_index
            && independent
            && !own.is_empty()
            && f.body.toks.end - f.body.toks.start < SHORT_BODY
        {
            self.in_vectors(f, &own, n, b);
            return;
        }
        self.blocks(f, c, b, (&own, Some(el)), facts, n);
    }

    /// The thread's own elements (or rows) block by block, `b` to a block.
    fn blocks(
        &mut self,
        f: &Forall,
        c: &Count,
        b: u64,
        (own, el): (&[(Element, Vec<&Expr>)], Option<&Element>),
        facts: &Facts,
        n: u32,
    ) {
        let u = self.u;
        let (var, w) = (u.name(u.decl(c.var).name).to_string(), format!("__upc_a{n}"));
        let t = self.ctype_plain(u.decl(c.var).ty, "");
        let k = format!("__upc_k{n}");
        self.out.put(&format!(" long __upc_s{n} = __upc_first({w}, {b});"));
        for (m, (o, list)) in own.iter().enumerate() {
            let p = format!("__upc_p{n}_{m}");
            let ty = self.access_type(o.ty);
            let at = if el.is_some_and(|e| o.key == e.key) { w.clone() } else { self.place(list[0]) };
            self.out.put(&format!(" {ty} *{p} = ({ty} *)__upc_own({at}, {b}, {});", o.size));
            let to = self.local.add(p, &k);
            list.iter().for_each(|e| self.local.bind(e, to));
        }
        let runs =
            Runs { var: c.var, left: format!("__upc_m{n}"), step: Step::Threads, own: Some(k.clone()) };
        if b == 1 {
            self.out.put(&format!(
                " {var} = ({t})(__upc_lo{n} + __upc_s{n}); const long __upc_m{n} = __upc_share(__upc_n{n} - __upc_s{n}); long {k} = 0;"
            ));
            self.runs(runs, &f.body, facts);
            return;
        }
        self.out.put(&format!(
            " for (; __upc_s{n} < __upc_n{n}; __upc_s{n} += {b}l * (long)__UPC_T) {{ long {k} = __upc_s{n} < 0 ? -__upc_s{n} : 0; \
             const long __upc_m{n} = (__upc_n{n} - __upc_s{n} < {b}l ? __upc_n{n} - __upc_s{n} : {b}l) - {k}; \
             {var} = ({t})(__upc_lo{n} + __upc_s{n} + {k});"
        ));
        self.runs(Runs { step: Step::One, ..runs }, &f.body, facts);
        for m in 0..own.len() {
            self.out.put(&format!(" __upc_p{n}_{m} += {b};"));
        }
        self.out.put(" }");
    }

    /// The loop in two parts that take turns: single iterations up to an aligned index and at the end, and between them a number
    /// of iterations that is seen to be a multiple of every vector's length, over aligned memory. That is what a C compiler
    /// vectorises at `-O2`.
    fn in_vectors(&mut self, f: &Forall, own: &[(Element, Vec<&Expr>)], n: u32, b: u64) {
        let (k, end, j) = (format!("__upc_k{n}"), format!("__upc_end{n}"), format!("__upc_j{n}"));
        let (most, stop) = (format!("__upc_m{n}"), format!("__upc_stop{n}"));
        // All arrays are alike: index k in the local part of the one is index k in that of the others.
        let first = own.first().and_then(|(o, _)| o.array).map(|d| self.shared_alias(d)).unwrap_or_default();
        let at = self.place(own[0].1[0]);
        self.out.put(&format!(
            " const long __upc_s{n} = __upc_first(__upc_a{n}, {b}); long {k} = (long)(__upc_own({at}, {b}, {size_0}) - \
             __upc_mine({first}.offset)) / {size_0}l + (__upc_s{n} < 0 ? -__upc_s{n} : 0); \
             const long {end} = {k} + __upc_owned(__upc_s{n}, __upc_n{n}, {b});",
            size_0 = own[0].0.size
        ));
        let mut pointers = Vec::new();
        for (m, (o, list)) in own.iter().enumerate() {
            let p = format!("__upc_p{n}_{m}");
            let ty = self.access_type(o.ty);
            let a = o.array.map(|d| self.shared_alias(d)).unwrap_or_default();
            self.out.put(&format!(" {ty} *const {p} = ({ty} *)__upc_mine({a}.offset);"));
            let to = self.local.add(p.clone(), &k);
            list.iter().for_each(|e| self.local.bind(e, to));
            pointers.push((to, p, o.size));
        }
        self.out.put(&format!(
            " while ({k} < {end}) {{ long {stop} = ({k} + {0}) & -{CHUNK}l; if ({end} - {stop} < {CHUNK}) {stop} = {end}; \
             for (; {k} < {stop}; {k}++)",
            CHUNK - 1
        ));
        self.stmt(&f.body);
        self.out.put(&format!(" const long {most} = ({end} - {k}) & -{CHUNK}l;"));
        let strip = self.strip(own.iter().map(|(o, _)| o));
        let (from, count) = match strip {
            Some(strip) => {
                let (f, e) = self.open_strips(strip, &most, u64::from(CHUNK), n);
                (format!("{k} + {f}"), e)
            }
            None => (k.clone(), most.clone()),
        };
        for (to, p, size) in &pointers {
            let q = format!("{p}q");
            let align =
                1u64 << (size * u64::from(CHUNK)).trailing_zeros().min(super::ARRAY_ALIGN.trailing_zeros());
            self.out.put(&format!(
                " __typeof__({p}) {q} = (__typeof__({p}))__builtin_assume_aligned({p} + {from}, {align});"
            ));
            if strip.is_some() {
                self.touch(&q);
            }
            self.local.refs[*to] = (q, j.clone());
        }
        self.out.put(&format!(" _Pragma(\"GCC ivdep\") for (long {j} = 0; {j} < {count}; {j}++)"));
        self.stmt(&f.body);
        if strip.is_some() {
            self.out.put(" }");
        }
        self.out.put(&format!(" {k} += {most}; }}"));
    }
}

/// Whether `x` is on the thread of `el` in every iteration, at the same place of its block.
fn beside(x: &Element, el: &Element) -> bool {
    x.block == el.block
        && x.key.index == el.key.index
        && (x.key == el.key
            || x.array.is_some() && el.array.is_some() && x.key.outer.is_empty() && el.key.outer.is_empty())
}

impl Emitter<'_> {
    /// The first number that the loop variable does not reach, as `long`.
    pub(super) fn bound(&mut self, c: &Count) -> String {
        let hi = self.rv(c.hi).p(14);
        let t = self.ctype_plain(c.compared, "");
        let plus = if c.inclusive { " + 1" } else { "" };
        format!("(long)({t}){hi}{plus}")
    }
}
