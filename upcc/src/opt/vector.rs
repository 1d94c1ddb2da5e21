//! Loops over runs of elements, in a form that C compilers vectorise.
//!
//! At `-O2` compilers vectorise a loop only if the vectors take its place altogether: the number of iterations is a multiple of
//! their length, and nothing has to be tested at run time. So a stretch is computed in two loops, the first of which has a
//! number of iterations that is seen to be such a multiple, and says that its iterations do not depend on each other. UPC knows
//! that where C does not: shared arrays with different names are different memory.

use super::stream::{Own, Runs, Step, Stream};
use super::{Element, Facts, names};
use crate::ast::{DeclId, Expr, ExprKind, Stmt};
use crate::emit::{Emitter, walk};
use crate::types::TypeId;

/// Loop bodies of more tokens are not emitted once more.
const SHORT_BODY: u32 = 120;
/// Bytes in the longest vectors.
const VECTOR: u64 = 64;
/// Fewest iterations that are done together.
const FEWEST: u64 = 8;
/// Bytes in a strip.
const PAGE: u64 = 4096;
/// Arrays with more bytes than this on a thread are likely in memory.
const LARGE: u64 = 8 << 20;

/// How a loop is computed in vectors.
#[derive(Debug)]
pub(super) struct Vectors {
    /// The multiple: elements of the smallest type in a vector.
    chunk: u64,
    /// The loop variable is used as such, not only to find the elements.
    counted: bool,
    /// In strips of so many elements.
    strip: Option<u64>,
    /// Runs so close to another that they are in its pages, or with block size 1 in those of the next thread: touching these too
    /// costs more than it brings.
    close: Vec<usize>,
}

