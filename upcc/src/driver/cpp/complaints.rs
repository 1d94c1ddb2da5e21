//! Diagnostics of the C preprocessor that C 6.10 requires and that do not stop it: violated constraints.
//! They are printed in upcc's own form; other warnings of the preprocessor are dropped.

use crate::diag::{Diagnostic, Severity};
use crate::front::token::RESERVED;

/// The complaints in what the preprocessor printed. `source` gives a line of a file.
pub(crate) fn read(
    printed: &str,
    severity: Severity,
    mut source: impl FnMut(&str, u32) -> Option<String>,
) -> Vec<Diagnostic> {
    let mut said: Vec<Diagnostic> = Vec::new();
    // Whether notes belong to something that was taken over, and the word that it is about.
    let (mut taken, mut about) = (false, "");
    for line in printed.lines() {
        let Some((file, number, col, kind, text)) = head(line) else { continue };
        let translated = match kind {
            "warning" => complaint(text).map(|t| (severity, t)),
            "note" if taken && text.contains("previous definition") => {
                Some((Severity::Note, ("the definition before this one is here".to_string(), about)))
            }
            _ => None,
        };
        taken = translated.is_some();
        // `<command-line>`: options redefine as they like.
        if file.starts_with('<') {
            taken &= kind == "note";
            continue;
        }
        let Some((severity, (message, word))) = translated else { continue };
        about = word;
        let shown = source(file, number);
        let (col, len) = shown.as_deref().map_or((col, 1), |s| place(s, col, word));
        said.push(Diagnostic { severity, message, file: file.into(), line: number, col, source: shown, len });
    }
    said
}

/// The printed text without the warnings.
pub(crate) fn errors(printed: &str) -> String {
    let (mut said, mut included) = (String::new(), String::new());
    // Whether what follows belongs to a warning.
    let mut warning = false;
    for line in printed.lines() {
        if line.starts_with("In file included")
            || !included.is_empty() && line.trim_start().starts_with("from ")
        {
            included = included + line + "\n";
            continue;
        }
        if !line.starts_with(' ') && !line.contains(": note: ") {
            warning = line.contains(": warning: ");
        }
        if !warning {
            said = said + &included + line + "\n";
        }
        included.clear();
    }
    said
}

/// `FILE:LINE:COLUMN: KIND: TEXT`; gcc leaves the column out where it has none.
fn head(line: &str) -> Option<(&str, u32, u32, &str, &str)> {
    for kind in ["warning", "note"] {
        let Some((place, text)) = line.split_once(&format!(": {kind}: ")) else { continue };
        let (before, last) = place.rsplit_once(':')?;
        let last = last.parse().ok()?;
        let column = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?, last)));
        let (file, number, col) = column.unwrap_or((before, last, 1));
        return Some((file, number, col, kind, text));
    }
    None
}

/// Our words for a complaint that C asks for, and the word of the source that it is about.
fn complaint(text: &str) -> Option<(String, &str)> {
    let quoted = || text.split(['"', '\'']).nth(1);
    if let Some((_, rest)) = text.split_once("extra tokens at end of ") {
        let directive = rest.split(' ').next()?;
        return Some((format!("there is more after this `{directive}`; make it a comment"), ""));
    }
    if text.contains("whitespace") && text.contains("after") && text.contains("macro name") {
        return Some(("white space has to follow the name of a macro".into(), ""));
    }
    if text.contains("__VA_ARGS__") && text.contains("can only appear in") {
        let text = "`__VA_ARGS__` stands only in macros with `...` among the parameters";
        return Some((text.into(), "__VA_ARGS__"));
    }
    let name = quoted().unwrap_or_default();
    if text.contains("undefining") {
        return Some((format!("`{name}` is predefined and cannot be undefined"), name));
    }
    // Names of UPC are the parser's affair.
    if text.contains("redefin") && !RESERVED.contains(&name) {
        let predefined = C_NAMES.contains(&name) || name.starts_with("__STDC");
        let text = if predefined {
            format!("`{name}` is predefined and cannot be defined as a macro")
        } else {
            format!("the macro `{name}` is defined again with another text; `#undef {name}` first")
        };
        return Some((text, name));
    }
    None
}

