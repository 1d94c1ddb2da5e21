//! Statements and function definitions.

use super::{Emitter, out::Out};
use crate::ast::{Affinity, Asm, Block, Expr, ExprKind, ForInit, Forall, FuncDef, Stmt, StmtKind, Storage};
use crate::token::TokRange;
use crate::types::Scalar;

/// Tokens of loop bodies and functions in which shared accesses are inline code.
const SMALL_LOOP: u32 = 100;
const SMALL_FUNCTION: u32 = 200;

/// Why accesses in a `while` or `do` loop remain.
const NO_FOR: &str = "the loop is no `for` loop that counts up by one";

impl Emitter<'_> {
    /// A statement by itself.
    pub fn stmt(&mut self, s: &Stmt) {
        if matches!(s.kind, StmtKind::Decl(_)) {
            return self.plain_stmt(s);
        }
        match self.group(std::slice::from_ref(s)) {
            None => self.plain_stmt(s),
            Some((_, reads)) => {
                self.at(s.toks);
                self.out.put("{");
                self.start_group(&reads);
                self.plain_stmt(s);
                self.end_group(&reads);
                self.out.put(" }");
            }
        }
    }

    /// Statements that follow each other.
    fn sequence(&mut self, stmts: &[Stmt]) {
        let mut n = 0;
        while n < stmts.len() {
            let Some((count, reads)) = self.group(&stmts[n..]) else {
                self.plain_stmt(&stmts[n]);
                n += 1;
                continue;
            };
            self.at(stmts[n].toks);
            self.start_group(&reads);
            stmts[n..n + count].iter().for_each(|s| self.plain_stmt(s));
            self.end_group(&reads);
            n += count;
        }
    }

    fn plain_stmt(&mut self, s: &Stmt) {
        let u = self.u;
        if !s.has_upc && !matches!(s.kind, StmtKind::UpcPragma) {
            self.out.tokens(&u.tokens, s.toks);
            return;
        }
        let body = match &s.kind {
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } | StmtKind::For { body, .. } => {
                body
            }
            StmtKind::Forall(f) => &f.body,
            _ => return self.any_stmt(s),
        };
        // Small inner loops are worth the code of their accesses.
        let around = self.outlined;
        self.outlined = self.outlining && !(body.toks.end - body.toks.start <= SMALL_LOOP && innermost(body));
        self.any_stmt(s);
        self.outlined = around;
    }

    fn any_stmt(&mut self, s: &Stmt) {
        let u = self.u;
        match &s.kind {
            StmtKind::Expr(e) => {
                self.at(s.toks);
                let t = self.discard(e);
                self.out.put(&t);
                self.out.put(";");
            }
            StmtKind::Empty => self.line(s.toks, ";"),
            StmtKind::Decl(d) => self.declaration(d, true),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { cond, then, els } => {
                self.at(s.toks);
                let c = self.cond(cond).s;
                self.out.put(&format!("if ({c})"));
                self.stmt(then);
                if let Some(e) = els {
                    self.out.space();
                    self.out.put("else");
                    self.stmt(e);
                }
            }
            StmtKind::While { cond, body } => {
                self.at(s.toks);
                self.loops.push(NO_FOR);
                let c = self.cond(cond).s;
                self.out.put(&format!("while ({c})"));
                self.stmt(body);
                self.loops.pop();
            }
            StmtKind::DoWhile { body, cond } => {
                self.at(s.toks);
                self.out.put("do");
                self.loops.push(NO_FOR);
                self.stmt(body);
                self.at(cond.toks);
                let c = self.cond(cond).s;
                self.out.put(&format!("while ({c});"));
                self.loops.pop();
            }
            StmtKind::For { init, cond, step, body } => {
                self.at(s.toks);
                let Err(why) = self.stream_for(init, cond.as_deref(), step.as_deref(), body) else { return };
                let wrapped = self.for_init(init);
                let i = if wrapped { String::new() } else { self.for_init_text(init) };
                self.loops.push(why);
                let c = cond.as_ref().map_or(String::new(), |c| self.cond(c).s);
                let t = step.as_ref().map_or(String::new(), |t| self.discard(t));
                self.out.put(&format!("for ({i}; {c}; {t})"));
                self.stmt(body);
                self.loops.pop();
                if wrapped {
                    self.out.put(" }");
                }
            }
            StmtKind::Forall(f) => self.forall(f, s.toks),
            StmtKind::Switch { value, body } => {
                self.at(s.toks);
                let v = self.rv(value).s;
                self.out.put(&format!("switch ({v})"));
                self.stmt(body);
            }
            StmtKind::Case { lo, hi, body } => {
                self.at(s.toks);
                let l = self.rv(lo).s;
                let h = hi.as_ref().map(|h| format!(" ... {}", self.rv(h).s)).unwrap_or_default();
                self.out.put(&format!("case {l}{h}:"));
                self.stmt(body);
            }
            StmtKind::Default { body } => {
                self.line(s.toks, "default:");
                self.stmt(body);
            }
            StmtKind::Label { name, attrs, body } => {
                let a = self.verbatim(*attrs);
                self.line(s.toks, &format!("{}: {a}", u.name(*name)));
                self.stmt(body);
            }
            StmtKind::Goto(l) => self.line(s.toks, &format!("goto {};", u.name(*l))),
            StmtKind::GotoPtr(e) => {
                let v = self.rv(e).p(15);
                self.line(s.toks, &format!("goto *{v};"));
            }
            StmtKind::Continue => self.line(s.toks, "continue;"),
            StmtKind::Break => self.line(s.toks, "break;"),
            StmtKind::Return(v) => {
                self.at(s.toks);
                let v = v.as_ref().map_or(String::new(), |v| format!(" {}", self.rv(v).s));
                self.out.put(&format!("return{v};"));
            }
            StmtKind::Asm(a) => self.asm(a),
            StmtKind::Notify(e) => self.barrier(s.toks, "notify", e.as_deref()),
            StmtKind::Wait(e) => self.barrier(s.toks, "wait", e.as_deref()),
            StmtKind::Barrier(e) => self.barrier(s.toks, "barrier", e.as_deref()),
            StmtKind::Fence => self.line(s.toks, "__upc_fence();"),
            StmtKind::UpcPragma | StmtKind::StaticAssert => {}
            StmtKind::Pragma | StmtKind::LocalLabels | StmtKind::Attribute => {
                self.out.tokens(&u.tokens, s.toks)
            }
            StmtKind::NestedFunc(f) => self.function(f),
        }
    }

    /// Brings the output to the line where `r` begins.
    pub fn at(&mut self, r: TokRange) {
        let u = self.u;
        if !r.is_empty() {
            self.out.sync(&u.tokens, r.start);
        }
    }

    fn line(&mut self, r: TokRange, text: &str) {
        self.at(r);
        self.out.put(text);
    }

    fn barrier(&mut self, r: TokRange, what: &str, e: Option<&Expr>) {
        self.at(r);
        let args = match e {
            Some(e) => format!("{}, 1", self.rv(e).p(2)),
            None => "0, 0".into(),
        };
        self.out.put(&format!("__upc_{what}({args});"));
    }

    /// A block, braces included.
    pub fn block(&mut self, b: &Block) {
        let u = self.u;
        if !b.has_upc {
            self.out.tokens(&u.tokens, b.toks);
            return;
        }
        self.at(b.toks);
        self.out.put("{");
        self.sequence(&b.stmts);
        self.close(b);
    }

    fn close(&mut self, b: &Block) {
        self.at(TokRange::new(b.toks.end.saturating_sub(1), b.toks.end));
        self.out.put("}");
    }

    /// A block as text without lines, its last expression statement as value.
    pub fn flat_block(&mut self, b: &Block) -> String {
        let flat = Out::new(false, 1, self.out.tags.clone());
        let saved = std::mem::replace(&mut self.out, flat);
        self.out.put("{");
        for (i, s) in b.stmts.iter().enumerate() {
            match &s.kind {
                StmtKind::Expr(e) if s.has_upc && i + 1 == b.stmts.len() => {
                    let t = self.rv(e).s;
                    self.out.put(&format!(" {t};"));
                }
                _ => self.stmt(s),
            }
        }
        self.out.put(" }");
        std::mem::replace(&mut self.out, saved).text
    }

    /// Opens a block with the declarations of a `for` that cannot stand inside the parentheses. Whether it did.
    pub fn for_init(&mut self, init: &ForInit) -> bool {
        if let ForInit::Decl(d) = init
            && d.has_upc
        {
            self.out.put("{ ");
            self.declaration(d, true);
            self.out.space();
            return true;
        }
        false
    }

    fn for_init_text(&mut self, init: &ForInit) -> String {
        match init {
            ForInit::None => String::new(),
            ForInit::Expr(e) => self.discard(e),
            ForInit::Decl(d) => self.verbatim(d.toks).trim_end_matches(';').to_string(),
        }
    }

    fn forall(&mut self, f: &Forall, toks: TokRange) {
        self.at(toks);
        let Err(why) = self.forall_optimised(f) else { return };
        self.in_forall += 1;
        self.loops.push(why);
        self.forall_plain(f, false);
        self.loops.pop();
        self.in_forall -= 1;
    }

    /// The plain lowering. `started`: the first clause has been done already.
    pub fn forall_plain(&mut self, f: &Forall, started: bool) {
        let saved = self.fresh("forall");
        let wrapped = !started && self.for_init(&f.init);
        let controls = !matches!(f.affinity, Affinity::Always);
        let calls = controls && may_nest(&f.body, self.u);
        if controls {
            let restore = if calls { " __attribute__((__cleanup__(__upc_forall_end)))" } else { "" };
            self.out.put(&format!(" {{ const int {saved}{restore} = __upc_forall_depth; "));
        }
        let i = if wrapped || started { String::new() } else { self.for_init_text(&f.init) };
        let c = f.cond.as_ref().map_or(String::new(), |c| self.cond(c).s);
        let mut t = f.step.as_ref().map_or(String::new(), |t| self.discard(t));
        if calls {
            let reset = format!("__upc_forall_depth = {saved}");
            t = if t.is_empty() { reset } else { format!("{reset}, {t}") };
        }
        self.out.put(&format!("for ({i}; {c}; {t})"));
        match &f.affinity {
            Affinity::Always => self.stmt(&f.body),
            Affinity::Int(e) => {
                let a = self.rv(e).p(2);
                // Beyond the range of long.
                let wide =
                    self.u.types.as_scalar(e.ty).is_some_and(|s| matches!(s, Scalar::ULong | Scalar::ULLong));
                let turn = if wide { "__upc_turnu" } else { "__upc_turn" };
                self.out.put(&format!(" if ({turn}({a}) | {saved} != 0)"));
                self.controlled(&f.body, calls);
            }
            Affinity::Pts(e) => {
                let w = self.pplace(e);
                self.out.put(&format!(" if (__upc_ismine({w}) | {saved} != 0)"));
                self.controlled(&f.body, calls);
            }
        }
        if controls {
            self.out.put(" }");
        }
        if wrapped {
            self.out.put(" }");
        }
    }

    fn controlled(&mut self, body: &Stmt, calls: bool) {
        if calls {
            self.out.put(" { __upc_forall_depth = 1;");
        }
        self.stmt(body);
        if calls {
            self.out.put(" }");
        }
    }

    fn asm(&mut self, a: &Asm) {
        let u = self.u;
        self.at(a.toks);
        let mut i = a.toks.start;
        for op in &a.operands {
            let r = op.expr.toks;
            if !op.expr.has_upc || r.is_empty() {
                continue;
            }
            let head = self.verbatim(TokRange::new(i, r.start));
            let v = self.rv(&op.expr).s;
            self.out.put(&format!("{head} {v} "));
            i = r.end;
        }
        self.out.tokens(&u.tokens, TokRange::new(i, a.toks.end));
    }

    /// A function definition.
    pub fn function(&mut self, f: &FuncDef) {
        let u = self.u;
        if !f.has_upc {
            self.out.tokens(&u.tokens, f.toks);
            return;
        }
        let anew = f.sig_upc || f.knr.iter().any(|d| d.has_upc);
        if anew || !f.spec.defines.is_empty() && f.spec.has_upc {
            self.defines(&f.spec.defines);
            self.at(f.spec.toks);
            let head = self.signature(f);
            self.out.put(&head);
        } else {
            let start = if f.spec.toks.is_empty() { f.declarator.start } else { f.spec.toks.start };
            self.out.tokens(&u.tokens, TokRange::new(start.min(f.toks.start), f.body.toks.start));
        }
        self.outlining = self.passes.outline && f.body.toks.end - f.body.toks.start > SMALL_FUNCTION;
        self.outlined = self.outlining;
        self.at(f.body.toks);
        self.out.put("{");
        if f.sig_upc {
            let s = self.stash_bounds(&f.vla);
            self.out.put(&s);
        }
        if f.body.has_upc {
            self.sequence(&f.body.stmts);
        } else {
            self.out
                .tokens(&u.tokens, TokRange::new(f.body.toks.start + 1, f.body.toks.end.saturating_sub(1)));
        }
        self.close(&f.body);
    }

    /// The head of a function definition, made from types.
    fn signature(&mut self, f: &FuncDef) -> String {
        let u = self.u;
        let decl = u.decl(f.decl);
        let name = u.name(decl.name).to_string();
        let mut s = self.spec_words(&f.spec);
        let Some((ret, _, variadic, proto)) = u.types.signature(decl.ty) else { return s };
        let mut attrs = String::new();
        for r in self.attributes_in(f.declarator) {
            attrs.push_str(&self.verbatim(r));
            attrs.push(' ');
        }
        s.push_str(&attrs);
        if !f.knr.is_empty() {
            let names: Vec<String> = f.params.iter().map(|&p| u.name(u.decl(p).name).to_string()).collect();
            s.push_str(&self.ctype(ret, &format!("{name}({})", names.join(", "))));
            for (&p, n) in f.params.iter().zip(&names) {
                s.push(' ');
                s.push_str(&self.ctype(u.decl(p).ty, n));
                s.push(';');
            }
            s.push(' ');
            return s;
        }
        let mut params: Vec<String> = f
            .params
            .iter()
            .map(|&p| {
                let d = u.decl(p);
                self.ctype(d.ty, u.name(d.name))
            })
            .collect();
        if variadic {
            params.push("...".into());
        }
        let list = if params.is_empty() && proto { "void".to_string() } else { params.join(", ") };
        s.push_str(&self.ctype(ret, &format!("{name}({list})")));
        s
    }

    /// Storage class, function specifiers and attributes of declaration specifiers, with a blank at the end.
    pub fn spec_words(&mut self, spec: &crate::ast::DeclSpec) -> String {
        let mut s = String::new();
        if spec.extension {
            s.push_str("__extension__ ");
        }
        s.push_str(match spec.storage {
            Storage::None | Storage::Auto => "",
            Storage::Register => "register ",
            Storage::Static => "static ",
            Storage::Extern => "extern ",
            Storage::Typedef => "typedef ",
        });
        for (on, w) in [
            (spec.thread_local, "__thread "),
            (spec.inline, if self.made_static(spec) { "static __inline__ " } else { "__inline__ " }),
            (spec.noreturn, "__attribute__((__noreturn__)) "),
        ] {
            if on {
                s.push_str(w);
            }
        }
        for r in spec.attrs.iter().chain(&spec.alignas) {
            s.push_str(&self.verbatim(*r));
            s.push(' ');
        }
        s
    }

    /// Attributes and assembler names outside the parentheses of a declarator.
    fn attributes_in(&self, r: TokRange) -> Vec<TokRange> {
        let tb = &self.u.tokens;
        let mut out = Vec::new();
        let mut depth = 0;
        let mut i = r.start;
        while i < r.end {
            match tb.spelling(i) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "__attribute__" | "__attribute" if depth == 0 => {
                    let start = i;
                    let mut d = 0;
                    i += 1;
                    while i < r.end {
                        match tb.spelling(i) {
                            "(" => d += 1,
                            ")" => d -= 1,
                            _ => {}
                        }
                        i += 1;
                        if d == 0 {
                            break;
                        }
                    }
                    out.push(TokRange::new(start, i));
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
        out
    }

    /// Declares variables that hold the bounds of variable-length arrays, whose types cannot hold them in C.
    pub fn stash_bounds(&mut self, bounds: &[crate::types::ExprId]) -> String {
        let mut s = String::new();
        for &b in bounds {
            let u = self.u;
            let Some(e) = u.exprs.get(b.0 as usize) else { continue };
            let v = self.rv(e).p(2);
            let name = self.fresh("bound");
            s.push_str(&format!(" const unsigned long {name} = {v};"));
            self.vla_vars.insert(b, name);
        }
        s
    }
}

/// Whether a `upc_forall` may run while this statement does: it holds one, or calls something.
pub fn may_nest(s: &Stmt, u: &crate::ast::TranslationUnit) -> bool {
    let (mut found, mut call) = (false, false);
    super::walk::stmt(
        s,
        &mut |s| {
            found |= matches!(
                s.kind,
                StmtKind::Forall(_) | StmtKind::Asm(_) | StmtKind::Return(_) | StmtKind::Goto(_)
            )
        },
        &mut |e| {
            if let ExprKind::Call { callee, .. } = &e.kind {
                call |= !crate::opt::pure_call(callee, u);
            }
        },
    );
    found || call
}

/// Whether a loop body holds no loop.
fn innermost(s: &Stmt) -> bool {
    let mut found = false;
    super::walk::stmt(
        s,
        &mut |s| {
            found |= matches!(
                s.kind,
                StmtKind::Forall(_)
                    | StmtKind::For { .. }
                    | StmtKind::While { .. }
                    | StmtKind::DoWhile { .. }
            )
        },
        &mut |_| {},
    );
    !found
}
