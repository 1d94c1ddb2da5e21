//! Statements with a pragma about them.

use super::Emitter;
use super::abi::{FORALL_DEPTH, FORALL_RESTORED, IS_MINE, MYTHREAD, OMP_ATOMIC, THREADS, TURN, TURN_U};
use crate::front::ast::{
    Affinity, Conv, Directive, DirectiveName, Expr, ExprKind, Forall, Stmt, StmtKind, walk,
};
use crate::front::types::Scalar;
use crate::ir::{Code, Form};
use crate::lower;

impl Emitter<'_> {
    pub(super) fn directed(&mut self, s: &Stmt, pragmas: &[Directive], code: &Code<'_>) {
        let asked = lower::demands(pragmas);
        self.at(s.toks);
        // Other threads do not know that a `upc_forall` is around, nor does a loop that has to be kept.
        let forall = asked.loops > 0 && matches!(&code.stmt.kind, StmtKind::Forall(f) if !always(f));
        let nests = asked.threads && lower::may_nest(code.stmt, self.u);
        let depth = (forall || nests).then(|| self.fresh("forall"));
        let mut closing = 0;
        if let Some(depth) = &depth {
            self.out.put(&format!("{{ const int {depth} = {FORALL_DEPTH};"));
            closing += 1;
        }
        let loops = asked.loops > 0 && matches!(code.form, Form::Kept(..));
        let mut init = String::new();
        if loops {
            let first = match &code.stmt.kind {
                StmtKind::For { init, .. } => Some(init),
                StmtKind::Forall(f) => Some(&f.init),
                _ => None,
            };
            if let Some(first) = first {
                match self.plain_init(first) {
                    Some(text) => init = text,
                    None => closing += usize::from(self.for_init(first)),
                }
            }
        }
        for p in pragmas {
            if p.demands.atomic && shared_target(self, code.stmt, self.u.tokens.spelling(p.tok)) {
                self.out.pragma_text(&self.u.tokens, p.tok, OMP_ATOMIC);
            } else {
                self.directive(p);
            }
        }
        self.at(code.stmt.toks);
        match (&code.form, &depth) {
            (Form::Kept(why, body), _) if loops => self.seen_loop(code, why, body, &init, depth.as_deref()),
            (Form::Written(parts), _) if asked.sections && matches!(code.stmt.kind, StmtKind::Block(_)) => {
                self.out.put("{");
                parts.iter().for_each(|c| self.stmt(c));
                self.out.put(" }");
            }
            (_, Some(depth)) => {
                self.inherit(depth, Some(depth));
                self.stmt(code);
                self.out.put(" }");
            }
            (_, None) => self.stmt(code),
        }
        self.out.put(&" }".repeat(closing));
    }

    /// The pragma, with C for what is not.
    fn directive(&mut self, p: &Directive) {
        let u = self.u;
        let text = u.tokens.spelling(p.tok);
        let (mut s, mut from) = (String::new(), 0);
        for (at, name) in &p.names {
            s.push_str(text.get(from..at.start).unwrap_or_default());
            match name {
                DirectiveName::Shared(d) => s.push_str(&self.shared_alias(*d)),
                DirectiveName::Threads => s.push_str(THREADS),
                DirectiveName::MyThread => s.push_str(MYTHREAD),
                DirectiveName::DefaultNone => {}
            }
            from = at.end;
        }
        s.push_str(text.get(from..).unwrap_or_default());
        self.out.pragma_text(&u.tokens, p.tok, &s);
    }

    /// Opens a block in which a `upc_forall` is around as `value` says, or one is.
    fn inherit(&mut self, name: &str, value: Option<&str>) {
        let value = value.unwrap_or("1");
        self.out.put(&format!(
            " {{ const int {name}o{FORALL_RESTORED} = {FORALL_DEPTH}; (void){name}o; {FORALL_DEPTH} = {value};"
        ));
    }

    /// A loop with its clauses as C asks for after such a pragma.
    fn seen_loop(
        &mut self,
        code: &Code<'_>,
        why: &'static str,
        body: &Code<'_>,
        init: &str,
        depth: Option<&str>,
    ) {
        let around = std::mem::replace(&mut self.context, code.context.clone());
        self.loops.push(why);
        let (cond, step) = match &code.stmt.kind {
            StmtKind::For { cond, step, .. } => (cond, step),
            StmtKind::Forall(f) => (&f.cond, &f.step),
            _ => unreachable!("only loops are kept"),
        };
        let c = cond.as_ref().map_or(String::new(), |c| self.cond(c).s);
        let t = step.as_ref().map_or(String::new(), |t| self.discard(t));
        self.out.put(&format!("for ({init}; {c}; {t})"));
        match (&code.stmt.kind, depth) {
            (StmtKind::Forall(f), Some(depth)) if !always(f) => {
                let mine = self.turn(f);
                self.out.put(&format!(" if ({mine} | {depth} != 0)"));
                self.inherit(depth, None);
                self.stmt(body);
                self.out.put(" }");
            }
            (_, Some(depth)) => {
                self.inherit(depth, Some(depth));
                self.stmt(body);
                self.out.put(" }");
            }
            (_, None) => self.stmt(body),
        }
        self.loops.pop();
        self.context = around;
    }

    /// Whether the iteration is this thread's.
    pub(super) fn turn(&mut self, f: &Forall) -> String {
        match &f.affinity {
            Affinity::Always => "1".into(),
            Affinity::Int(e) => {
                let a = self.rv(e).p(2);
                // Beyond the range of long.
                let wide =
                    self.u.types.as_scalar(e.ty).is_some_and(|s| matches!(s, Scalar::ULong | Scalar::ULLong));
                format!("{}({a})", if wide { TURN_U } else { TURN })
            }
            Affinity::Pts(e) => format!("{IS_MINE}({})", self.pplace(e)),
        }
    }
}

fn always(f: &Forall) -> bool {
    matches!(f.affinity, Affinity::Always)
}

/// Whether a statement that is one access, as a pragma says, accesses a shared object: what it changes, or
/// what it copies from if the pragma is about reading.
fn shared_target(e: &Emitter<'_>, s: &Stmt, pragma: &str) -> bool {
    let reads = pragma.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == "read");
    let shared = |x: &Expr| e.u.types.is_shared(x.ty);
    let mut found = false;
    walk::stmt(s, &mut |_| {}, &mut |x| {
        found |= match &x.kind {
            ExprKind::Assign { rhs, .. } if reads => {
                matches!(&converted(rhs).kind, ExprKind::Implicit { conv: Conv::SharedLoad, .. })
            }
            ExprKind::Assign { lhs, .. } | ExprKind::CompoundAssign { lhs, .. } => shared(lhs),
            ExprKind::IncDec { expr, .. } => shared(expr),
            _ => false,
        };
    });
    found
}

/// The expression below parentheses and arithmetic conversions.
fn converted(e: &Expr) -> &Expr {
    match &e.unparen().kind {
        ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr } => converted(expr),
        _ => e.unparen(),
    }
}
