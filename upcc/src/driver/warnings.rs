//! The warnings of the C compiler, about the program as [plain C](crate::plain).

use super::{Driver, TOLERATED, cpp, write};
use crate::diag::Diagnostic;
use std::ffi::OsString;

/// Warnings of the C compiler, ready to be printed.
pub(super) struct Said {
    /// One of them is an error, as by `-Werror`.
    pub text: String,
    /// Whether one is an error, as by `-Werror`.
    pub errors: bool,
}

/// A message with the lines that belong to it.
struct Message<'a> {
    lines: Vec<&'a str>,
    /// File, line, kind and text; `None`: of no place.
    head: Option<(&'a str, u32, &'a str, &'a str)>,
}

/// Words in messages of ours, and the option of the C compiler under which it says the same.
const SAME: &[(&str, &str)] = &[
    ("division by zero", "-Wdiv-by-zero"),
    ("`return` without a value", "-Wreturn-type"),
    ("`return` without a value", "-Wreturn-mismatch"),
    ("pointer to shared", "-Wformat"),
    ("implicit declaration", "-Wbuiltin-declaration-mismatch"),
    ("signedness", "-Wpointer-sign"),
    ("pointer to void", "dereferencing"),
    ("compares pointers", "comparison of distinct pointer types"),
    ("%s", "-Wformat"),
    ("%n", "-Wformat"),
    ("overflow", "-Woverflow"),
    ("shift", "-Wshift"),
    ("comparison", "-Wcompare"),
    ("pointer to void", "-Wpointer-arith"),
    ("qualifier", "-Wdiscarded"),
];

/// Has the C compiler read the text, and returns what it says that has not been `said`.
pub(super) fn ask(d: &Driver<'_>, text: &str, said: &[Diagnostic]) -> Result<Said, String> {
    let o = d.o;
    let source = d.temp.path().join("warnings.i");
    write(&source, text)?;
    let mut a: Vec<OsString> = ["-S", "-o", "/dev/null", "-x", "cpp-output"].map(OsString::from).into();
    a.push(cpp::std_flag(o).into());
    a.push(o.opt_flag().into());
    let output = |f: &str| f.starts_with("-flto") || f.starts_with("-save") || f == "-pg";
    a.extend(o.cc.iter().chain(&o.cc_only).filter(|f| !output(f)).map(OsString::from));
    a.extend(o.warnings.iter().map(OsString::from));
    // Of these upcc says itself what there is to say.
    a.extend(TOLERATED.iter().map(OsString::from));
    // Of THREADS there are two forms.
    a.push("-Wno-vla-parameter".into());
    a.push(source.into());
    let Some(r) = d.cc.run_in_english(&a)? else { return Ok(Said { text: String::new(), errors: false }) };
    let printed = String::from_utf8_lossy(&r.stderr);
    match unknown_option(&printed).filter(|option| o.warnings.iter().any(|w| w == option)) {
        Some(option) => Err(format!("unknown option '{option}', also to the C compiler")),
        None => Ok(sift(&printed, said)),
    }
}

/// The `-W` option that the C compiler does not know. It reads no text then.
fn unknown_option(printed: &str) -> Option<&str> {
    let (_, rest) = printed.split_once("error: unrecognized command-line option ")?;
    rest.trim_start_matches(['\'', '\u{2018}', '"']).split(['\'', '\u{2019}', '"']).next()
}