/// Macros that C predefines and a program must leave alone.
const C_NAMES: &[&str] = &["__FILE__", "__LINE__", "__DATE__", "__TIME__"];

/// Column and length of `word` in a line. Without a word, that of the column in the terminal, as C compilers
/// count.
fn place(source: &str, column: u32, word: &str) -> (u32, u32) {
    if let Some(at) = source.find(word).filter(|_| !word.is_empty()) {
        return (source[..at].chars().count() as u32 + 1, word.chars().count() as u32);
    }
    let mut seen = 0;
    for (i, c) in (1..).zip(source.chars()) {
        seen = if c == '\t' { (seen / 8 + 1) * 8 } else { seen + 1 };
        if seen >= column {
            return (i, 1);
        }
    }
    (column, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_preprocessors_are_understood() {
        let gcc = "In file included from b.c:1:\n\
            warning: \"A\" redefined\n\
            a.h:2: warning: \"A\" redefined\n    2 | #define A 2\n      |\n\
            a.h:1: note: this is the location of the previous definition\n\
            a.c:3:8: warning: extra tokens at end of #endif directive [-Wendif-labels]\n\
            <command-line>: warning: \"__UPC_IO__\" redefined\n\
            <command-line>: note: this is the location of the previous definition\n\
            a.c:4:2: warning: #warning hello [-Wcpp]\n\
            a.c:5:9: warning: ISO C99 requires whitespace after the macro name\n\
            a.c:6:8: warning: undefining \"__FILE__\"\n\
            a.c:7:12: warning: __VA_ARGS__ can only appear in the expansion of a C99 variadic macro\n";
        let clang = "a.h:2:9: warning: 'A' macro redefined [-Wmacro-redefined]\n\
            a.h:1:9: note: previous definition is here\n\
            a.c:3:8: warning: extra tokens at end of #endif directive [-Wextra-tokens]\n\
            a.c:4:2: warning: hello [-W#warnings]\n\
            a.c:5:10: warning: whitespace required after macro name [-Wc99-compat]\n\
            a.c:6:8: warning: undefining builtin macro [-Wbuiltin-macro-redefined]\n\
            a.c:7:12: warning: __VA_ARGS__ can only appear in the expansion of a C99 variadic macro\n";
        for text in [gcc, clang] {
            let said = read(text, Severity::Warning, |_, _| None);
            let lines: Vec<_> = said.iter().map(|d| (d.file.as_str(), d.line, d.severity)).collect();
            use Severity::*;
            assert_eq!(
                lines,
                [
                    ("a.h", 2, Warning),
                    ("a.h", 1, Note),
                    ("a.c", 3, Warning),
                    ("a.c", 5, Warning),
                    ("a.c", 6, Warning),
                    ("a.c", 7, Warning)
                ],
                "{text}"
            );
            assert!(said[2].message.contains("`#endif`"), "{}", said[2].message);
        }
        let text = "In file included from b.c:1,\n                 from c.c:3:\na.c:1:9: warning: odd\n  1 | #x\n    | ^\n\
            In file included from b.c:2:\nd.h:1:2: note: before\n  1 | #y\n\
            In file included from b.c:4:\na.c:2:2: error: #error no\n  2 | #error no\na.c:1: note: here\n";
        let left =
            "In file included from b.c:4:\na.c:2:2: error: #error no\n  2 | #error no\na.c:1: note: here\n";
        assert_eq!(errors(text), left);
        assert_eq!(place("\t#endif x", 16, ""), (9, 1));
        assert_eq!(place("# define  A 2", 3, "A"), (11, 1));
    }
}
