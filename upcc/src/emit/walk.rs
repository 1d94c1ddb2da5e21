//! Visiting every statement and expression inside a statement.

use crate::ast::{Affinity, Block, Declaration, Expr, ExprKind, ForInit, Init, SizeArg, Stmt, StmtKind};

/// Calls `fs` on `s` and every statement in it, `fe` on every expression.
pub fn stmt<'a>(s: &'a Stmt, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    fs(s);
    let opt = |e: &'a Option<Box<Expr>>, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)| {
        if let Some(e) = e {
            expr(e, fs, fe);
        }
    };
    match &s.kind {
        StmtKind::Expr(e) | StmtKind::GotoPtr(e) => expr(e, fs, fe),
        StmtKind::Decl(d) => declaration(d, fs, fe),
        StmtKind::Block(b) => block(b, fs, fe),
        StmtKind::If { cond, then, els } => {
            expr(cond, fs, fe);
            stmt(then, fs, fe);
            if let Some(e) = els {
                stmt(e, fs, fe);
            }
        }
        StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
            expr(cond, fs, fe);
            stmt(body, fs, fe);
        }
        StmtKind::For { init, cond, step, body } => {
            for_init(init, fs, fe);
            opt(cond, fs, fe);
            opt(step, fs, fe);
            stmt(body, fs, fe);
        }
        StmtKind::Forall(f) => {
            for_init(&f.init, fs, fe);
            opt(&f.cond, fs, fe);
            opt(&f.step, fs, fe);
            match &f.affinity {
                Affinity::Always => {}
                Affinity::Int(e) | Affinity::Pts(e) => expr(e, fs, fe),
            }
            stmt(&f.body, fs, fe);
        }
        StmtKind::Switch { value, body } => {
            expr(value, fs, fe);
            stmt(body, fs, fe);
        }
        StmtKind::Case { body, .. } | StmtKind::Default { body } | StmtKind::Label { body, .. } => {
            stmt(body, fs, fe)
        }
        StmtKind::Return(e) | StmtKind::Notify(e) | StmtKind::Wait(e) | StmtKind::Barrier(e) => {
            opt(e, fs, fe)
        }
        StmtKind::Asm(a) => a.operands.iter().for_each(|o| expr(&o.expr, fs, fe)),
        StmtKind::NestedFunc(f) => block(&f.body, fs, fe),
        StmtKind::Empty
        | StmtKind::Goto(_)
        | StmtKind::Continue
        | StmtKind::Break
        | StmtKind::Fence
        | StmtKind::Pragma
        | StmtKind::UpcPragma
        | StmtKind::LocalLabels
        | StmtKind::StaticAssert
        | StmtKind::Attribute => {}
    }
}

fn for_init<'a>(i: &'a ForInit, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    match i {
        ForInit::None => {}
        ForInit::Expr(e) => expr(e, fs, fe),
        ForInit::Decl(d) => declaration(d, fs, fe),
    }
}

fn block<'a>(b: &'a Block, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    for s in &b.stmts {
        stmt(s, fs, fe);
    }
}

fn declaration<'a>(d: &'a Declaration, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    for i in &d.declarators {
        if let Some(i) = &i.init {
            init(i, fs, fe);
        }
    }
}

fn init<'a>(i: &'a Init, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    match i {
        Init::Expr(e) => expr(e, fs, fe),
        Init::List(l) => l.items.iter().for_each(|it| init(&it.init, fs, fe)),
    }
}

/// Calls `fe` on `e` and everything in it that is evaluated.
pub fn expr<'a>(e: &'a Expr, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    fe(e);
    match &e.kind {
        ExprKind::Paren(x)
        | ExprKind::Unary { expr: x, .. }
        | ExprKind::IncDec { expr: x, .. }
        | ExprKind::Cast { expr: x, .. }
        | ExprKind::Implicit { expr: x, .. }
        | ExprKind::Generic { chosen: x }
        | ExprKind::Choose { chosen: x }
        | ExprKind::Member { base: x, .. }
        | ExprKind::VaArg { list: x, .. } => expr(x, fs, fe),
        ExprKind::Binary { lhs, rhs, .. }
        | ExprKind::Assign { lhs, rhs }
        | ExprKind::CompoundAssign { lhs, rhs, .. }
        | ExprKind::Comma { lhs, rhs }
        | ExprKind::Index { base: lhs, index: rhs } => {
            expr(lhs, fs, fe);
            expr(rhs, fs, fe);
        }
        ExprKind::Cond { cond, then, els } => {
            expr(cond, fs, fe);
            if let Some(t) = then {
                expr(t, fs, fe);
            }
            expr(els, fs, fe);
        }
        ExprKind::Call { callee, args } => {
            expr(callee, fs, fe);
            args.iter().for_each(|a| expr(a, fs, fe));
        }
        ExprKind::CompoundLit { init: i, .. } => init(i, fs, fe),
        ExprKind::StmtExpr(b) => block(b, fs, fe),
        ExprKind::OffsetOf { index, .. } => index.iter().for_each(|a| expr(a, fs, fe)),
        // Operands of the sizeof family are not evaluated, but may name things.
        ExprKind::SizeOf { arg: SizeArg::Expr(x), .. } => expr(x, fs, fe),
        ExprKind::SizeOf { .. }
        | ExprKind::Name(_)
        | ExprKind::EnumConst(_)
        | ExprKind::Number
        | ExprKind::Str
        | ExprKind::Threads
        | ExprKind::MyThread
        | ExprKind::FuncName
        | ExprKind::LabelAddr(_)
        | ExprKind::TypesCompatible(_)
        | ExprKind::Error => {}
    }
}
