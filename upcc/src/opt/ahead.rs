//! Reads of far memory that do not wait for each other, outside of the loops that `stream` changes.
//!
//! **Matches** groups. A *group* is a row of statements that follow each other whatever happens, with at
//! least two relaxed reads whose places are known where the group begins. There all of them are started; the
//! group runs when they have arrived. A near object is still read where the program says, through the pointer
//! that was made at the head.
//!
//! **Nobody can tell**: only far reads happen earlier, and they may if
//!
//! - they happen anyway: not in one arm of a condition, not after a call, which might not return;
//! - nothing in between synchronises: no strict access, no call;
//! - nothing in between writes shared memory that may be the same: another declared array, or another type.
//!
//! Writes need nothing here: the runtime starts them, and waits where it matters.
//!
//! ```text
//! x = c[i]; y = d[j];                                            before
//! 2 statements, split-phase: started before: c[i], d[j]          after
//! ```

use super::Optimiser;
use super::facts::{Facts, accessed};
use crate::front::ast::{Conv, Declaration, Expr, ExprKind, Stmt, StmtKind, Storage, walk};
use crate::ir::{Ahead, Context, Style};
use crate::lower;

/// Most statements and most reads of a group.
const STATEMENTS: usize = 12;
const READS: usize = 8;

/// A walk through statements in the order of evaluation.
struct Look<'s, 'a> {
    o: &'s Optimiser<'a>,
    around: &'s Context,
    /// Changes made by the statements so far. `stop`: no more reads can be added.
    facts: Facts,
    stop: bool,
    written: Vec<&'a Expr>,
    found: Vec<&'a Expr>,
}

impl<'a> Look<'_, 'a> {
    /// Whether the group may go on after the statement; `None`: it ends before.
    fn stmt(&mut self, s: &'a Stmt) -> Option<bool> {
        match &s.kind {
            StmtKind::Empty => Some(true),
            StmtKind::Expr(e) => {
                self.expr(e, true);
                Some(true)
            }
            StmtKind::Decl(d) => self.declaration(d).then_some(true),
            StmtKind::If { cond: e, .. } | StmtKind::Switch { value: e, .. } | StmtKind::Return(Some(e)) => {
                self.expr(e, true);
                Some(false)
            }
            _ => None,
        }
    }

    fn declaration(&mut self, d: &'a Declaration) -> bool {
        let types = &self.o.u.types;
        let plain = matches!(d.spec.storage, Storage::None | Storage::Auto | Storage::Register)
            && d.spec.defines.is_empty()
            && d.declarators.iter().all(|i| i.vla.is_empty() && !types.is_variably_modified(i.ty));
        for i in d.declarators.iter().filter(|_| plain) {
            for (_, _, e) in i.init.iter().flat_map(|init| init.leaves(i.ty)) {
                self.expr(e, true);
            }
            self.facts.declared.insert(i.decl);
        }
        plain
    }

    fn expr(&mut self, e: &'a Expr, always: bool) {
        if let ExprKind::Implicit { conv: Conv::SharedLoad, expr } = &e.kind
            && self.around.known.contains(&expr.id)
        {
            // Made before the loop.
            return;
        }
        self.stop |= !walk::operands(e, &mut |x, each_time| self.expr(x, always && each_time));
        match &e.kind {
            ExprKind::Implicit { conv: Conv::SharedLoad, expr } => {
                self.touch(expr);
                if always && !self.stop && self.early(expr) {
                    self.found.push(expr);
                }
            }
            ExprKind::Assign { lhs, .. }
            | ExprKind::CompoundAssign { lhs, .. }
            | ExprKind::IncDec { expr: lhs, .. } => self.write(lhs),
            ExprKind::Call { callee, .. } => self.stop |= !lower::pure_call(callee, self.o.u),
            _ => {}
        }
        self.stop |= self.o.u.types.is_variably_modified(e.ty);
    }

    /// An access to a lvalue.
    fn touch(&mut self, lv: &Expr) {
        self.stop |= lv.strict || accessed(lv).strict || self.o.u.types.quals(lv.ty).is_volatile;
    }

    fn write(&mut self, lv: &'a Expr) {
        if self.o.u.types.is_shared(lv.ty) {
            self.touch(lv);
            self.written.push(lv);
        } else {
            self.facts.change(lv);
        }
    }

    /// Whether the object can be read at the head of the group.
    fn early(&self, lv: &Expr) -> bool {
        let o = self.o;
        !self.around.is_bound(lv)
            && lv.bit_field(&o.u.types).is_none()
            && lower::carrier(o.u, lv.ty).is_some()
            && self.written.iter().all(|w| o.apart(w, lv))
            && o.steady_place(lv, &self.written, &self.facts, &|_| false)
    }
}

impl<'a> Optimiser<'a> {
    /// The reads of the group that the statements begin with, if it is worth it.
    pub(super) fn group(&self, stmts: &'a [Stmt], around: &Context) -> Option<Ahead<'a>> {
        if !self.passes.split_phase
            || around.style == Style::Compact
            || around.in_order
            || !stmts.first()?.has_upc
        {
            return None;
        }
        let mut look = Look {
            o: self,
            around,
            facts: Facts::default(),
            stop: false,
            written: Vec::new(),
            found: Vec::new(),
        };
        let mut statements = 0;
        for (n, s) in stmts.iter().enumerate().take(STATEMENTS) {
            let before = look.found.len();
            let Some(on) = look.stmt(s) else { break };
            if look.found.len() > READS {
                look.found.truncate(before);
                break;
            }
            if look.found.len() > before {
                statements = n + 1;
            }
            if !on || look.stop {
                break;
            }
        }
        (look.found.len() > 1).then_some(Ahead { reads: look.found, statements })
    }
}
