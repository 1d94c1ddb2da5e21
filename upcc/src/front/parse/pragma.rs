//! Pragmas: `#pragma upc` and `#pragma pack` are acted upon, those about the statement after them belong to
//! it, all others are kept in place.

mod directive;

use super::*;

/// Kinds of pragma lines.
pub(crate) enum PragmaKind {
    /// `#pragma upc ...`: emit nothing.
    Upc,
    /// A pragma about the statement after it.
    Directive(Demands),
    /// Any other.
    Other,
}

impl Parser<'_> {
    /// The next pragma that stands directly before the current token and has not been taken, with its kind.
    /// To be called where items or statements begin.
    pub(crate) fn take_pragma(&mut self, fresh_block: bool) -> Option<(TokIdx, PragmaKind)> {
        let mut first = self.pos();
        while first > self.pragma_done && first > 0 && self.toks.tok(first - 1).kind == TokKind::Pragma {
            first -= 1;
        }
        if first >= self.pos() {
            return None;
        }
        // Pragmas that were passed over stood inside a construct.
        self.passed_pragmas(first);
        self.pragma_done = first + 1;
        let kind = self.pragma(first, fresh_block);
        Some((first, kind))
    }

    /// Complains about `#pragma upc` in places where it means nothing.
    fn passed_pragmas(&mut self, end: TokIdx) {
        for i in self.pragma_done..end {
            if self.toks.tok(i).kind == TokKind::Pragma && is_upc(self.toks.spelling(i)) {
                self.warn(
                    i,
                    "`#pragma upc` must stand between declarations at file scope or first in a block; it is ignored here",
                );
            }
        }
        self.pragma_done = self.pragma_done.max(end);
    }

    /// At the end of the text.
    pub(crate) fn finish_pragmas(&mut self) {
        let end = self.toks.toks.len() as u32;
        self.passed_pragmas(end);
        for tok in std::mem::take(&mut self.upc_only) {
            self.error(tok, "`#pragma upc start_upc_only` is never ended; write `#pragma upc end_upc_only`");
        }
    }

    /// Pragmas inside a member or enumerator list: layouts matter, the tokens stay.
    pub(crate) fn pragmas_here(&mut self) {
        let mut i = self.pos();
        while i > self.pragma_done && self.toks.tok(i - 1).kind == TokKind::Pragma {
            i -= 1;
        }
        for p in i..self.pos() {
            if !is_upc(self.toks.spelling(p)) {
                self.pragma(p, false);
            }
        }
    }

    fn pragma(&mut self, tok: TokIdx, fresh_block: bool) -> PragmaKind {
        let text = self.toks.spelling(tok).to_owned();
        let body = text.trim_start_matches('#').trim_start().strip_prefix("pragma").unwrap_or("").trim();
        if let Some(rest) = body.strip_prefix("pack") {
            self.pack_pragma(rest.trim());
            return PragmaKind::Other;
        }
        if !is_upc(&text) {
            return match directive::demands(body) {
                // The C compiler would not obey it.
                Some(_) if !self.opts.openmp && body.starts_with(['o', 'a']) => PragmaKind::Upc,
                Some(demands) => PragmaKind::Directive(demands),
                None => PragmaKind::Other,
            };
        }
        let mut words = body.split_whitespace().skip(1);
        let word = words.next();
        let junk = words.next();
        if let Some(j) = junk {
            self.warn(tok, format!("unexpected `{j}` at the end of this pragma"));
        }
        match word {
            None => self.warn(tok, "expected `strict` or `relaxed` after `#pragma upc`"),
            Some(w @ ("strict" | "relaxed")) => {
                if self.scopes.len() > 1 && !fresh_block {
                    self.warn(
                        tok,
                        "`#pragma upc` must stand between declarations at file scope or first in a block; it is ignored here",
                    );
                } else {
                    self.strict = w == "strict";
                    if self.strict && self.scopes.len() == 1 && self.opts.aggregate {
                        self.warn(
                            tok,
                            "-fupc-aggregate does nothing for accesses that are strict, as all are from here on unless they are declared `relaxed`",
                        );
                    }
                }
            }
            // Acted upon by `cmode`.
            Some("c_code") if !self.upc_only.is_empty() => {
                self.error(tok, "`#pragma upc c_code` contradicts the `start_upc_only` before it");
            }
            Some("c_code" | "upc_code") => {}
            Some("start_upc_only") => {
                if self.c_mode.get(tok as usize) == Some(&true) {
                    self.error(
                        tok,
                        "`#pragma upc start_upc_only` contradicts the `c_code` before it; write `#pragma upc upc_code` first",
                    );
                }
                self.upc_only.push(tok);
            }
            Some("end_upc_only") => {
                if self.upc_only.pop().is_none() {
                    self.error(tok, "`#pragma upc end_upc_only` without a `start_upc_only` before it");
                }
            }
            Some(w) => self.warn(tok, format!("unknown `#pragma upc {w}`; expected `strict` or `relaxed`")),
        }
        PragmaKind::Upc
    }

    fn pack_pragma(&mut self, rest: &str) {
        let inside = rest.trim_start_matches('(').trim_end_matches(')');
        for part in inside.split(',').map(str::trim) {
            match part {
                "push" => self.pack.push(self.pack_now),
                "pop" => self.pack_now = self.pack.pop().unwrap_or(0),
                "" => self.pack_now = 0,
                n => {
                    if let Ok(n) = n.parse::<u64>() {
                        self.pack_now = if n.is_power_of_two() && n <= 16 { n } else { 0 };
                    }
                }
            }
        }
    }
}

fn is_upc(text: &str) -> bool {
    let mut words = text.trim_start_matches('#').split_whitespace();
    words.next() == Some("pragma") && words.next() == Some("upc")
}
