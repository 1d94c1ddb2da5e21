//! Statements and function definitions.

use super::abi::{self, FENCE, WAITS, WAITS_FOR};
use super::{Emitter, out::Out};
use crate::front::ast::{Asm, Block, Expr, ForInit, FuncDef, Init, Stmt, StmtKind, Storage, looked_at};
use crate::front::token::TokRange;
use crate::ir::{Code, Form};
use crate::lower;

impl Emitter<'_> {
    /// A statement that is part of another.
    pub(super) fn stmt(&mut self, code: &Code<'_>) {
        let Some(ahead) = &code.ahead else { return self.alone(code) };
        self.at(code.stmt.toks);
        self.out.put("{");
        self.start_reads(&ahead.reads);
        self.alone(code);
        self.end_reads(&ahead.reads);
        self.out.put(" }");
    }

    /// Statements that follow each other.
    fn sequence(&mut self, codes: &[Code<'_>]) {
        let mut rest = codes;
        while let Some(code) = rest.first() {
            let Some(ahead) = &code.ahead else {
                self.alone(code);
                rest = &rest[1..];
                continue;
            };
            let (group, others) = rest.split_at(ahead.statements);
            self.at(code.stmt.toks);
            self.start_reads(&ahead.reads);
            group.iter().for_each(|c| self.alone(c));
            self.end_reads(&ahead.reads);
            rest = others;
        }
    }

    /// A statement, after what is read ahead.
    fn alone(&mut self, code: &Code<'_>) {
        let around = std::mem::replace(&mut self.context, code.context.clone());
        match &code.form {
            Form::Written(parts) => self.written(code.stmt, parts),
            Form::Kept(why, body) => self.kept(code.stmt, why, body),
            Form::Loop(made) => {
                self.at(code.stmt.toks);
                self.counted(made);
            }
            Form::Share(share) => {
                self.at(code.stmt.toks);
                self.share(share);
            }
        }
        self.context = around;
    }

    /// A statement that no pass changed.
    fn written(&mut self, s: &Stmt, parts: &[Code<'_>]) {
        let u = self.u;
        if !s.has_upc && !matches!(s.kind, StmtKind::UpcPragma) {
            self.out.tokens(&u.tokens, s.toks);
            return;
        }
        match &s.kind {
            StmtKind::Expr(e) => {
                self.at(s.toks);
                let t = self.discard(e);
                self.out.put(&t);
                self.out.put(";");
            }
            StmtKind::Empty => self.line(s.toks, ";"),
            StmtKind::Decl(d) => self.declaration(d, true),
            StmtKind::Block(b) => {
                self.at(b.toks);
                self.out.put("{");
                self.sequence(parts);
                self.close(b);
            }
            StmtKind::If { cond, .. } => {
                self.at(s.toks);
                let c = self.cond(cond).s;
                self.out.put(&format!("if ({c})"));
                self.stmt(&parts[0]);
                if let Some(e) = parts.get(1) {
                    self.out.space();
                    self.out.put("else");
                    self.stmt(e);
                }
            }
            StmtKind::Switch { value, .. } => {
                self.at(s.toks);
                let v = self.rv(value).s;
                self.out.put(&format!("switch ({v})"));
                self.stmt(&parts[0]);
            }
            StmtKind::Case { lo, hi, .. } => {
                self.at(s.toks);
                let l = self.rv(lo).s;
                let h = hi.as_ref().map(|h| format!(" ... {}", self.rv(h).s)).unwrap_or_default();
                self.out.put(&format!("case {l}{h}:"));
                self.stmt(&parts[0]);
            }
            StmtKind::Default { .. } => {
                self.line(s.toks, "default:");
                self.stmt(&parts[0]);
            }
            StmtKind::Label { name, attrs, .. } => {
                let a = self.verbatim(*attrs);
                self.line(s.toks, &format!("{}: {a}", u.name(*name)));
                self.stmt(&parts[0]);
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
            StmtKind::Fence => self.line(s.toks, &format!("{FENCE}();")),
            StmtKind::UpcPragma | StmtKind::StaticAssert => {}
            StmtKind::Pragma | StmtKind::LocalLabels | StmtKind::Attribute => {
                self.out.tokens(&u.tokens, s.toks)
            }
            StmtKind::NestedFunc(f) => self.function(f),
            StmtKind::Directed { pragmas, .. } => self.directed(s, pragmas, &parts[0]),
            StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. }
            | StmtKind::Forall(_) => {
                unreachable!("loops are kept or changed")
            }
        }
    }

    /// A loop that no pass changed.
    fn kept(&mut self, s: &Stmt, why: &'static str, body: &Code<'_>) {
        self.at(s.toks);
        let mut init = (false, String::new());
        if let StmtKind::For { init: first, .. } = &s.kind {
            // The first clause runs before the loop, so it is emitted before the reason is pushed.
            match self.plain_init(first) {
                Some(text) => init.1 = text,
                None => init.0 = self.for_init(first),
            }
        }
        self.loops.push(why);
        match &s.kind {
            StmtKind::While { cond, .. } => {
                let c = self.cond(cond).s;
                self.out.put(&format!("while ({c})"));
                self.body(cond, body);
            }
            StmtKind::DoWhile { cond, .. } => {
                self.out.put("do");
                self.body(cond, body);
                self.at(cond.toks);
                let c = self.cond(cond).s;
                self.out.put(&format!("while ({c});"));
            }
            StmtKind::For { cond, step, .. } => {
                let (wrapped, i) = init;
                let c = cond.as_ref().map_or(String::new(), |c| self.cond(c).s);
                let t = step.as_ref().map_or(String::new(), |t| self.discard(t));
                self.out.put(&format!("for ({i}; {c}; {t})"));
                match cond {
                    Some(cond) if step.is_none() => self.body(cond, body),
                    _ => self.stmt(body),
                }
                if wrapped {
                    self.out.put(" }");
                }
            }
            StmtKind::Forall(f) => self.forall(f, body, false),
            _ => unreachable!("only loops are kept"),
        }
        self.loops.pop();
    }

    /// The body of a loop without a step.
    fn body(&mut self, cond: &Expr, body: &Code<'_>) {
        // With OpenMP another thread may change a private object that the condition reads, and only one
        // thread may call the runtime; the runtime's wait functions are not used then.
        let private = if self.o.openmp { None } else { looked_at(cond, body.stmt, &self.u.types) };
        if lower::only_waits(cond, body.stmt, self.u) {
            self.out.put(&format!("{{ {WAITS}();"));
        } else if let Some(private) = private {
            let object = self.rv(private).p(15);
            self.out.put(&format!("{{ {WAITS_FOR}((const volatile void *)&{object});"));
        } else {
            return self.stmt(body);
        }
        self.stmt(body);
        self.out.put(" }");
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
        self.out.put(&format!("{}({args});", abi::barrier(what)));
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
        let (program, around) = (self.program, self.context.clone());
        let codes = program.inside_expression(&b.stmts, &around);
        for (i, code) in codes.iter().enumerate() {
            match &code.stmt.kind {
                StmtKind::Expr(e) if code.stmt.has_upc && i + 1 == codes.len() => {
                    let t = self.rv(e).s;
                    self.out.put(&format!(" {t};"));
                }
                _ => self.stmt(code),
            }
        }
        self.out.put(" }");
        std::mem::replace(&mut self.out, saved).text
    }

    /// Opens a block with the declarations of a `for` that cannot stand inside the parentheses. Whether it
    /// did.
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

    /// The first clause of a `for`, if it can stand inside the parentheses.
    pub(super) fn plain_init(&mut self, init: &ForInit) -> Option<String> {
        let ForInit::Decl(d) = init else { return Some(self.for_init_text(init)) };
        if !d.has_upc {
            return Some(self.for_init_text(init));
        }
        let [i] = &d.declarators[..] else { return None };
        let Init::Expr(value) = i.init.as_ref()? else { return None };
        let u = self.u;
        let decl = u.decl(i.decl);
        if decl.is_static || d.spec.has_upc || !u.types.is_integer(i.ty) {
            return None;
        }
        let (name, v) = (u.name(decl.name).to_string(), self.rv(value).p(2));
        Some(format!("{}{} = {v}", self.spec_words(&d.spec), self.ctype(i.ty, &name)))
    }

    pub(super) fn for_init_text(&mut self, init: &ForInit) -> String {
        match init {
            ForInit::None => String::new(),
            ForInit::Expr(e) => self.discard(e),
            ForInit::Decl(d) => self.verbatim(d.toks).trim_end_matches(';').to_string(),
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
        let program = self.program;
        let around = std::mem::replace(&mut self.context, program.function(f));
        self.at(f.body.toks);
        self.out.put("{");
        if f.sig_upc {
            let s = self.stash_bounds(&f.vla);
            self.out.put(&s);
        }
        if f.body.has_upc {
            let codes = program.sequence(&f.body.stmts, &self.context);
            self.sequence(&codes);
        } else {
            self.out
                .tokens(&u.tokens, TokRange::new(f.body.toks.start + 1, f.body.toks.end.saturating_sub(1)));
        }
        self.close(&f.body);
        self.context = around;
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
    pub fn spec_words(&mut self, spec: &crate::front::ast::DeclSpec) -> String {
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
    pub fn stash_bounds(&mut self, bounds: &[crate::front::types::ExprId]) -> String {
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
