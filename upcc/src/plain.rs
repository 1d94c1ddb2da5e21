//! A program as plain C, for the warnings of the C compiler. Warnings about the emitted code would help
//! nobody: the user has never seen that code. This text has the user's own lines.
//!
//! Every token stays on its line and, where possible, in its column. Macros are expanded, and text from
//! system headers is marked as such. UPC constructs become C for which the C compiler gives the same
//! warnings:
//!
//! | UPC | C |
//! |---|---|
//! | `shared [n]`, `strict`, `relaxed` | nothing: objects and pointers are private |
//! | `THREADS`, `MYTHREAD` | variables; in bounds of static arrays a number |
//! | `upc_forall (a; b; c; d) s` | `for (a; b; c) { (void)(d); s }` |
//! | `upc_barrier e;` and its like, `upc_fence;` | calls of functions that nothing is known about |
//! | `upc_blocksizeof` and its like | `sizeof` |

use crate::front::ast::{Affinity, ItemKind, Stmt, StmtKind, Storage, TranslationUnit, walk};
use crate::front::c_mode;
use crate::front::keyword::{Kw, keyword};
use crate::front::token::{Punct, TokKind, TokRange, Token};
use std::collections::HashMap;

/// Declarations of the variables and functions that stand for UPC constructs. They are marked as a system
/// header, so that nothing is said about them.
const NAMES: &str = "# 1 \"<upcc>\" 3\n\
    extern int __upcc_threads, __upcc_mythread; void __upcc_barrier(int, ...), __upcc_notify(int, ...), \
    __upcc_wait(int, ...), __upcc_fence(void);\n";

/// THREADS where C asks for a constant. Large, so that no index seems to be beyond the end of an array of
/// THREADS elements.
const MANY: &str = "1024l";

/// The insertions and replacements that turn the tokens of the program into plain C. Tokens are keys.
struct Changes {
    /// Before a token: `{ (void)(d);` before the body of a `upc_forall`.
    before: HashMap<u32, String>,
    /// After it.
    after: HashMap<u32, String>,
    /// In place of it.
    instead: HashMap<u32, &'static str>,
    /// THREADS has to be a constant.
    constant: Vec<bool>,
}

/// The program as plain C.
pub fn plain(u: &TranslationUnit) -> String {
    let tb = &u.tokens;
    let c = c_mode(tb);
    let changes = changes(u);
    let mut out = Text { text: NAMES.into(), file: u32::MAX, line: 0, column: 1, system: true };
    let mut i = 0;
    let end = tb.toks.len() as u32 - 1;
    // Where parentheses are to be closed: before the `;` of a barrier.
    let mut close: HashMap<u32, &str> = HashMap::new();
    while i < end {
        let t = tb.tok(i);
        if t.kind == TokKind::Pragma {
            out.pragma(u, t, tb.spelling(i));
            i += 1;
            continue;
        }
        let upc = |t: &Token, i: u32| match t.kind {
            TokKind::Ident(s) if c.get(i as usize) != Some(&true) => keyword(s),
            _ => None,
        };
        let mut text = tb.spelling(i);
        let mut next = i + 1;
        match upc(t, i) {
            Some(Kw::Shared) => {
                text = "";
                if tb.tok(next).kind == TokKind::Punct(Punct::LBracket) {
                    next = past_bracket(u, next);
                }
            }
            Some(Kw::Strict | Kw::Relaxed) => text = "",
            Some(Kw::Threads) => text = if changes.constant[i as usize] { MANY } else { "__upcc_threads" },
            Some(Kw::Mythread) => text = if changes.constant[i as usize] { "0" } else { "__upcc_mythread" },
            Some(Kw::Blocksizeof | Kw::Elemsizeof | Kw::Localsizeof) => text = "sizeof",
            Some(Kw::Fence) => text = "__upcc_fence()",
            Some(k @ (Kw::Barrier | Kw::Notify | Kw::Wait)) => {
                let bare = tb.tok(next).kind == TokKind::Punct(Punct::Semi);
                text = match (k, bare) {
                    (Kw::Barrier, true) => "__upcc_barrier(0",
                    (Kw::Barrier, false) => "__upcc_barrier(1, ",
                    (Kw::Notify, true) => "__upcc_notify(0",
                    (Kw::Notify, false) => "__upcc_notify(1, ",
                    (_, true) => "__upcc_wait(0",
                    (_, false) => "__upcc_wait(1, ",
                };
                close.insert(end_of_statement(u, next), ")");
            }
            _ => {}
        }
        if let Some(other) = changes.instead.get(&i) {
            text = other;
        }
        out.token(u, t, changes.before.get(&i).map(String::as_str).or(close.get(&i).copied()), text);
        if let Some(after) = changes.after.get(&i) {
            out.put(after);
        }
        i = next;
    }
    out.text.push('\n');
    out.text
}

/// The token after the bracket that the one at `i` opens.
fn past_bracket(u: &TranslationUnit, mut i: u32) -> u32 {
    let mut depth = 0;
    while (i as usize) < u.tokens.toks.len() - 1 {
        match u.tokens.tok(i).kind {
            TokKind::Punct(Punct::LBracket) => depth += 1,
            TokKind::Punct(Punct::RBracket) => depth -= 1,
            _ => {}
        }
        i += 1;
        if depth == 0 {
            break;
        }
    }
    i
}

