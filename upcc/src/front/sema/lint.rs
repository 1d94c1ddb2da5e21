//! Warnings of `-Wupc`: programs that are valid, or that no compiler need reject, and hardly mean what they
//! say.
//!
//! A loop *deals out* if it is a `upc_forall` with an affinity: its iterations run on different threads, so
//! what all threads have to do together does not belong into its body. The same holds for a branch that only
//! some threads take.

use std::cell::RefCell;

use crate::front::ast::walk;
use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::TokIdx;
use crate::front::types::{PtsKind, TypeId};

/// Where, and what is odd there.
type Finding = (TokIdx, String);

struct Lint<'c, 'a> {
    cx: &'c Sema<'a>,
    found: Vec<Finding>,
    /// Inside the body of a loop that deals out.
    dealing: bool,
}

impl Sema<'_> {
    /// Looks at everything that was read.
    pub(crate) fn lint(&mut self, items: &[Item]) {
        let mut lint = Lint { cx: self, found: Vec::new(), dealing: false };
        for item in items {
            match &item.kind {
                ItemKind::Func(f) => lint.block(&f.body),
                ItemKind::Decl(d) => lint.declaration(d),
                _ => {}
            }
        }
        for (tok, text) in lint.found {
            self.warn(tok, text);
        }
    }
}

/// A word for a statement that all threads execute together.
fn together(s: &Stmt) -> Option<&'static str> {
    Some(match s.kind {
        StmtKind::Barrier(_) => "upc_barrier",
        StmtKind::Notify(_) => "upc_notify",
        StmtKind::Wait(_) => "upc_wait",
        _ => return None,
    })
}

fn inside_forall(what: &str) -> String {
    format!("`{what}` inside a `upc_forall`: not all threads run this iteration")
}

impl Lint<'_, '_> {
    fn say(&mut self, tok: TokIdx, text: impl Into<String>) {
        self.found.push((tok, text.into()));
    }

    /// The name of the collective function that `e` calls.
    fn collective(&self, e: &Expr) -> Option<String> {
        let ExprKind::Call { callee, .. } = &e.kind else { return None };
        let mut c = callee.unparen();
        while let ExprKind::Implicit { expr, .. } = &c.kind {
            c = expr.unparen();
        }
        let ExprKind::Name(d) = c.kind else { return None };
        let name = self.cx.name(self.cx.decls[d.0 as usize].name);
        (name.starts_with("upc_all_") || name.starts_with("bupc_all_")).then(|| name.to_owned())
    }

    fn block(&mut self, b: &Block) {
        let mut notified = false;
        for s in &b.stmts {
            match &s.kind {
                StmtKind::Notify(_) if notified => {
                    self.say(s.toks.start, "a second `upc_notify` before `upc_wait`");
                }
                StmtKind::Notify(_) => notified = true,
                StmtKind::Wait(_) => notified = false,
                StmtKind::Barrier(_) if notified => {
                    self.say(s.toks.start, "`upc_barrier` between `upc_notify` and `upc_wait`");
                }
                StmtKind::Expr(e) if notified => {
                    if let Some(name) = self.collective(e) {
                        let text =
                            format!("the collective function `{name}` between `upc_notify` and `upc_wait`");
                        self.say(s.toks.start, text);
                    }
                }
                _ => {}
            }
            self.stmt(s);
        }
    }

    /// The collective statements and calls inside a statement, in the order of the source.
    fn collectives(&self, s: &Stmt) -> Vec<Finding> {
        let mut all = Vec::new();
        let found = RefCell::new(&mut all);
        let mut on_stmt = |s: &Stmt| {
            if let Some(word) = together(s) {
                found.borrow_mut().push((s.toks.start, word.to_owned()));
            }
        };
        let mut on_expr = |e: &Expr| {
            if let Some(name) = self.collective(e) {
                found.borrow_mut().push((e.toks.start, name));
            }
        };
        walk::stmt(s, &mut on_stmt, &mut on_expr);
        all
    }

    fn stmt(&mut self, s: &Stmt) {
        let at = s.toks.start;
        if self.dealing
            && let Some(word) = together(s)
        {
            self.say(at, inside_forall(word));
        }
        match &s.kind {
            StmtKind::Expr(e) | StmtKind::GotoPtr(e) => self.expr(e),
            StmtKind::Decl(d) => self.declaration(d),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { cond, then, els } => {
                self.expr(cond);
                self.branches(cond, then, els.as_deref());
                self.stmt(then);
                if let Some(els) = els {
                    self.stmt(els);
                }
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                self.expr(cond);
                self.stmt(body);
            }
            StmtKind::For { init, cond, step, body } => {
                self.clauses(init, cond.as_deref(), step.as_deref());
                self.stmt(body);
            }
            StmtKind::Forall(f) => self.forall(at, f),
            StmtKind::Switch { value, body } => {
                self.expr(value);
                self.stmt(body);
            }
            StmtKind::Case { body, .. }
            | StmtKind::Default { body }
            | StmtKind::Label { body, .. }
            | StmtKind::Directed { body, .. } => self.stmt(body),
            StmtKind::Return(e) | StmtKind::Notify(e) | StmtKind::Wait(e) | StmtKind::Barrier(e) => {
                if let Some(e) = e {
                    self.expr(e);
                }
            }
            StmtKind::NestedFunc(f) => {
                let outer = std::mem::take(&mut self.dealing);
                self.block(&f.body);
                self.dealing = outer;
            }
            _ => {}
        }
    }