fn sift(printed: &str, said: &[Diagnostic]) -> Said {
    let mut result = Said { text: String::new(), errors: false };
    let mut around: Vec<&str> = Vec::new();
    let mut kept = false;
    for m in messages(printed) {
        let Some((file, line, kind, text)) = m.head else {
            // `In function ...:` is about the next one.
            around.extend(m.lines);
            continue;
        };
        if kind != "note" {
            let error = kind.contains("error");
            if error && !text.contains("[-Werror") {
                // Errors are the front end's to report: this is none in UPC, and nothing after it counts.
                break;
            }
            kept = !file.starts_with('<')
                && !m.lines.iter().any(|l| l.contains("__upcc_"))
                && !said.iter().any(|d| {
                    d.file == file
                        && d.line == line
                        && SAME
                            .iter()
                            .any(|(words, option)| d.message.contains(words) && text.contains(option))
                });
            result.errors |= kept && error;
        }
        if kept {
            for l in around.drain(..).chain(m.lines) {
                result.text.push_str(l);
                result.text.push('\n');
            }
        }
        around.clear();
    }
    result
}

fn messages(printed: &str) -> Vec<Message<'_>> {
    let mut all: Vec<Message<'_>> = Vec::new();
    for line in printed.lines() {
        let head = head(line);
        // Source lines, carets, and what they are explained by.
        let belongs = head.is_none() && line.starts_with(' ');
        match all.last_mut() {
            Some(last) if belongs => last.lines.push(line),
            _ => all.push(Message { lines: vec![line], head }),
        }
    }
    all
}

/// `file:line:column: kind: text`
fn head(line: &str) -> Option<(&str, u32, &str, &str)> {
    for kind in ["warning", "error", "note", "fatal error"] {
        let mark = format!(": {kind}: ");
        let Some((place, text)) = line.split_once(&mark) else { continue };
        let mut parts = place.rsplitn(3, ':');
        let (last, before, rest) = (parts.next()?, parts.next(), parts.next());
        return match (rest, before.and_then(|b| b.parse().ok()), last.parse()) {
            (Some(file), Some(number), Ok::<u32, _>(_)) => Some((file, number, kind, text)),
            _ => place.rsplit_once(':').and_then(|(f, n)| Some((f, n.parse().ok()?, kind, text))),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Severity;

    const PRINTED: &str = "a.upc: In function 'f':\na.upc:3:5: warning: unused variable 'x' [-Wunused-variable]\n\
        \x20   3 |   int x;\n      |       ^\na.upc: At top level:\na.upc:5:1: error: unused [-Werror=unused-function]\na.upc:1:1: note: here\n\
        a.upc:6:3: warning: division by zero [-Wdiv-by-zero]\n\
        <upcc>:1:1: warning: this is ours\na.upc:4:1: error: expected ';'\n    4 | y\n\
        a.upc:9:2: note: about the error\na.upc:10:2: warning: after it [-Wparentheses]\ncc1: all warnings being treated as errors\n";

    #[test]
    fn unknown_options_are_named() {
        for quotes in [["'", "'"], ["\u{2018}", "\u{2019}"]] {
            let printed =
                format!("gcc: error: unrecognized command-line option {}-Wupcc{}\n", quotes[0], quotes[1]);
            assert_eq!(unknown_option(&printed), Some("-Wupcc"));
        }
        assert_eq!(unknown_option(PRINTED), None);
    }

    #[test]
    fn errors_end_it_and_nothing_is_said_twice() {
        let one = |line, message: &str| Diagnostic {
            severity: Severity::Warning,
            message: message.into(),
            file: "a.upc".into(),
            line,
            col: 1,
            source: None,
            len: 1,
        };
        let all = sift(PRINTED, &[one(3, "division by zero")]);
        assert!(all.errors);
        for kept in [
            "In function 'f'",
            "unused variable",
            "int x;",
            "At top level",
            "unused-function",
            "1:1: note: here",
        ] {
            assert!(all.text.contains(kept), "{kept}\n{}", all.text);
        }
        for dropped in ["expected", "about the error", "after it", "this is ours", "treated"] {
            assert!(!all.text.contains(dropped), "{dropped}\n{}", all.text);
        }
        assert!(all.text.contains("6:3"));
        let fewer = sift(PRINTED, &[one(6, "division by zero")]);
        assert!(!fewer.text.contains("6:3"), "{}", fewer.text);
    }
}