/// The `;` that ends the statement in which token `i` is.
fn end_of_statement(u: &TranslationUnit, mut i: u32) -> u32 {
    let mut depth = 0;
    while (i as usize) < u.tokens.toks.len() - 1 {
        match u.tokens.tok(i).kind {
            TokKind::Punct(Punct::LParen | Punct::LBrace | Punct::LBracket) => depth += 1,
            TokKind::Punct(Punct::RParen | Punct::RBrace | Punct::RBracket) => depth -= 1,
            TokKind::Punct(Punct::Semi) if depth == 0 => break,
            _ => {}
        }
        i += 1;
    }
    i
}

fn changes(u: &TranslationUnit) -> Changes {
    let mut c = Changes {
        before: HashMap::new(),
        after: HashMap::new(),
        instead: HashMap::new(),
        constant: vec![true; u.tokens.toks.len()],
    };
    for item in &u.items {
        let ItemKind::Func(f) = &item.kind else { continue };
        set(&mut c.constant, f.body.toks, false);
        for s in &f.body.stmts {
            walk::stmt(s, &mut |s| change(u, s, &mut c), &mut |_| {});
        }
    }
    c
}

fn set(flags: &mut [bool], r: TokRange, to: bool) {
    if let Some(part) = flags.get_mut(r.start as usize..r.end as usize) {
        part.fill(to);
    }
}

fn change(u: &TranslationUnit, s: &Stmt, c: &mut Changes) {
    match &s.kind {
        StmtKind::Decl(d)
            if matches!(d.spec.storage, Storage::Static | Storage::Extern | Storage::Typedef) =>
        {
            set(&mut c.constant, d.toks, true);
        }
        StmtKind::Forall(f) => {
            c.instead.insert(s.toks.start, "for");
            // From the third `;` to the parenthesis that closes.
            let mut semicolons = 0;
            let mut depth = 0;
            let mut affinity = String::new();
            for i in s.toks.start + 1..f.body.toks.start {
                let kind = u.tokens.tok(i).kind;
                match kind {
                    TokKind::Punct(Punct::LParen | Punct::LBrace) => depth += 1,
                    TokKind::Punct(Punct::RParen | Punct::RBrace) => depth -= 1,
                    TokKind::Punct(Punct::Semi) if depth == 1 => semicolons += 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if semicolons == 3 {
                    c.instead.insert(i, "");
                }
            }
            if let Affinity::Int(e) | Affinity::Pts(e) = &f.affinity {
                affinity = format!("(void)({});", expression(u, e.toks));
            }
            let last = f.body.toks.end.max(f.body.toks.start + 1) - 1;
            // Of loops in loops the outermost opens first and closes last.
            let open = c.before.entry(f.body.toks.start).or_default();
            open.push_str(&format!("{{ {affinity}"));
            c.after.entry(last).or_default().push_str(" }");
        }
        _ => {}
    }
}

/// An expression in C, as one line.
fn expression(u: &TranslationUnit, r: TokRange) -> String {
    let mut s = String::new();
    let mut i = r.start;
    while i < r.end {
        let t = u.tokens.tok(i);
        let word = match t.kind {
            TokKind::Ident(sym) => keyword(sym),
            _ => None,
        };
        i += 1;
        s.push_str(match word {
            Some(Kw::Threads) => "__upcc_threads",
            Some(Kw::Mythread) => "__upcc_mythread",
            Some(Kw::Shared) => {
                if u.tokens.tok(i).kind == TokKind::Punct(Punct::LBracket) {
                    i = past_bracket(u, i);
                }
                ""
            }
            Some(Kw::Strict | Kw::Relaxed) => "",
            Some(Kw::Blocksizeof | Kw::Elemsizeof | Kw::Localsizeof) => "sizeof",
            _ => u.tokens.spelling(i - 1),
        });
        s.push(' ');
    }
    s
}

/// Text in step with the source.
struct Text {
    text: String,
    file: u32,
    line: u32,
    column: usize,
    system: bool,
}

impl Text {
    fn put(&mut self, s: &str) {
        self.text.push_str(s);
        self.column += s.len();
    }

    /// Goes to the line of a token.
    fn go(&mut self, u: &TranslationUnit, t: &Token) {
        if (t.file, t.system) == (self.file, self.system) && (self.line..=self.line + 8).contains(&t.line) {
            while self.line < t.line {
                self.text.push('\n');
                (self.line, self.column) = (self.line + 1, 1);
            }
            return;
        }
        let name = u.tokens.files.get(t.file as usize).map_or("", |f| f.name.as_str());
        let name = crate::emit::string_literal(name);
        let system = if t.system { " 3" } else { "" };
        self.text.push_str(&format!("\n# {} {name}{system}\n", t.line));
        (self.file, self.line, self.system, self.column) = (t.file, t.line, t.system, 1);
    }

    fn token(&mut self, u: &TranslationUnit, t: &Token, before: Option<&str>, text: &str) {
        self.go(u, t);
        let column = t.col as usize;
        if self.column < column {
            let blanks = " ".repeat(column - self.column);
            self.put(&blanks);
        } else if t.space || t.bol {
            self.put(" ");
        }
        if let Some(before) = before {
            self.put(before);
            self.put(" ");
        }
        self.put(text);
    }

    fn pragma(&mut self, u: &TranslationUnit, t: &Token, text: &str) {
        let mut words = text.trim_start_matches('#').split_whitespace();
        if (words.next(), words.next()) == (Some("pragma"), Some("upc")) {
            return;
        }
        self.go(u, t);
        if self.column > 1 {
            self.file = u32::MAX;
            self.go(u, t);
        }
        let text = text.replace("MYTHREAD", "__upcc_mythread").replace("THREADS", "__upcc_threads");
        self.text.push_str(&format!("{}\n", text.trim()));
        (self.line, self.column) = (self.line + 1, 1);
    }
}
