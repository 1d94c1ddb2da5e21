//! Visiting every statement and expression inside a statement.

use super::{Affinity, BinOp, Block, Declaration, Expr, ExprKind, ForInit, Init, SizeArg, Stmt, StmtKind};

/// Calls `fs` on `s` and every statement in it, `fe` on every expression.
pub fn stmt<'a>(s: &'a Stmt, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    in_stmt(s, fs, &mut |e, before| {
        if before {
            fe(e);
        }
    });
}

/// Calls `fe` on `e` and everything in it that is evaluated.
pub fn expr<'a>(e: &'a Expr, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr)) {
    in_expr(e, fs, &mut |e, before| {
        if before {
            fe(e);
        }
    });
}

/// Calls `f` on `e` and everything in it that is evaluated: before all that is in an expression (`true`), and
/// after.
pub fn around<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr, bool)) {
    in_expr(e, &mut |_| {}, f);
}

fn in_stmt<'a>(s: &'a Stmt, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)) {
    fs(s);
    let opt = |e: &'a Option<Box<Expr>>, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)| {
        if let Some(e) = e {
            in_expr(e, fs, fe);
        }
    };
    match &s.kind {
        StmtKind::Expr(e) | StmtKind::GotoPtr(e) => in_expr(e, fs, fe),
        StmtKind::Decl(d) => declaration(d, fs, fe),
        StmtKind::Block(b) => block(b, fs, fe),
        StmtKind::If { cond, then, els } => {
            in_expr(cond, fs, fe);
            in_stmt(then, fs, fe);
            if let Some(e) = els {
                in_stmt(e, fs, fe);
            }
        }
        StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
            in_expr(cond, fs, fe);
            in_stmt(body, fs, fe);
        }
        StmtKind::For { init, cond, step, body } => {
            for_init(init, fs, fe);
            opt(cond, fs, fe);
            opt(step, fs, fe);
            in_stmt(body, fs, fe);
        }
        StmtKind::Forall(f) => {
            for_init(&f.init, fs, fe);
            opt(&f.cond, fs, fe);
            opt(&f.step, fs, fe);
            match &f.affinity {
                Affinity::Always => {}
                Affinity::Int(e) | Affinity::Pts(e) => in_expr(e, fs, fe),
            }
            in_stmt(&f.body, fs, fe);
        }
        StmtKind::Switch { value, body } => {
            in_expr(value, fs, fe);
            in_stmt(body, fs, fe);
        }
        StmtKind::Case { body, .. }
        | StmtKind::Default { body }
        | StmtKind::Label { body, .. }
        | StmtKind::Directed { body, .. } => in_stmt(body, fs, fe),
        StmtKind::Return(e) | StmtKind::Notify(e) | StmtKind::Wait(e) | StmtKind::Barrier(e) => {
            opt(e, fs, fe)
        }
        StmtKind::Asm(a) => a.operands.iter().for_each(|o| in_expr(&o.expr, fs, fe)),
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

fn for_init<'a>(i: &'a ForInit, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)) {
    match i {
        ForInit::None => {}
        ForInit::Expr(e) => in_expr(e, fs, fe),
        ForInit::Decl(d) => declaration(d, fs, fe),
    }
}

fn block<'a>(b: &'a Block, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)) {
    for s in &b.stmts {
        in_stmt(s, fs, fe);
    }
}

fn declaration<'a>(d: &'a Declaration, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)) {
    for i in d.declarators.iter().filter_map(|i| i.init.as_ref()) {
        init(i, &mut |e| in_expr(e, fs, fe));
    }
}

fn init<'a>(i: &'a Init, f: &mut dyn FnMut(&'a Expr)) {
    match i {
        Init::Expr(e) => f(e),
        Init::List(l) => l.items.iter().for_each(|it| init(&it.init, f)),
    }
}

fn in_expr<'a>(e: &'a Expr, fs: &mut dyn FnMut(&'a Stmt), fe: &mut dyn FnMut(&'a Expr, bool)) {
    fe(e, true);
    match &e.kind {
        ExprKind::StmtExpr(b) => block(b, fs, fe),
        // Operands of the sizeof family are not evaluated, but may name things.
        ExprKind::SizeOf { arg: SizeArg::Expr(x), .. } => in_expr(x, fs, fe),
        _ => {
            operands(e, &mut |x, _| in_expr(x, fs, fe));
        }
    }
    fe(e, false);
}

/// Calls `f` on each expression that is evaluated directly for `e`, as written from left to right, with
/// whether that happens each time. Returns whether this is all that `e` does besides what it says itself: it
/// holds no statements, nor takes arguments.
pub fn operands<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr, bool)) -> bool {
    match &e.kind {
        ExprKind::Paren(x)
        | ExprKind::Unary { expr: x, .. }
        | ExprKind::IncDec { expr: x, .. }
        | ExprKind::Cast { expr: x, .. }
        | ExprKind::Implicit { expr: x, .. }
        | ExprKind::Generic { chosen: x }
        | ExprKind::Choose { chosen: x }
        | ExprKind::Member { base: x, .. } => f(x, true),
        ExprKind::Binary { op: BinOp::LogAnd | BinOp::LogOr, lhs, rhs } => {
            f(lhs, true);
            f(rhs, false);
        }
        ExprKind::Binary { lhs, rhs, .. }
        | ExprKind::Assign { lhs, rhs }
        | ExprKind::CompoundAssign { lhs, rhs, .. }
        | ExprKind::Comma { lhs, rhs }
        | ExprKind::Index { base: lhs, index: rhs } => {
            f(lhs, true);
            f(rhs, true);
        }
        ExprKind::Cond { cond, then, els } => {
            f(cond, true);
            if let Some(t) = then {
                f(t, false);
            }
            f(els, false);
        }
        ExprKind::Call { callee, args } => {
            f(callee, true);
            args.iter().for_each(|a| f(a, true));
        }
        ExprKind::CompoundLit { init: i, .. } => init(i, &mut |x| f(x, true)),
        ExprKind::OffsetOf { index, .. } => index.iter().for_each(|a| f(a, true)),
        ExprKind::VaArg { list, .. } => {
            f(list, true);
            return false;
        }
        ExprKind::StmtExpr(_) | ExprKind::LabelAddr(_) | ExprKind::Error => return false,
        ExprKind::SizeOf { .. }
        | ExprKind::Name(_)
        | ExprKind::EnumConst(_)
        | ExprKind::Number
        | ExprKind::Str
        | ExprKind::Threads
        | ExprKind::MyThread
        | ExprKind::FuncName
        | ExprKind::TypesCompatible(_) => {}
    }
    true
}
