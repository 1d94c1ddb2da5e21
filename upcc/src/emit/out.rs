//! The text being emitted, and where the C compiler believes it is.

use crate::front::token::{TokIdx, TokKind, TokRange, TokenBuf};
use std::collections::HashMap;

impl Out {
    /// An empty text.
    pub fn new(lines: bool, flat: u32, tags: HashMap<TokIdx, String>) -> Out {
        Out { lines, flat, tags, ..Out::default() }
    }
}

/// Output with line tracking: every token lands on the line (as `#line` counts) that it was read from.
#[derive(Debug, Default)]
pub struct Out {
    /// The text.
    pub text: String,
    /// File and line of the text's end, if in step with the source.
    at: Option<(u32, u32)>,
    /// No line structure: inside an expression.
    pub flat: u32,
    /// Emit `#line`.
    pub lines: bool,
    /// Tags to give to anonymous records: by the token of their `struct`.
    pub tags: HashMap<TokIdx, String>,
    indent: usize,
}

impl Out {
    /// Appends text of the emitter's own. No line ends.
    pub fn put(&mut self, s: &str) {
        self.text.push_str(s);
    }

    /// Appends whole lines of the emitter's own; the place in the source is lost.
    pub fn own_lines(&mut self, s: &str) {
        if s.is_empty() {
            return;
        }
        self.fresh_line();
        self.text.push_str(s);
        if !s.ends_with('\n') {
            self.text.push('\n');
        }
        self.at = None;
    }

    fn fresh_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
            if let Some((_, l)) = &mut self.at {
                *l += 1;
            }
        }
    }

    /// Brings the output to the line of token `i`.
    pub fn sync(&mut self, tb: &TokenBuf, i: TokIdx) {
        if self.flat > 0 {
            self.space();
            return;
        }
        let t = tb.tok(i);
        let col = (t.col as usize).saturating_sub(1).min(60);
        match self.at {
            Some((f, l)) if f == t.file && l == t.line => {
                self.space();
                return;
            }
            Some((f, l)) if f == t.file && l < t.line && t.line - l <= 8 => {
                for _ in l..t.line {
                    self.text.push('\n');
                }
            }
            _ => {
                self.fresh_line();
                if self.lines {
                    let name = tb.files.get(t.file as usize).map_or("", |f| f.name.as_str());
                    self.text.push_str(&format!("#line {} {}\n", t.line, string_literal(name)));
                }
            }
        }
        self.at = Some((t.file, t.line));
        self.indent = if t.bol { col } else { self.indent };
        let pad = self.indent;
        self.text.extend(std::iter::repeat_n(' ', pad));
    }

    /// A blank, unless there is one.
    pub fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n', '(']) {
            self.text.push(' ');
        }
    }

    /// Tokens as read.
    pub fn tokens(&mut self, tb: &TokenBuf, r: TokRange) {
        for i in r.start..r.end.min(tb.toks.len() as u32) {
            let t = tb.tok(i);
            if t.kind == TokKind::Pragma {
                self.pragma(tb, i);
                continue;
            }
            if t.bol || i == r.start || self.at.is_none() {
                self.sync(tb, i);
            } else if t.space {
                self.space();
            }
            self.text.push_str(tb.spelling(i));
            if let Some(tag) = self.tags.get(&i) {
                self.text.push(' ');
                self.text.push_str(tag);
            }
        }
    }

    /// A pragma: on a line of its own, or as an operator inside an expression.
    pub fn pragma(&mut self, tb: &TokenBuf, i: TokIdx) {
        self.pragma_text(tb, i, tb.spelling(i));
    }

    /// The same with another text.
    pub fn pragma_text(&mut self, tb: &TokenBuf, i: TokIdx, text: &str) {
        let s = text.trim();
        if self.flat > 0 {
            let body = s.trim_start_matches('#').trim_start().trim_start_matches("pragma").trim();
            let body = body.replace('\\', "\\\\").replace('"', "\\\"");
            self.text.push_str(&format!(" _Pragma(\"{body}\") "));
            return;
        }
        self.fresh_line();
        self.sync(tb, i);
        self.fresh_line();
        self.text.push_str(s);
        self.text.push('\n');
        if let Some((_, l)) = &mut self.at {
            *l += 1;
        }
    }
}

/// A name as a string literal of C, whatever characters a file may have in its name.
pub fn string_literal(name: &str) -> String {
    let mut s = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => s.extend(['\\', c]),
            c if c.is_ascii_control() => s.push_str(&format!("\\{:03o}", u32::from(c))),
            c => s.push(c),
        }
    }
    s.push('"');
    s
}

/// Tokens as one line of text.
pub fn flat(tb: &TokenBuf, r: TokRange, tags: &HashMap<TokIdx, String>) -> String {
    let mut o = Out { at: Some((0, 0)), ..Out::new(false, 1, tags.clone()) };
    o.tokens(tb, r);
    o.text
}
