//! A printer of the [intermediate form](crate::ir), for `upcc --dump=ir` and for tests.
//!
//! The output has, for each function that uses UPC and in the order of the source, one line for each loop
//! and each access to a shared object, with its line number. Below each come the changes of passes, one
//! line for each pass, with its name.
//!
//! An access: what is done, in which order, to what type, and the place. A loop: how it counts, or as what it
//! was left. Reads that are started before a statement are told before it.

use super::ty;
use crate::front::ast::{Affinity, Expr, FuncDef, ItemKind, Stmt, StmtKind, TranslationUnit};
use crate::ir::{
    Access, Action, Blocks, Code, Count, CountStep, Form, Index, Iterations, Order, OwnIterations, Pace,
    Place, Share, Spread, Stretches, Style, Vectors,
};
use crate::{lower, opt};
use std::fmt::Write;

/// The code of the whole unit, system headers' functions left out, and what these passes make of it.
pub fn unit(u: &TranslationUnit, passes: opt::Passes) -> String {
    let mut out = String::new();
    for item in u.items.iter().filter(|i| !u.tokens.tok(i.toks.start).system) {
        if let ItemKind::Func(f) = &item.kind
            && f.has_upc
        {
            function(u, f, passes, &mut out);
        }
    }
    out
}

fn function(u: &TranslationUnit, f: &FuncDef, passes: opt::Passes, out: &mut String) {
    let optimiser = opt::Optimiser::new(u, passes);
    let context = optimiser.function(f);
    let _ = writeln!(out, "function {}", u.name(u.decl(f.decl).name));
    if context.large {
        out.push_str("    outline: accesses are calls\n");
    }
    let mut lines = Lines { u, all: Vec::new() };
    for code in &optimiser.sequence(&f.body.stmts, &context) {
        lines.code(code, context.style);
    }
    for access in f.body.stmts.iter().flat_map(|s| lower::accesses(u, s)) {
        let lowered = place(u, &access.place);
        lines.put(access.lvalue.toks.start, &line(u, &access, &lowered));
        let joined = place(u, &optimiser.joined(access.place));
        if joined != lowered {
            lines.made("hoist", &joined);
        }
    }
    // The lines about a statement come before those about its parts.
    lines.all.sort_by_key(|(token, _)| *token);
    out.extend(lines.all.into_iter().map(|(_, text)| text));
}

/// Lines, and the tokens that they are about.
struct Lines<'u> {
    u: &'u TranslationUnit,
    all: Vec<(u32, String)>,
}

impl Lines<'_> {
    fn put(&mut self, token: u32, text: &str) {
        self.all.push((token, format!("  {}: {text}\n", self.u.tokens.tok(token).line)));
    }

    /// Appends the result of a pass to the last line.
    fn made(&mut self, pass: &str, text: &str) {
        if let Some((_, last)) = self.all.last_mut() {
            let _ = writeln!(last, "    {pass}: {text}");
        }
    }

    /// A statement and all in it, within code of a style.
    fn code(&mut self, code: &Code<'_>, around: Style) {
        let (u, token) = (self.u, code.stmt.toks.start);
        if let Some(ahead) = &code.ahead {
            let s = if ahead.statements == 1 { "" } else { "s" };
            self.put(token, &format!("{} statement{s}", ahead.statements));
            self.made("split-phase", &format!("started before: {}", operands(u, &ahead.reads)));
        }
        if let Some(text) = self.head(code.stmt) {
            self.put(token, &text);
            if code.context.style != around {
                self.made("outline", "accesses are inline code");
            }
        }
        match &code.form {
            Form::Written(parts) => parts.iter().for_each(|c| self.code(c, code.context.style)),
            Form::Kept(why, body) => {
                self.made("as written", why);
                self.code(body, code.context.style);
            }
            Form::Loop(made) => self.iterations(&made.each, code.context.style),
            Form::Share(share) => self.share(share, code.context.style),
        }
    }

    /// A loop, as it was written.
    fn head(&self, s: &Stmt) -> Option<String> {
        let u = self.u;
        let opt = |e: &Option<Box<Expr>>| e.as_ref().map_or(String::new(), |e| operand(u, e));
        Some(match &s.kind {
            StmtKind::While { cond, .. } => format!("while ({})", operand(u, cond)),
            StmtKind::DoWhile { cond, .. } => format!("do while ({})", operand(u, cond)),
            StmtKind::For { cond, step, .. } => format!("for ({}; {})", opt(cond), opt(step)),
            StmtKind::Forall(f) => {
                let whose = match &f.affinity {
                    Affinity::Always => "all".into(),
                    Affinity::Int(e) | Affinity::Pts(e) => operand(u, e),
                };
                format!("upc_forall ({}; {}; {whose})", opt(&f.cond), opt(&f.step))
            }
            _ => return None,
        })
    }

    fn count(&self, c: &Count<'_>) -> String {
        let less = if c.inclusive { "<=" } else { "<" };
        format!("{} {less} {}", self.u.name(self.u.decl(c.var).name), operand(self.u, c.bound))
    }

    fn share(&mut self, share: &Share<'_>, style: Style) {
        let u = self.u;
        let count = self.count(&share.count);
        match &share.own {
            OwnIterations::Turns(e, each) => {
                self.made(
                    "forall",
                    &format!("{count}, every THREADS-th from the one numbered {}", operand(u, e)),
                );
                self.iterations(each, style);
            }
            OwnIterations::Rows { at, row, blocks } => {
                let at = place(u, at);
                self.made(
                    "forall",
                    &format!("{count}, rows of {row}, {} in a block, from {at}", blocks.block),
                );
                self.blocks(blocks, style);
            }
            OwnIterations::Blocks(at, blocks) => {
                let at = place(u, at);
                self.made("forall", &format!("{count}, blocks of {}, from {at}", blocks.block));
                self.blocks(blocks, style);
            }
            OwnIterations::Memory(at, memory) => {
                let at = place(u, at);
                self.made("forall", &format!("{count}, own memory in blocks of {}, from {at}", memory.block));
                let nodes: Vec<&Expr> = memory.elements.iter().map(|o| o.nodes[0]).collect();
                self.made("privatise", &operands(u, &nodes));
                self.made("vector", &strips(memory.strip));
                self.code(&memory.body, style);
            }
        }
    }

    fn blocks(&mut self, blocks: &Blocks<'_>, style: Style) {
        if !blocks.elements.is_empty() {
            let nodes: Vec<&Expr> = blocks.elements.iter().map(|o| o.nodes[0]).collect();
            self.made("privatise", &operands(self.u, &nodes));
        }
        self.iterations(&blocks.each, style);
    }

    fn iterations(&mut self, each: &Iterations<'_>, style: Style) {
        if !each.once.is_empty() {
            let once: Vec<&Expr> = each.once.iter().map(|alike| alike[0]).collect();
            self.made("hoist", &format!("read once: {}", operands(self.u, &once)));
        }
        match &each.pace {
            Pace::Single(why, body) => {
                self.made("one by one", why);
                self.code(body, style);
            }
            Pace::Stretches(made) => {
                self.stretches(made, each.step);
                self.code(&made.body, style);
            }
        }
    }

    fn stretches(&mut self, made: &Stretches<'_>, step: CountStep) {
        let u = self.u;
        for run in &made.runs {
            let by = if step == CountStep::Threads { "by THREADS" } else { "by 1" };
            let how = match (run.fetched, run.written) {
                (true, true) => "fetched and taken back",
                (_, false) => "fetched",
                (false, true) => "taken back",
            };
            self.made("run", &format!("{} {by}, {how}", place(u, &run.first)));
        }
        if !made.gathers.is_empty() {
            self.made("split-phase", &format!("gathered: {}", operands(u, &made.gathers)));
        }
        if made.near.is_none() {
            self.made("privatise", "runs that are near are used in place");
        }
        match &made.far {
            Ok(pointers) => {
                let mut text = format!("stretches that are far are brought, {} at a time", made.most);
                if !pointers.is_empty() {
                    let _ = write!(text, ", if private: {}", operands(u, pointers));
                }
                self.made("coalesce", &text);
            }
            Err(why) => self.made("not brought", why),
        }
        if let Some(Vectors { chunk, strip, .. }) = &made.vectors {
            self.made("vector", &format!("a multiple of {chunk}, {}", strips(*strip)));
        }
    }
}

