//! Reads that are made before the code that uses them.

use super::abi::{AHEAD, ARRIVE, NULL, local, nth};
use super::expr::fr;
use super::{Emitter, Known};
use crate::front::ast::Expr;

impl Emitter<'_> {
    /// Starts reads and waits for them.
    pub(super) fn start_reads(&mut self, reads: &[&Expr]) {
        let mut arrived = false;
        for (m, lv) in reads.iter().enumerate() {
            let (n, w, t) = (self.next_number(), self.place(lv), self.access_type(lv.ty));
            let (s, q) = (local("s", n), local("q", n));
            // In large code the last of them waits: less code than a wait of its own.
            let last = m + 1 == reads.len();
            let at = match self.outlined_access(&w, if last { "al" } else { "ah" }, "8") {
                Some((name, args)) => {
                    arrived = last;
                    format!("{name}({args}, &{s}, sizeof({t}))")
                }
                None => format!("{AHEAD}({w}, &{s}, sizeof({t}))"),
            };
            self.out.put(&format!(" {t} {s}; {t} *const {q} = ({t} *){at};"));
            let known =
                Known { lvalue: fr(format!("*{q}"), 15), why: "made at the same time as those around it" };
            self.known.insert(lv.id, known);
        }
        if !arrived {
            self.out.put(&format!(" {ARRIVE}();"));
        }
    }

    /// Makes reads once, if there are iterations `left`.
    pub(super) fn make_reads(&mut self, once: &[Vec<&Expr>], left: &str, n: u32) {
        for (m, alike) in once.iter().enumerate() {
            let lv = alike[0];
            let name = nth("h", n, m);
            let quiet = std::mem::replace(&mut self.quiet, true);
            let value = self.load(lv, None).p(3);
            self.quiet = quiet;
            let t = self.access_type(lv.ty);
            let none = if self.u.types.is_pts(lv.ty) { NULL.into() } else { format!("({t})0") };
            self.out.put(&format!(" {t} const {name} = {left} > 0 ? {value} : {none};"));
            let known = Known { lvalue: fr(name, 16), why: "made once, before the loop" };
            self.known.extend(alike.iter().map(|lv| (lv.id, known.clone())));
        }
    }

    /// Forgets reads.
    pub(super) fn end_reads(&mut self, reads: &[&Expr]) {
        for lv in reads {
            self.known.remove(&lv.id);
        }
    }
}