    fn clauses(&mut self, init: &ForInit, cond: Option<&Expr>, step: Option<&Expr>) {
        match init {
            ForInit::None => {}
            ForInit::Expr(e) => self.expr(e),
            ForInit::Decl(d) => self.declaration(d),
        }
        for e in [cond, step].into_iter().flatten() {
            self.expr(e);
        }
    }

    fn forall(&mut self, at: TokIdx, f: &Forall) {
        self.clauses(&f.init, f.cond.as_deref(), f.step.as_deref());
        let affinity = match &f.affinity {
            Affinity::Always => return self.stmt(&f.body),
            Affinity::Int(e) | Affinity::Pts(e) => e,
        };
        if affinity.int().is_some() {
            self.say(affinity.toks.start, "this affinity is constant: one thread runs all iterations");
        }
        if matches!(f.affinity, Affinity::Int(_)) {
            let mut x = affinity.unparen();
            while let ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr } = &x.kind {
                x = expr.unparen();
            }
            if let ExprKind::Implicit { conv: Conv::SharedLoad, expr } = &x.kind
                && matches!(expr.unparen().kind, ExprKind::Index { .. })
            {
                let lv = self.cx.toks.range_text(expr.toks);
                let text = format!(
                    "this affinity is the value of `{lv}`: for the thread that has the element write `&{lv}`"
                );
                self.say(affinity.toks.start, text);
            }
        }
        if self.dealing {
            self.say(at, "this `upc_forall` is inside another one and runs like a plain `for`");
            return self.stmt(&f.body);
        }
        self.dealing = true;
        self.stmt(&f.body);
        self.dealing = false;
    }

    /// An `if` that asks for MYTHREAD: both branches have the same to do together.
    fn branches(&mut self, cond: &Expr, then: &Stmt, els: Option<&Stmt>) {
        let mut asks = false;
        walk::expr(cond, &mut |_| {}, &mut |e| asks |= matches!(e.kind, ExprKind::MyThread));
        if !asks || self.dealing {
            return;
        }
        let (t, e) = (self.collectives(then), els.map(|e| self.collectives(e)).unwrap_or_default());
        let odd = match t.iter().zip(&e).find(|(a, b)| a.1 != b.1) {
            Some((a, _)) => Some(a),
            None => t.get(e.len()).or(e.get(t.len())),
        };
        if let Some((tok, name)) = odd.cloned() {
            self.say(
                tok,
                format!("`{name}` in a branch that depends on MYTHREAD: all threads have to take part"),
            );
        }
    }

    fn declaration(&mut self, d: &Declaration) {
        for i in &d.declarators {
            let Some(init) = &i.init else { continue };
            for (_, ty, e) in init.leaves(i.ty) {
                self.expr(e);
                if self.cx.types.is_shared(i.ty) {
                    let finding = self.private_address(ty, e);
                    self.found.extend(finding);
                }
            }
        }
    }

    /// A private pointer that goes to shared memory.
    fn private_address(&self, to: TypeId, e: &Expr) -> Option<Finding> {
        let types = &self.cx.types;
        let private = types.is_pointer(to) && !types.is_pts(to);
        // Text and functions are at the same place in every thread of one program.
        let mut x = e.unparen();
        while let ExprKind::Implicit { expr, .. } | ExprKind::Cast { expr, .. } = &x.kind {
            x = expr.unparen();
        }
        let everywhere = matches!(x.kind, ExprKind::Str | ExprKind::Number) || types.is_function(x.ty);
        if !private || everywhere || e.int().is_some() {
            return None;
        }
        let text = "this puts a private address into shared memory, where other threads cannot use it";
        Some((e.toks.start, text.to_owned()))
    }

    fn expr(&mut self, e: &Expr) {
        if !e.has_upc {
            return;
        }
        let found = RefCell::new(Vec::new());
        let mut on_stmt = |s: &Stmt| {
            if self.dealing
                && let Some(word) = together(s)
            {
                found.borrow_mut().push((s.toks.start, inside_forall(word)));
            }
        };
        let mut on_expr = |e: &Expr| {
            let finding = match &e.kind {
                ExprKind::Assign { lhs, rhs } if self.cx.types.is_shared(lhs.ty) => {
                    self.private_address(lhs.ty, rhs)
                }
                ExprKind::Cast { expr, .. } => self.cast(e, expr),
                ExprKind::Call { .. } if self.dealing => {
                    self.collective(e).map(|name| (e.toks.start, inside_forall(&name)))
                }
                _ => None,
            };
            found.borrow_mut().extend(finding);
        };
        walk::expr(e, &mut on_stmt, &mut on_expr);
        self.found.extend(found.into_inner());
    }

    /// A cast from one definite block size to another loses the place in the block.
    fn cast(&self, e: &Expr, from: &Expr) -> Option<Finding> {
        match (self.cx.types.pts_kind(from.ty)?, self.cx.types.pts_kind(e.ty)?) {
            (PtsKind::Blocked(a), PtsKind::Blocked(b)) if a != b => {
                let text = format!("this cast from blocks of {a} to blocks of {b} makes the phase 0");
                Some((e.toks.start, text))
            }
            _ => None,
        }
    }
}