fn strips(strip: Option<u64>) -> String {
    strip.map_or("in one piece".into(), |n| format!("in strips of {n}"))
}

fn operands(u: &TranslationUnit, all: &[&Expr]) -> String {
    all.iter().map(|e| operand(u, e)).collect::<Vec<_>>().join(", ")
}

fn line(u: &TranslationUnit, access: &Access<'_>, place: &str) -> String {
    let action = match access.action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Update => "update",
    };
    let order = match access.order {
        Order::Strict => "strict",
        Order::Volatile => "volatile",
        Order::Relaxed => "relaxed",
    };
    format!("{action} {order} {}: {place}", ty(u, access.ty))
}

/// A place.
pub fn place(u: &TranslationUnit, p: &Place<'_>) -> String {
    let show = |p: &Place<'_>| place(u, p);
    match p {
        Place::Variable(d) => u.name(u.decl(*d).name).to_string(),
        Place::Start(of) => format!("start({})", show(of)),
        Place::Pointer(e) => format!("at({})", operand(u, e)),
        Place::Null => "null".into(),
        Place::Element { from, by, spread, .. } => {
            let by: Vec<String> = by.iter().map(|i| index(u, i)).collect();
            format!("element({}, [{}], {})", show(from), by.join(", "), dealt(*spread))
        }
        Place::Moved { from, by, back, spread } => {
            let sign = if *back { "-" } else { "" };
            format!("moved({}, {sign}[{}], {})", show(from), index(u, by), dealt(*spread))
        }
        Place::Member { of, record, path } => {
            let mut names = Vec::new();
            let mut record = *record;
            for &f in *path {
                let field = &u.types.records[record.0 as usize].fields[f as usize];
                names.extend(field.name.map(|n| u.name(n)));
                if let crate::front::types::TypeKind::Record(r) = *u.types.ckind(field.ty) {
                    record = r;
                }
            }
            format!("member({}, {})", show(of), names.join("."))
        }
        Place::Part { of, bytes } => format!("part({}, {bytes})", show(of)),
        Place::NoPhase(of) => format!("no-phase({})", show(of)),
        Place::After(e, then) => format!("after({}, {})", operand(u, e), show(then)),
        Place::Either(c, a, b) => format!("either({}, {}, {})", operand(u, c), show(a), show(b)),
        Place::OrElse(a, b) => format!("or-else({}, {})", show(a), show(b)),
    }
}

/// An operand, as it was written.
fn operand(u: &TranslationUnit, e: &Expr) -> String {
    u.tokens.range_text(e.toks).trim().to_string()
}

fn index(u: &TranslationUnit, i: &Index<'_>) -> String {
    if u.types.is_array(i.of) {
        format!("{} of {}", operand(u, i.count), ty(u, i.of))
    } else {
        operand(u, i.count)
    }
}

fn dealt(s: Spread) -> String {
    format!("{} x {}", s.block, s.size)
}
