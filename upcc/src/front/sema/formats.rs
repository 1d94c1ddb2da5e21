//! Formats of `printf` and `scanf`: where they follow a pointer, one to shared is none that the C library can
//! follow.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::TokKind;

/// Functions, which argument is the format, and whether it reads.
const FUNCTIONS: &[(&str, usize, bool)] = &[
    ("printf", 0, false),
    ("fprintf", 1, false),
    ("dprintf", 1, false),
    ("sprintf", 1, false),
    ("snprintf", 2, false),
    ("asprintf", 1, false),
    ("syslog", 1, false),
    ("scanf", 0, true),
    ("fscanf", 1, true),
    ("sscanf", 1, true),
];

impl Sema<'_> {
    /// Warns of pointers to shared that the format of this call has the C library follow.
    pub(super) fn check_format(&mut self, function: &str, args: &[Expr]) {
        let Some(&(_, at, reads)) = FUNCTIONS.iter().find(|f| f.0 == function) else { return };
        let Some((format, rest)) = args.get(at..).and_then(<[Expr]>::split_first) else { return };
        if !rest.iter().any(|e| self.types.is_pts(e.ty)) {
            return;
        }
        let Some(text) = self.literal(format) else { return };
        for (i, (letter, arg)) in conversions(&text, reads).into_iter().zip(rest).enumerate() {
            if !self.types.is_pts(arg.ty) || !(reads || matches!(letter, 's' | 'S' | 'n')) {
                continue;
            }
            let ty = self.show(arg.ty);
            let remedy = if reads {
                "read into a private variable and assign that"
            } else if letter == 'n' {
                "use a private variable"
            } else {
                "copy the text with upc_memget, or cast the pointer where it has affinity to this thread"
            };
            self.warn(
                arg.toks.start,
                format!(
                    "`%{letter}` takes a pointer to private memory, and argument {} of `{function}` is of type `{ty}`: {remedy}",
                    at + i + 2
                ),
            );
        }
    }

    /// The text of a string literal, its escapes as they are written.
    fn literal(&self, e: &Expr) -> Option<String> {
        let mut e = e.unparen();
        while let ExprKind::Implicit { expr, .. } = &e.kind {
            e = expr.unparen();
        }
        if !matches!(e.kind, ExprKind::Str) {
            return None;
        }
        let parts = (e.toks.start..e.toks.end).filter(|&t| self.toks.tok(t).kind == TokKind::Str);
        let inside =
            |t| self.toks.spelling(t).split_once('"').map_or("", |(_, rest)| rest.trim_end_matches('"'));
        Some(parts.map(inside).collect())
    }
}

/// The conversions of a format in the order of the arguments: the letter of each, and `*` for a width.
/// Empty if the format numbers its arguments.
fn conversions(format: &str, reads: bool) -> Vec<char> {
    let mut all = Vec::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        let mut skipped = false;
        loop {
            match rest.next() {
                None | Some('%') => break,
                Some('$') => return Vec::new(),
                Some('*') if reads => skipped = true,
                Some('*') => all.push('*'),
                Some('[') if reads => {
                    rest.next_if_eq(&'^');
                    // The first of a set is in it, whatever it is.
                    rest.next();
                    while rest.next().is_some_and(|c| c != ']') {}
                    if !skipped {
                        all.push('[');
                    }
                    break;
                }
                Some('m') if !reads => break,
                Some('0'..='9' | '.' | '-' | '+' | ' ' | '#' | '\'') => {}
                Some('h' | 'l' | 'j' | 'z' | 't' | 'L' | 'q' | 'm') => {}
                Some(letter) => {
                    if !skipped {
                        all.push(letter);
                    }
                    break;
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::conversions;

    fn of(format: &str, reads: bool) -> String {
        conversions(format, reads).into_iter().collect()
    }

    #[test]
    fn letters_in_the_order_of_the_arguments() {
        assert_eq!(of("a %s b %-10.3lf%%%5d%c\\n", false), "sfdc");
        assert_eq!(of("%*.*s %lld %p %zu %n", false), "**sdpun");
        assert_eq!(of("%2$s %1$d", false), "");
        assert_eq!(of("100% or %m, %s", false), "os");
        assert_eq!(of("%d %*d %[^]a] %[]x]%ms %s", true), "d[[ss");
    }
}
