//! Reads of far memory that do not wait for each other, outside of the loops that `stream` changes.
//!
//! A *group* is a row of statements that follow each other whatever happens, with at least two relaxed reads whose places are
//! known where the group begins. There all of them are started; the group runs when they have arrived. A near object is still
//! read where the program says, through the pointer that was made at the head. So only far reads happen earlier, and they may if
//!
//! - they happen anyway: not in one arm of a condition, not after a call, which might not return;
//! - nothing in between synchronises: no strict access, no call;
//! - nothing in between writes shared memory that may be the same: another declared array, or another type.
//!
//! Writes need nothing here: the runtime starts them, and waits where it matters (`__upc_put_later`).

use super::Facts;
use crate::ast::{Conv, Declaration, Expr, ExprKind, Stmt, StmtKind, Storage, UnOp};
use crate::emit::{Emitter, walk};

/// Most statements and most reads of a group.
const STATEMENTS: usize = 12;
const READS: usize = 8;

/// A walk through statements in the order of evaluation.
struct Look<'s, 'e, 'a> {
    e: &'e Emitter<'s>,
    /// What has changed so far, and stopped us.
    facts: Facts,
    stop: bool,
    written: Vec<&'a Expr>,
    found: Vec<&'a Expr>,
}

impl<'a> Look<'_, '_, 'a> {
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
        let types = &self.e.u.types;
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
            ExprKind::Call { callee, .. } => self.stop |= !super::pure_call(callee, self.e.u),
            _ => {}
        }
        self.stop |= self.e.u.types.is_variably_modified(e.ty);
    }

    /// An access to a lvalue.
    fn touch(&mut self, lv: &Expr) {
        self.stop |= lv.strict || super::accessed(lv).strict || self.e.u.types.quals(lv.ty).is_volatile;
    }

    fn write(&mut self, lv: &'a Expr) {
        if self.e.u.types.is_shared(lv.ty) {
            self.touch(lv);
            self.written.push(lv);
        } else {
            self.facts.change(lv);
        }
    }

    /// Whether the object can be read at the head of the group.
    fn early(&self, lv: &Expr) -> bool {
        let e = self.e;
        let t = &e.u.types;
        if e.is_local(lv) || lv.bit_field(t).is_some() || e.form(lv.ty).is_none() {
            return false;
        }
        let apart = |w: &&Expr| {
            let (a, b) = (e.root_array(w), e.root_array(lv));
            matches!((a, b), (Some(a), Some(b)) if a != b) || !t.may_alias(w.ty, lv.ty)
        };
        if !self.written.iter().all(apart) {
            return false;
        }
        // Its place is known there.
        let steady = |x: &Expr| self.facts.stored.iter().all(|s| !t.may_alias(*s, x.ty));
        let mut ok = true;
        walk::expr(lv, &mut |_| {}, &mut |x| {
            ok &= match &x.kind {
                ExprKind::Name(d) if t.is_shared(x.ty) || t.is_array(x.ty) => {
                    !self.facts.declared.contains(d)
                }
                ExprKind::Name(d) => e.steady(*d, &self.facts),
                ExprKind::Index { .. }
                | ExprKind::Member { .. }
                | ExprKind::Unary { op: UnOp::Deref | UnOp::Real | UnOp::Imag, .. } => {
                    t.is_shared(x.ty) || t.is_array(x.ty) || steady(x)
                }
                ExprKind::Unary { op: UnOp::AddrOf, expr } => t.is_shared(expr.ty),
                ExprKind::Implicit { conv, .. } | ExprKind::Cast { conv, .. } => matches!(
                    conv,
                    Conv::Load
                        | Conv::Arith
                        | Conv::Same
                        | Conv::ArrayDecay
                        | Conv::SharedDecay
                        | Conv::PtsToPts { .. }
                ),
                ExprKind::Paren(_)
                | ExprKind::Number
                | ExprKind::EnumConst(_)
                | ExprKind::Threads
                | ExprKind::MyThread
                | ExprKind::Binary { .. }
                | ExprKind::Unary { .. }
                | ExprKind::SizeOf { .. } => true,
                _ => false,
            };
        });
        ok
    }
}

impl Emitter<'_> {
    /// How many of the statements make a group that is worth it, and its reads.
    pub fn group<'s>(&self, stmts: &'s [Stmt]) -> Option<(usize, Vec<&'s Expr>)> {
        if !self.passes.split_phase
            || self.compact
            || self.quiet
            || self.out.flat > 0
            || !stmts.first()?.has_upc
        {
            return None;
        }
        let mut look =
            Look { e: self, facts: Facts::default(), stop: false, written: Vec::new(), found: Vec::new() };
        let mut count = 0;
        for (n, s) in stmts.iter().enumerate().take(STATEMENTS) {
            let before = look.found.len();
            let Some(on) = look.stmt(s) else { break };
            if look.found.len() > READS {
                look.found.truncate(before);
                break;
            }
            if look.found.len() > before {
                count = n + 1;
            }
            if !on || look.stop {
                break;
            }
        }
        (look.found.len() > 1).then_some((count, look.found))
    }

    /// Starts the reads of a group and waits for them.
    pub fn start_group(&mut self, reads: &[&Expr]) {
        let mut arrived = false;
        for (m, lv) in reads.iter().enumerate() {
            let (n, w, t) = (self.next_number(), self.place(lv), self.access_type(lv.ty));
            let (s, q) = (format!("__upc_s{n}"), format!("__upc_q{n}"));
            // In large code the last of them waits: less code than a wait of its own.
            let last = m + 1 == reads.len();
            let at = match self.outlined_access(&w, if last { "al" } else { "ah" }, "8") {
                Some((name, args)) => {
                    arrived = last;
                    format!("{name}({args}, &{s}, sizeof({t}))")
                }
                None => format!("__UPC_AHEAD({w}, &{s}, sizeof({t}))"),
            };
            self.out.put(&format!(" {t} {s}; {t} *const {q} = ({t} *){at};"));
            self.ahead.insert(std::ptr::from_ref(*lv) as usize, format!("*{q}"));
        }
        if !arrived {
            self.out.put(" __upc_arrive();");
        }
    }

    /// Forgets the group.
    pub fn end_group(&mut self, reads: &[&Expr]) {
        for lv in reads {
            self.ahead.remove(&(std::ptr::from_ref(*lv) as usize));
        }
    }
}