impl Emitter<'_> {
    /// Whether iterations over the runs and the thread's own elements, which are all that the body accesses but for automatic
    /// variables, do not depend on each other.
    pub(super) fn vectors(
        &self,
        body: &Stmt,
        var: DeclId,
        streams: &[Stream],
        own: &[Own],
        facts: &Facts,
    ) -> Option<Vectors> {
        let t = &self.u.types;
        let all = || {
            let runs = streams.iter().map(|s| (&s.element, s.writes));
            runs.chain(own.iter().filter_map(|(_, o, w)| o.as_ref().map(|o| (o, *w))))
        };
        if !(self.passes.privatise && self.passes.vector)
            || body.toks.end - body.toks.start > SHORT_BODY
            || facts.calls
            || facts.private_stores
            || own.iter().any(|(_, o, _)| o.is_none())
        {
            return None;
        }
        // What is written is no other element of what is accessed.
        let mut writes = false;
        for (w, _) in all().filter(|(_, written)| *written) {
            let array = w.array?;
            if all().any(|(x, _)| x.key != w.key && x.array.is_none_or(|a| a == array)) {
                return None;
            }
            writes = true;
        }
        // Sums are not reordered, so a sum of floating type goes one by one anyway.
        let whole = |d: &DeclId| {
            facts.declared.contains(d) || self.private_scalar(*d) && t.is_integer(self.u.decl(*d).ty)
        };
        let scalar = |ty: TypeId| t.as_scalar(ty).is_some() && t.const_size(ty).is_some_and(|n| n <= 8);
        if !writes || !facts.assigned.iter().all(whole) || !all().all(|(x, _)| scalar(x.ty)) {
            return None;
        }
        let least = all().map(|(x, _)| x.size).min()?;
        // Names of the variable elsewhere than in an index that goes along.
        let (mut named, mut along) = (0, 0);
        let nodes: Vec<*const Expr> = streams
            .iter()
            .flat_map(|s| &s.nodes)
            .chain(own.iter().map(|o| &o.0))
            .map(|e| std::ptr::from_ref(*e))
            .collect();
        walk::stmt(body, &mut |_| {}, &mut |e| match &e.kind {
            ExprKind::Name(d) if *d == var => named += 1,
            ExprKind::Index { .. } if nodes.contains(&std::ptr::from_ref(e)) => {
                along += usize::from(names(e, var));
            }
            _ => {}
        });
        let chunk = (VECTOR / least.max(1)).max(FEWEST);
        let strip = self.strip(all().map(|(x, _)| x));
        let mut close = Vec::new();
        for (m, s) in streams.iter().enumerate() {
            let same = |x: &&Stream| {
                let (a, b) = (&x.element.key, &s.element.key);
                let gap = (a.index.constant - b.index.constant).unsigned_abs() * u128::from(s.element.size);
                (&a.base, &a.outer, &a.index.rest) == (&b.base, &b.outer, &b.index.rest)
                    && gap < u128::from(VECTOR)
            };
            if streams[..m].iter().any(|x| same(&x)) {
                close.push(m);
            }
        }
        Some(Vectors { chunk, counted: named != along, strip, close })
    }

    /// Elements in a strip, if these are of arrays that no cache holds.
    pub(super) fn strip<'a>(&self, elements: impl Iterator<Item = &'a Element> + Clone) -> Option<u64> {
        let bytes =
            elements.clone().filter_map(|x| x.array).map(|d| self.bytes_per_thread(self.u.decl(d).ty));
        let least = elements.map(|x| x.size).min()?;
        (bytes.max()? > LARGE).then_some(PAGE / least.max(1))
    }

    /// Opens the loop over strips: what they begin at, and the text of a strip's iterations.
    pub(super) fn open_strips(&mut self, strip: u64, count: &str, chunk: u64, n: u32) -> (String, String) {
        let (f, e) = (format!("__upc_f{n}"), format!("__upc_e{n}"));
        self.out.put(&format!(
            " for (long {f} = 0; {f} < {count}; {f} += {strip}) {{ \
             const long {e} = ({count} - {f} < {strip} ? {count} - {f} : {strip}) & -{chunk}l;"
        ));
        (f, e)
    }

    /// Has what lies a strip ahead of the pointer fetched.
    pub(super) fn touch(&mut self, p: &str) {
        self.out.put(&format!(" __upc_touch({p}, {PAGE});"));
    }

    /// Emits the first of the two loops; the iteration that the other begins with.
    pub(super) fn in_vectors_of(&mut self, v: &Vectors, r: &Runs, body: &Stmt, n: u32) -> String {
        let decl = self.u.decl(r.var);
        let (var, t) = (self.u.name(decl.name).to_string(), self.ctype_plain(decl.ty, ""));
        let (j, end) = (format!("__upc_j{n}"), format!("__upc_c{n}"));
        self.out.put(&format!(" const long {end} = __upc_n{n} & -{}l;", v.chunk));
        let keep = self.local.clone();
        if let Some(k) = &r.own {
            for (m, (p, _)) in self.local.along(k) {
                let q = format!("{p}v{n}");
                self.out.put(&format!(" __typeof__(&*{p}) {q} = {p} + {k};"));
                self.local.refs[m] = (q, j.clone());
            }
        }
        let next = match (v.counted, r.step) {
            (false, _) => String::new(),
            (true, _) => format!(", {}", self.advance(&Runs { own: None, left: String::new(), ..*r })),
        };
        let count = match v.strip {
            Some(strip) => {
                let (f, e) = self.open_strips(strip, &end, v.chunk, n);
                for (m, (p, _)) in self.local.along(&j) {
                    let q = format!("{p}f");
                    self.out.put(&format!(" __typeof__(&*{p}) {q} = {p} + {f};"));
                    if !v.close.iter().any(|m| p == format!("__upc_p{n}_{m}")) {
                        self.touch(&q);
                    }
                    self.local.refs[m] = (q, j.clone());
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
        self.local = keep;
        if let Some(k) = &r.own {
            self.out.put(&format!(" {k} += {end};"));
        }
        if !v.counted {
            let step = if r.step == Step::One { "" } else { " * (long)__UPC_T" };
            self.out.put(&format!(" {var} = ({t})({var} + {end}{step});"));
        }
        end
    }
}
