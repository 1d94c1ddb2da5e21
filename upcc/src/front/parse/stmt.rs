//! Items at file scope, statements.

use super::pragma::PragmaKind;
use super::*;
use crate::front::ast::Block;

impl Parser<'_> {
    /// The whole translation unit.
    pub(crate) fn translation_unit(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            while let Some((tok, kind)) = self.take_pragma(true) {
                let kind = match kind {
                    PragmaKind::Upc => ItemKind::UpcPragma,
                    PragmaKind::Directive(_) | PragmaKind::Other => ItemKind::Pragma,
                };
                items.push(Item { kind, toks: TokRange::new(tok, tok + 1), has_upc: false });
            }
            if self.kind() == TokKind::Eof {
                break;
            }
            let start = self.pos();
            match self.item(start) {
                Ok(kind) => {
                    let has_upc = match &kind {
                        ItemKind::Decl(d) => d.has_upc,
                        ItemKind::Func(f) => f.has_upc,
                        // Checked, and perhaps no C: not to be emitted.
                        ItemKind::StaticAssert => true,
                        _ => false,
                    };
                    items.push(Item { kind, toks: self.since(start), has_upc });
                }
                Err(Bad) => {
                    self.recover();
                    if self.is(Punct::RBrace) {
                        let at = self.bump();
                        if at == start {
                            self.error(at, "this `}` closes nothing");
                        }
                        self.eat(Punct::Semi);
                    } else if self.pos() == start {
                        self.bump();
                    }
                    // Of a system header the tokens are kept: the C compiler knows better.
                    if self.is_system(start) {
                        items.push(Item { kind: ItemKind::Asm, toks: self.since(start), has_upc: false });
                    }
                    self.unwind_to_file_scope();
                }
            }
        }
        self.finish_pragmas();
        items
    }

    fn unwind_to_file_scope(&mut self) {
        while self.scopes.len() > 1 {
            self.pop_scope();
        }
        self.func = None;
        self.unevaluated = 0;
    }

    fn item(&mut self, start: TokIdx) -> PResult<ItemKind> {
        if self.eat(Punct::Semi) {
            return Ok(ItemKind::Empty);
        }
        let mut n = 0;
        while self.kw_ahead(n) == Some(Kw::Extension) {
            n += 1;
        }
        if self.kw_ahead(n) == Some(Kw::Asm) {
            for _ in 0..=n {
                self.bump();
            }
            while matches!(self.kw(), Some(Kw::Volatile | Kw::Inline | Kw::Goto)) {
                self.bump();
            }
            self.expect_group()?;
            self.expect(Punct::Semi, "after `asm`")?;
            return Ok(ItemKind::Asm);
        }
        let _ = start;
        self.declaration(DeclContext::File)
    }

    /// The body of a function: its scope is open already.
    pub(crate) fn read_function_body(&mut self) -> PResult<Block> {
        let strict = self.strict;
        let r = self.block_in_scope();
        self.strict = strict;
        r
    }

    /// `{ ... }` with a scope of its own.
    pub(crate) fn block(&mut self) -> PResult<Block> {
        let strict = self.strict;
        let r = self.scoped(Self::block_in_scope);
        self.strict = strict;
        r
    }

    /// Reads something with a scope of its own.
    fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        self.push_scope();
        let regions = self.regions();
        let r = read(self);
        self.leave_regions(regions);
        self.pop_scope();
        r
    }

    fn block_in_scope(&mut self) -> PResult<Block> {
        let start = self.expect(Punct::LBrace, "here")?;
        let mut stmts: Vec<Stmt> = Vec::new();
        let mut fresh = true;
        loop {
            let directives = self.pragmas_before(fresh, &mut stmts);
            if self.is(Punct::RBrace) || self.kind() == TokKind::Eof {
                stmts.extend(directives.iter().map(|d| pragma_alone(d.tok, StmtKind::Pragma)));
            }
            if self.is(Punct::RBrace) {
                self.bump();
                break;
            }
            if self.kind() == TokKind::Eof {
                self.error(start, "this `{` is never closed; write `}` where the block ends");
                break;
            }
            fresh = false;
            let before = self.pos();
            let depth = self.scopes.len();
            match self.statement(true) {
                Ok(s) => stmts.push(self.directed(directives, s)),
                Err(Bad) => {
                    while self.scopes.len() > depth {
                        self.pop_scope();
                    }
                    self.recover();
                    if self.pos() == before && !self.is(Punct::RBrace) {
                        self.bump();
                    }
                }
            }
        }
        let has_upc = stmts.iter().any(|s| s.has_upc);
        Ok(Block { toks: self.since(start), stmts, has_upc })
    }

    /// The pragmas before a statement: those about it, and into `alone` what comes before the first of these.
    fn pragmas_before(&mut self, fresh: bool, alone: &mut Vec<Stmt>) -> Vec<Directive> {
        let mut directives = Vec::new();
        while let Some((tok, kind)) = self.take_pragma(fresh) {
            match kind {
                PragmaKind::Upc => alone.push(pragma_alone(tok, StmtKind::UpcPragma)),
                PragmaKind::Directive(demands) => directives.push(self.directive(tok, demands)),
                PragmaKind::Other if directives.is_empty() => {
                    alone.push(pragma_alone(tok, StmtKind::Pragma));
                }
                // Nothing may come between.
                PragmaKind::Other => {
                    directives.push(Directive { tok, demands: Demands::default(), names: Vec::new() });
                }
            }
        }
        directives
    }

    /// A statement with the pragmas about it.
    fn directed(&self, pragmas: Vec<Directive>, s: Stmt) -> Stmt {
        let Some(first) = pragmas.first() else { return s };
        let toks = TokRange::new(first.tok, first.tok + 1).to(s.toks);
        // Threads are told whether a `upc_forall` is around.
        let told = self.foralls && pragmas.iter().any(|p| p.demands.threads);
        let named = |p: &Directive| p.names.iter().any(|n| n.1 != DirectiveName::DefaultNone);
        let has_upc = s.has_upc || told || pragmas.iter().any(named);
        Stmt { kind: StmtKind::Directed { pragmas, body: Box::new(s) }, toks, has_upc }
    }

    /// A statement that is the body of another; pragmas of other things before it make a block of the two.
    fn sub_statement(&mut self) -> PResult<Box<Stmt>> {
        let mut pragmas = Vec::new();
        let directives = self.pragmas_before(false, &mut pragmas);
        let s = self.statement(false)?;
        let s = self.directed(directives, s);
        if pragmas.is_empty() {
            return Ok(Box::new(s));
        }
        let (toks, has_upc) = (pragmas[0].toks.to(s.toks), s.has_upc);
        pragmas.push(s);
        let kind = StmtKind::Block(Block { toks, stmts: pragmas, has_upc });
        Ok(Box::new(Stmt { kind, toks, has_upc }))
    }

    /// A statement; with `decls`, or a declaration.
    fn statement(&mut self, decls: bool) -> PResult<Stmt> {
        self.nested(|cx| cx.statement_inner(decls))
    }

    fn make(&self, start: TokIdx, kind: StmtKind, has_upc: bool) -> Stmt {
        Stmt { kind, toks: self.since(start), has_upc }
    }

    fn statement_inner(&mut self, decls: bool) -> PResult<Stmt> {
        let start = self.pos();
        if self.is(Punct::LBrace) {
            let b = self.block()?;
            let upc = b.has_upc;
            return Ok(self.make(start, StmtKind::Block(b), upc));
        }
        if self.eat(Punct::Semi) {
            return Ok(self.make(start, StmtKind::Empty, false));
        }
        if self.ident().is_some() && self.ahead(1) == TokKind::Punct(Punct::Colon) {
            return self.label(start);
        }
        if self.is(Punct::LBracket) && self.is_attribute() && !self.starts_decl() {
            let mut attrs = Attrs::default();
            self.attributes(&mut attrs)?;
            if self.eat(Punct::Semi) {
                return Ok(self.make(start, StmtKind::Attribute, false));
            }
            return self.statement_inner(decls);
        }
        if self.starts_decl() || self.is_kw(Kw::StaticAssert) {
            if !decls && !self.is_kw(Kw::StaticAssert) {
                self.error(start, "a declaration cannot stand alone here; put it in braces");
            }
            return self.declaration_statement(start);
        }
        if decls && self.unknown_type() {
            return Err(Bad);
        }
        match self.kw() {
            Some(k) => self.keyword_statement(start, k),
            None => self.expression_statement(start),
        }
    }

    /// A statement that begins with a keyword that starts no declaration.
    fn keyword_statement(&mut self, start: TokIdx, k: Kw) -> PResult<Stmt> {
        match k {
            Kw::If => self.scoped(|cx| cx.if_statement(start)),
            Kw::While => self.scoped(|cx| cx.while_statement(start)),
            Kw::Do => self.scoped(|cx| cx.do_statement(start)),
            Kw::For | Kw::Forall => self.scoped(|cx| cx.for_statement(start, k == Kw::Forall)),
            Kw::Switch => self.scoped(|cx| cx.switch(start)),
            Kw::Case => self.case(start),
            Kw::Default => self.default(start),
            Kw::Goto => self.goto(start),
            Kw::Continue => self.continue_statement(start),
            Kw::Break => self.break_statement(start),
            Kw::Return => self.return_statement(start),
            Kw::Barrier | Kw::Notify | Kw::Wait => self.barrier_statement(start, k),
            Kw::Fence => {
                self.bump();
                self.expect(Punct::Semi, "after `upc_fence`")?;
                Ok(self.make(start, StmtKind::Fence, true))
            }
            Kw::Asm => {
                let a = self.asm_statement(start)?;
                let upc = a.operands.iter().any(|o| o.expr.has_upc);
                Ok(self.make(start, StmtKind::Asm(a), upc))
            }
            Kw::Label => {
                self.bump();
                while self.kind() != TokKind::Eof && !self.is(Punct::Semi) {
                    self.bump();
                }
                self.expect(Punct::Semi, "after `__label__`")?;
                Ok(self.make(start, StmtKind::LocalLabels, false))
            }
            Kw::Attribute => {
                let mut a = Attrs::default();
                self.attributes(&mut a)?;
                self.expect(Punct::Semi, "after this attribute")?;
                Ok(self.make(start, StmtKind::Attribute, false))
            }
            Kw::Else => {
                self.error(start, "this `else` belongs to no `if`");
                Err(Bad)
            }
            _ => self.expression_statement(start),
        }
    }

    fn declaration_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        let kind = self.block_declaration()?;
        let upc = match &kind {
            StmtKind::Decl(d) => d.has_upc,
            StmtKind::NestedFunc(f) => f.has_upc,
            StmtKind::StaticAssert => true,
            _ => false,
        };
        Ok(self.make(start, kind, upc))
    }

    fn if_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        let cond = self.condition("if")?;
        let then = self.sub_statement()?;
        let els = if self.eat_kw(Kw::Else) { Some(self.chained(Self::sub_statement)?) } else { None };
        let upc = cond.has_upc || then.has_upc || els.as_ref().is_some_and(|e| e.has_upc);
        Ok(self.make(start, StmtKind::If { cond, then, els }, upc))
    }

    fn while_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        let cond = self.condition("while")?;
        let body = self.loop_body()?;
        let upc = cond.has_upc || body.has_upc || looked_at(&cond, &body, &self.types).is_some();
        Ok(self.make(start, StmtKind::While { cond, body }, upc))
    }

    fn do_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        let body = self.loop_body()?;
        if !self.eat_kw(Kw::While) {
            let found = self.found();
            self.error_here(format!("expected `while` after the body of `do`, found {found}"));
            return Err(Bad);
        }
        let cond = self.condition("while")?;
        self.expect(Punct::Semi, "after `do ... while (...)`")?;
        let upc = cond.has_upc || body.has_upc || looked_at(&cond, &body, &self.types).is_some();
        Ok(self.make(start, StmtKind::DoWhile { body, cond }, upc))
    }

    fn default(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        self.expect(Punct::Colon, "after `default`")?;
        match self.func.as_mut().and_then(|f| f.switches.last_mut()) {
            None => self.error(start, "`default` belongs inside a `switch`"),
            Some(s) => {
                if let Some(old) = s.default.replace(start) {
                    self.error(start, "this `switch` has a `default` already");
                    self.note(old, "the first is here");
                }
            }
        }
        self.check_case_place(start);
        let body = self.labelled()?;
        let upc = body.has_upc;
        Ok(self.make(start, StmtKind::Default { body }, upc))
    }

    fn goto(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        if self.eat(Punct::Star) {
            let e = self.expression_rvalue()?;
            let pointer = self.types.is_pointer(e.ty) && !self.types.is_pts(e.ty);
            if !pointer && !self.types.is_error(e.ty) {
                let t = self.show(e.ty);
                self.error(e.toks.start, format!("`goto *` needs the address of a label, this is `{t}`"));
            }
            self.expect(Punct::Semi, "after `goto`")?;
            let upc = e.has_upc;
            return Ok(self.make(start, StmtKind::GotoPtr(Box::new(e)), upc));
        }
        let Some(s) = self.ident() else {
            let found = self.found();
            self.error_here(format!("expected a label after `goto`, found {found}"));
            return Err(Bad);
        };
        let tok = self.bump();
        self.add_goto(s, tok);
        self.expect(Punct::Semi, "after `goto`")?;
        Ok(self.make(start, StmtKind::Goto(s), false))
    }

    fn continue_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        if self.func.as_ref().is_none_or(|f| f.loops == 0) {
            self.error(start, "`continue` belongs inside a loop");
        }
        self.expect(Punct::Semi, "after `continue`")?;
        Ok(self.make(start, StmtKind::Continue, false))
    }

    fn break_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        match self.func.as_ref().and_then(|f| f.breaks.last()) {
            None => self.error(start, "`break` belongs inside a loop or `switch`"),
            Some(true) => self.jumps_out("break", start),
            Some(false) => {}
        }
        self.expect(Punct::Semi, "after `break`")?;
        Ok(self.make(start, StmtKind::Break, false))
    }

    fn return_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        let e = if self.is(Punct::Semi) { None } else { Some(self.expression()?) };
        let e = self.check_return(start, e);
        self.check_return_place(start);
        self.expect(Punct::Semi, "after `return`")?;
        let upc = e.as_ref().is_some_and(|e| e.has_upc);
        Ok(self.make(start, StmtKind::Return(e.map(Box::new)), upc))
    }

    /// `upc_barrier`, `upc_notify` or `upc_wait`, with or without a value.
    fn barrier_statement(&mut self, start: TokIdx, k: Kw) -> PResult<Stmt> {
        self.bump();
        let word = self.toks.spelling(start).to_owned();
        // By the program's lines: a macro of the system begins a line of preprocessed text.
        let (at, value) = (self.toks.tok(start), self.toks.tok(self.pos()));
        let next_line = (at.file, at.line) != (value.file, value.line) && !self.is(Punct::Semi);
        let e = if next_line && !self.starts_value() {
            // The next statement begins here.
            let found = self.found();
            self.error_after(start, format!("expected `;` after `{word}`, found {found}"));
            None
        } else {
            let e = if self.is(Punct::Semi) { None } else { Some(self.expression()?) };
            self.expect(Punct::Semi, &format!("after `{word}`"))?;
            if next_line {
                self.warn_after(
                    start,
                    format!(
                        "the value of `{word}` is what the next line says; is a `;` missing after `{word}`?"
                    ),
                );
            }
            e
        };
        let e = e.map(|e| Box::new(self.barrier_value(e, &word)));
        let kind = match k {
            Kw::Barrier => StmtKind::Barrier(e),
            Kw::Notify => StmtKind::Notify(e),
            _ => StmtKind::Wait(e),
        };
        Ok(self.make(start, kind, true))
    }

    /// Whether what comes next can be a value.
    fn starts_value(&self) -> bool {
        use Kw::*;
        let statement = matches!(
            self.kw(),
            Some(
                If | Else
                    | While
                    | Do
                    | For
                    | Forall
                    | Switch
                    | Case
                    | Default
                    | Goto
                    | Continue
                    | Break
                    | Return
                    | Barrier
                    | Notify
                    | Wait
                    | Fence
                    | Asm
            )
        );
        !statement && !self.is(Punct::RBrace) && !self.is(Punct::LBrace) && !self.starts_decl()
    }

    fn expression_statement(&mut self, start: TokIdx) -> PResult<Stmt> {
        let e = self.expression()?;
        self.expect(Punct::Semi, "after this expression")?;
        let upc = e.has_upc;
        Ok(self.make(start, StmtKind::Expr(Box::new(e)), upc))
    }

    fn label(&mut self, start: TokIdx) -> PResult<Stmt> {
        let Some(name) = self.ident() else { return Err(Bad) };
        self.bump();
        self.bump();
        let mut attrs = Attrs::default();
        if self.is_attribute() {
            self.attributes(&mut attrs)?;
        }
        if let Some(f) = &mut self.func
            && let Some(&old) = f.labels.get(&name)
        {
            // Local labels (`__label__`) may repeat; they are rare enough to leave to the programmer.
            let local = (self.toks.toks.iter())
                .any(|t| matches!(t.kind, TokKind::Ident(s) if keyword::keyword(s) == Some(Kw::Label)));
            if !local {
                let text = format!("duplicate label `{}`", self.name(name));
                self.error(start, text);
                self.note(old, "the first is here");
            }
        } else {
            self.add_label(name, start);
        }
        let body = self.labelled()?;
        let upc = body.has_upc;
        Ok(self.make(start, StmtKind::Label { name, attrs: attrs.range(), body }, upc))
    }

    /// The statement after a label; nothing before `}` and a declaration are tolerated, as gcc does.
    fn labelled(&mut self) -> PResult<Box<Stmt>> {
        if self.is(Punct::RBrace) {
            let at = self.prev_end;
            return Ok(Box::new(Stmt { kind: StmtKind::Empty, toks: TokRange::new(at, at), has_upc: false }));
        }
        if self.starts_decl() {
            let s = self.statement(true)?;
            return Ok(Box::new(s));
        }
        self.chained(Self::sub_statement)
    }

    fn condition(&mut self, word: &str) -> PResult<Box<Expr>> {
        self.expect(Punct::LParen, &format!("after `{word}`"))?;
        let e = self.expression()?;
        let e = self.scalar_condition(e);
        self.expect(Punct::RParen, "after the condition")?;
        Ok(Box::new(e))
    }

    fn loop_body(&mut self) -> PResult<Box<Stmt>> {
        self.body_of(None)
    }

    /// The body of a loop, of the `upc_forall` that begins there if it is one that deals out its iterations.
    fn body_of(&mut self, forall: Option<TokIdx>) -> PResult<Box<Stmt>> {
        let regions = self.regions();
        if let Some(f) = &mut self.func {
            f.loops += 1;
            f.breaks.push(forall.is_some());
            f.regions.extend(forall.map(Region::Forall));
        }
        let r = self.sub_statement();
        self.leave_regions(regions);
        if let Some(f) = &mut self.func {
            f.loops -= 1;
            f.breaks.pop();
        }
        r
    }

    fn for_statement(&mut self, start: TokIdx, forall: bool) -> PResult<Stmt> {
        let word = if forall { "upc_forall" } else { "for" };
        self.bump();
        self.expect(Punct::LParen, &format!("after `{word}`"))?;
        let mut upc = forall;
        let init = if self.eat(Punct::Semi) {
            ForInit::None
        } else if self.starts_decl() {
            match self.block_declaration()? {
                StmtKind::Decl(d) => {
                    upc |= d.has_upc;
                    self.check_for_declaration(&d);
                    ForInit::Decl(d)
                }
                _ => {
                    self.error(start, "a function cannot be defined here");
                    ForInit::None
                }
            }
        } else {
            let e = self.expression()?;
            self.expect(Punct::Semi, "after the first clause")?;
            upc |= e.has_upc;
            ForInit::Expr(Box::new(e))
        };
        let cond = if self.is(Punct::Semi) {
            None
        } else {
            let e = self.expression()?;
            let e = self.scalar_condition(e);
            upc |= e.has_upc;
            Some(Box::new(e))
        };
        self.expect(Punct::Semi, "after the condition")?;
        let step = if self.is(Punct::RParen) || self.is(Punct::Semi) {
            None
        } else {
            let e = self.expression()?;
            upc |= e.has_upc;
            Some(Box::new(e))
        };
        let mut affinity = Affinity::Always;
        if forall {
            self.expect(Punct::Semi, "before the affinity of `upc_forall`")?;
            if self.is_kw(Kw::Continue) {
                self.bump();
            } else if !self.is(Punct::RParen) {
                let e = self.expression()?;
                affinity = self.affinity(e);
            }
        }
        self.expect(Punct::RParen, &format!("after the clauses of `{word}`"))?;
        let body = self.body_of((!matches!(affinity, Affinity::Always)).then_some(start))?;
        upc |= body.has_upc;
        if let (Some(cond), None) = (&cond, &step) {
            upc |= looked_at(cond, &body, &self.types).is_some();
        }
        let kind = if forall {
            StmtKind::Forall(Box::new(Forall { init, cond, step, affinity, body }))
        } else {
            StmtKind::For { init, cond, step, body }
        };
        Ok(self.make(start, kind, upc))
    }

    fn switch(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        self.expect(Punct::LParen, "after `switch`")?;
        let e = self.expression()?;
        let value = self.switch_value(e);
        self.expect(Punct::RParen, "after the value of `switch`")?;
        if let Some(f) = &mut self.func {
            f.breaks.push(false);
            let regions = f.regions.len();
            f.switches.push(SwitchState { regions, ty: Some(value.ty), ..SwitchState::default() });
        }
        let body = self.sub_statement();
        if let Some(f) = &mut self.func {
            f.breaks.pop();
            f.switches.pop();
        }
        let body = body?;
        let upc = value.has_upc || body.has_upc;
        Ok(self.make(start, StmtKind::Switch { value: Box::new(value), body }, upc))
    }

    fn case(&mut self, start: TokIdx) -> PResult<Stmt> {
        self.bump();
        let lo = self.bounded(Self::conditional_rvalue)?;
        let hi = if self.eat(Punct::Ellipsis) { Some(self.bounded(Self::conditional_rvalue)?) } else { None };
        self.expect(Punct::Colon, "after the value of `case`")?;
        let (lo, hi) = self.case_label(start, lo, hi);
        self.check_case_place(start);
        let body = self.labelled()?;
        let upc = body.has_upc || lo.has_upc || hi.as_ref().is_some_and(|h| h.has_upc);
        Ok(self.make(start, StmtKind::Case { lo: Box::new(lo), hi: hi.map(Box::new), body }, upc))
    }

    fn asm_statement(&mut self, start: TokIdx) -> PResult<Asm> {
        self.bump();
        while matches!(self.kw(), Some(Kw::Volatile | Kw::Inline | Kw::Goto)) {
            self.bump();
        }
        self.expect(Punct::LParen, "after `asm`")?;
        while self.kind() == TokKind::Str {
            self.bump();
        }
        let mut operands = Vec::new();
        let mut section = 0;
        loop {
            if self.eat(Punct::Colon) {
                section += 1;
                continue;
            }
            if self.eat(Punct::ColonColon) {
                section += 2;
                continue;
            }
            if self.eat(Punct::RParen) {
                break;
            }
            if self.eat(Punct::Comma) {
                continue;
            }
            if self.is(Punct::LBracket) {
                self.skip_group()?;
                continue;
            }
            match self.kind() {
                TokKind::Str => {
                    self.bump();
                }
                TokKind::Punct(Punct::LParen) if section == 1 || section == 2 => {
                    self.bump();
                    let e = self.expression()?;
                    let output = section == 1;
                    if output && !self.types.is_array(e.ty) {
                        self.check_modifiable(&e, e.toks.start, "an output of `asm`");
                    }
                    if let Some(d) = e.variable() {
                        self.decls[d.0 as usize].addressed = true;
                    }
                    let e = if output || self.types.is_array(e.ty) { e } else { self.rvalue(e) };
                    self.expect(Punct::RParen, "after the operand")?;
                    operands.push(AsmOperand { expr: e, output });
                }
                TokKind::Ident(s) if section >= 3 => {
                    let tok = self.bump();
                    // Labels of `asm goto`.
                    if section == 4 {
                        self.add_goto(s, tok);
                    }
                }
                _ => {
                    let found = self.found();
                    self.error_here(format!("expected an operand or `)` in `asm`, found {found}"));
                    return Err(Bad);
                }
            }
        }
        self.expect(Punct::Semi, "after `asm`")?;
        Ok(Asm { toks: self.since(start), operands })
    }
}

/// A pragma that is a statement by itself.
fn pragma_alone(tok: TokIdx, kind: StmtKind) -> Stmt {
    Stmt { kind, toks: TokRange::new(tok, tok + 1), has_upc: false }
}
