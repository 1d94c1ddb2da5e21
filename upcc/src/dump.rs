//! A small printer of the AST, for tests and for looking at what the front end made of a program.
//!
//! One line per declaration or statement, indented; expressions as `(operator operand ...)`, with implicit
//! conversions shown (`load`, `get` for a shared load, `decay`, ...), `!` behind a strict access and `:type`
//! where a conversion gives one.

pub mod ir;

use crate::front::ast::*;
use crate::front::types::Block;
use crate::front::types::*;
use std::fmt::Write;

/// The whole unit, system headers' items left out.
pub fn unit(u: &TranslationUnit) -> String {
    let mut d = Dump { u, out: String::new(), indent: 0 };
    for i in &u.items {
        if u.tokens.tok(i.toks.start).system {
            continue;
        }
        match &i.kind {
            ItemKind::Decl(x) => d.declaration(x),
            ItemKind::Func(f) => d.function(f),
            ItemKind::Pragma | ItemKind::Asm => d.line(&u.tokens.range_text(i.toks)),
            ItemKind::UpcPragma | ItemKind::StaticAssert | ItemKind::Empty => {}
        }
    }
    d.out
}

/// One expression.
pub fn expr(u: &TranslationUnit, e: &Expr) -> String {
    let d = Dump { u, out: String::new(), indent: 0 };
    d.expr(e)
}

/// A type, structure resolved through typedefs.
pub fn ty(u: &TranslationUnit, t: TypeId) -> String {
    let types = &u.types;
    let t = types.canon(t);
    let q = types.own_quals(t);
    let mut s = String::new();
    match q.shared {
        Some(Block::Indefinite) => s.push_str("shared[] "),
        Some(Block::N(n)) => _ = write!(s, "shared[{n}] "),
        Some(Block::Star) => s.push_str("shared[*] "),
        None => {}
    }
    match q.reference {
        Some(Ref::Strict) => s.push_str("strict "),
        Some(Ref::Relaxed) => s.push_str("relaxed "),
        None => {}
    }
    for (on, w) in [(q.is_const, "const "), (q.is_volatile, "volatile "), (q.is_atomic, "atomic ")] {
        if on {
            s.push_str(w);
        }
    }
    match types.kind(t) {
        TypeKind::Scalar(x) => s.push_str(x.name()),
        TypeKind::Complex(x) => _ = write!(s, "complex {}", x.name()),
        TypeKind::Pointer(p) => _ = write!(s, "ptr({})", ty(u, *p)),
        TypeKind::Array { elem, len } => {
            let n = match len {
                ArrayLen::Const(n) => n.to_string(),
                ArrayLen::Threads(n) => format!("{n}*THREADS"),
                ArrayLen::Vla(_) => "vla".to_owned(),
                ArrayLen::Star => "*".to_owned(),
                ArrayLen::Incomplete => String::new(),
            };
            _ = write!(s, "[{n}]{}", ty(u, *elem));
        }
        TypeKind::Function { ret, params, variadic, proto } => {
            let mut p: Vec<String> = params.iter().map(|&p| ty(u, p)).collect();
            if *variadic {
                p.push("...".to_owned());
            }
            let open = if *proto { "fn(" } else { "fn?(" };
            _ = write!(s, "{open}{}) {}", p.join(", "), ty(u, *ret));
        }
        TypeKind::Record(r) => {
            let r = &types.records[r.0 as usize];
            s.push_str(if r.is_union { "union " } else { "struct " });
            s.push_str(r.tag.map_or("-", |t| u.name(t)));
        }
        TypeKind::Enum(e) => {
            s.push_str("enum ");
            s.push_str(types.enums[e.0 as usize].tag.map_or("-", |t| u.name(t)));
        }
        TypeKind::Vector { bytes, .. } => _ = write!(s, "vector {bytes}"),
        TypeKind::VaList => s.push_str("va_list"),
        TypeKind::Error => s.push_str("error"),
        TypeKind::Typedef { .. } | TypeKind::Typeof { .. } => s.push_str("sugar"),
    }
    s
}

struct Dump<'a> {
    u: &'a TranslationUnit,
    out: String,
    indent: usize,
}

impl Dump<'_> {
    fn line(&mut self, s: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(s);
        self.out.push('\n');
    }

    fn name(&self, d: DeclId) -> &str {
        self.u.name(self.u.decl(d).name)
    }

    fn declaration(&mut self, d: &Declaration) {
        let upc = if d.spec.has_upc { " upc" } else { "" };
        if d.declarators.is_empty() {
            self.line(&format!("declare nothing{upc}"));
        }
        for i in &d.declarators {
            let decl = self.u.decl(i.decl);
            let mut s = match decl.kind {
                DeclKind::Typedef => "typedef ".to_owned(),
                _ => match decl.storage {
                    Storage::Static => "static ".to_owned(),
                    Storage::Extern => "extern ".to_owned(),
                    _ => String::new(),
                },
            };
            _ = write!(s, "{}: {}", self.name(i.decl), ty(self.u, i.ty));
            if let Some(init) = &i.init {
                s.push_str(" = ");
                self.init(init, &mut s);
            }
            self.line(&s);
        }
    }

    fn init(&self, i: &Init, s: &mut String) {
        match i {
            Init::Expr(e) => s.push_str(&self.expr(e)),
            Init::List(l) => {
                s.push('{');
                for (n, it) in l.items.iter().enumerate() {
                    if n > 0 {
                        s.push_str(", ");
                    }
                    for p in &it.path {
                        _ = match p {
                            PathElem::Index(i) => write!(s, "[{i}]"),
                            PathElem::Range(a, b) => write!(s, "[{a}..={b}]"),
                            PathElem::Field(f) => write!(s, ".{f}"),
                        };
                    }
                    s.push_str(": ");
                    self.init(&it.init, s);
                }
                s.push('}');
            }
        }
    }

    fn function(&mut self, f: &FuncDef) {
        let params: Vec<&str> = f.params.iter().map(|p| self.name(*p)).collect();
        let s = format!(
            "function {}: {} ({}){}",
            self.name(f.decl),
            ty(self.u, self.u.decl(f.decl).ty),
            params.join(", "),
            if f.has_upc { " upc" } else { "" }
        );
        self.line(&s);
        self.block(&f.body);
    }

    fn block(&mut self, b: &crate::front::ast::Block) {
        self.indent += 1;
        for s in &b.stmts {
            self.stmt(s);
        }
        self.indent -= 1;
    }

    fn body(&mut self, s: &Stmt) {
        self.indent += 1;
        self.stmt(s);
        self.indent -= 1;
    }

    fn opt(&self, e: &Option<Box<Expr>>) -> String {
        e.as_ref().map_or("-".to_owned(), |e| self.expr(e))
    }

    fn for_init(&mut self, i: &ForInit) -> String {
        match i {
            ForInit::None => "-".to_owned(),
            ForInit::Expr(e) => self.expr(e),
            ForInit::Decl(d) => {
                self.declaration(d);
                "declared".to_owned()
            }
        }
    }

    /// A line, and a statement below it.
    fn headed(&mut self, head: &str, body: &Stmt) {
        self.line(head);
        self.body(body);
    }

    /// A line, and the statement that it labels.
    fn labelled(&mut self, label: &str, body: &Stmt) {
        self.line(label);
        self.stmt(body);
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Expr(e) => self.line(&self.expr(e)),
            StmtKind::Decl(d) => self.declaration(d),
            StmtKind::Block(b) => {
                self.line("block");
                self.block(b);
            }
            StmtKind::If { cond, then, els } => {
                self.headed(&format!("if {}", self.expr(cond)), then);
                if let Some(e) = els {
                    self.headed("else", e);
                }
            }
            StmtKind::While { cond, body } => self.headed(&format!("while {}", self.expr(cond)), body),
            StmtKind::DoWhile { body, cond } => self.headed(&format!("do while {}", self.expr(cond)), body),
            StmtKind::For { init, cond, step, body } => {
                let i = self.for_init(init);
                self.headed(&format!("for {i}; {}; {}", self.opt(cond), self.opt(step)), body);
            }
            StmtKind::Forall(f) => {
                let i = self.for_init(&f.init);
                let a = match &f.affinity {
                    Affinity::Always => "always".to_owned(),
                    Affinity::Int(e) => format!("int {}", self.expr(e)),
                    Affinity::Pts(e) => format!("pts {}", self.expr(e)),
                };
                let head = format!("forall {i}; {}; {}; {a}", self.opt(&f.cond), self.opt(&f.step));
                self.headed(&head, &f.body);
            }
            StmtKind::Switch { value, body } => self.headed(&format!("switch {}", self.expr(value)), body),
            StmtKind::Case { lo, hi, body } => {
                let h = hi.as_ref().map_or(String::new(), |h| format!(" ... {}", self.expr(h)));
                self.labelled(&format!("case {}{h}", self.expr(lo)), body);
            }
            StmtKind::Default { body } => self.labelled("default", body),
            StmtKind::Label { name, body, .. } => {
                self.labelled(&format!("label {}", self.u.name(*name)), body);
            }
            StmtKind::Goto(s) => self.line(&format!("goto {}", self.u.name(*s))),
            StmtKind::GotoPtr(e) => self.line(&format!("goto * {}", self.expr(e))),
            StmtKind::Return(e) => self.line(&format!("return {}", self.opt(e))),
            StmtKind::Notify(e) => self.line(&format!("notify {}", self.opt(e))),
            StmtKind::Wait(e) => self.line(&format!("wait {}", self.opt(e))),
            StmtKind::Barrier(e) => self.line(&format!("barrier {}", self.opt(e))),
            StmtKind::NestedFunc(f) => self.function(f),
            StmtKind::Empty => self.line("empty"),
            StmtKind::Continue => self.line("continue"),
            StmtKind::Break => self.line("break"),
            StmtKind::Fence => self.line("fence"),
            StmtKind::Asm(a) => self.line(&format!("asm with {} operands", a.operands.len())),
            StmtKind::Pragma | StmtKind::LocalLabels | StmtKind::Attribute => {
                self.line(self.u.tokens.range_text(s.toks).trim());
            }
            StmtKind::Directed { pragmas, body } => {
                for p in pragmas {
                    self.line(self.u.tokens.spelling(p.tok).trim());
                }
                self.stmt(body);
            }
            StmtKind::UpcPragma | StmtKind::StaticAssert => {}
        }
    }

    fn expr(&self, e: &Expr) -> String {
        let strict = if e.strict { "!" } else { "" };
        let two = |op: &str, a: &Expr, b: &Expr| format!("({op} {} {})", self.expr(a), self.expr(b));
        match &e.kind {
            ExprKind::Name(d) => format!("{}{strict}", self.name(*d)),
            ExprKind::EnumConst(d) => self.name(*d).to_owned(),
            ExprKind::Number | ExprKind::Str | ExprKind::FuncName => self.u.tokens.range_text(e.toks),
            ExprKind::Threads => "THREADS".to_owned(),
            ExprKind::MyThread => "MYTHREAD".to_owned(),
            ExprKind::Paren(x) => self.expr(x),
            ExprKind::Unary { op, expr } => {
                let w = match op {
                    UnOp::Plus => "+",
                    UnOp::Neg => "-",
                    UnOp::BitNot => "~",
                    UnOp::Not => "!",
                    UnOp::AddrOf => "&",
                    UnOp::Deref => "*",
                    UnOp::Real => "real",
                    UnOp::Imag => "imag",
                    UnOp::Extension => return self.expr(expr),
                };
                format!("({w}{strict} {})", self.expr(expr))
            }
            ExprKind::IncDec { inc, prefix, expr } => {
                let w = if *inc { "++" } else { "--" };
                if *prefix {
                    format!("({w} {})", self.expr(expr))
                } else {
                    format!("({} {w})", self.expr(expr))
                }
            }
            ExprKind::Binary { op, lhs, rhs } => two(crate::front::operands::op_text(*op), lhs, rhs),
            ExprKind::Assign { lhs, rhs } => two("=", lhs, rhs),
            ExprKind::CompoundAssign { op, lhs, rhs, compute } => {
                let w = format!("{}=:{}", crate::front::operands::op_text(*op), ty(self.u, *compute));
                two(&w, lhs, rhs)
            }
            ExprKind::Cond { cond, then, els } => {
                format!("(? {} {} {})", self.expr(cond), self.opt(then), self.expr(els))
            }
            ExprKind::Comma { lhs, rhs } => two(",", lhs, rhs),
            ExprKind::Index { base, index } => two(&format!("[]{strict}"), base, index),
            ExprKind::Member { base, arrow, record, path } => {
                let mut s = format!("({}{strict} {}", if *arrow { "->" } else { "." }, self.expr(base));
                let mut r = *record;
                for &f in path {
                    let f = &self.u.types.records[r.0 as usize].fields[f as usize];
                    s.push(' ');
                    s.push_str(f.name.map_or("-", |n| self.u.name(n)));
                    if let TypeKind::Record(inner) = *self.u.types.ckind(f.ty) {
                        r = inner;
                    }
                }
                s.push(')');
                s
            }
            ExprKind::Call { callee, args } => {
                let a: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
                format!("(call {}{}{})", self.expr(callee), if a.is_empty() { "" } else { " " }, a.join(" "))
            }
            ExprKind::Cast { conv, expr, .. } => {
                format!("(cast {}:{} {})", conv_text(*conv), ty(self.u, e.ty), self.expr(expr))
            }
            ExprKind::Implicit { conv: Conv::FuncDecay, expr } => self.expr(expr),
            ExprKind::Implicit { conv, expr } => match conv {
                Conv::Load | Conv::SharedLoad | Conv::ArrayDecay | Conv::SharedDecay => {
                    format!("({} {})", conv_text(*conv), self.expr(expr))
                }
                _ => format!("({}:{} {})", conv_text(*conv), ty(self.u, e.ty), self.expr(expr)),
            },
            ExprKind::CompoundLit { init, .. } => {
                let mut s = format!("(literal {} ", ty(self.u, e.ty));
                self.init(init, &mut s);
                s.push(')');
                s
            }
            ExprKind::SizeOf { .. } => match e.int() {
                Some(v) => format!("(size {v})"),
                None => "(size at run time)".to_owned(),
            },
            ExprKind::StmtExpr(b) => format!("({{{}}}:{})", b.stmts.len(), ty(self.u, e.ty)),
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => self.expr(chosen),
            ExprKind::LabelAddr(s) => format!("(&& {})", self.u.name(*s)),
            ExprKind::VaArg { list, .. } => format!("(va_arg {} {})", self.expr(list), ty(self.u, e.ty)),
            ExprKind::OffsetOf { .. } => format!("(offset {:?})", e.int()),
            ExprKind::TypesCompatible(_) => format!("(same {:?})", e.int()),
            ExprKind::Error => "<error>".to_owned(),
        }
    }
}

fn conv_text(c: Conv) -> &'static str {
    match c {
        Conv::Load => "load",
        Conv::SharedLoad => "get",
        Conv::ArrayDecay => "decay",
        Conv::SharedDecay => "shared-decay",
        Conv::FuncDecay => "function",
        Conv::Arith => "arith",
        Conv::PtrToBool => "ptr-bool",
        Conv::PtsToBool => "pts-bool",
        Conv::NullToPtr => "null",
        Conv::NullToPts => "null-pts",
        Conv::IntToPtr => "int-ptr",
        Conv::PtrToInt => "ptr-int",
        Conv::PtrToPtr => "ptr",
        Conv::PtsToPtr => "local",
        Conv::PtsToInt => "pts-int",
        Conv::PtsToPts { reset: true } => "pts-reset",
        Conv::PtsToPts { reset: false } => "pts",
        Conv::ToVoid => "void",
        Conv::ToUnion => "union",
        Conv::Same => "same",
    }
}
