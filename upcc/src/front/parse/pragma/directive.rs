//! Pragmas about the statement after them: those of OpenMP and OpenACC, and of compilers about loops.

use super::*;

/// Directives of OpenMP and OpenACC that are no part of a statement. Of two words only the first counts.
const ALONE: &[&str] = &[
    "allocate",
    "barrier",
    "begin",
    "cache",
    "cancel",
    "cancellation",
    "declare",
    "depobj",
    "end",
    "enter",
    "error",
    "exit",
    "flush",
    "init",
    "interop",
    "nothing",
    "requires",
    "routine",
    "scan",
    "set",
    "shutdown",
    "taskwait",
    "taskyield",
    "threadprivate",
    "update",
    "wait",
];

/// Clauses whose words are no variables.
const NO_VARIABLES: &[&str] =
    &["bind", "critical", "default", "device_type", "hint", "order", "proc_bind", "severity"];

/// Clauses that list variables as they are, not copies.
const BY_NAME: &[&str] = &["shared", "flush"];

/// The demands of a pragma on the statement after it. `text` begins with the word after `pragma`. `None`:
/// the pragma is not about a statement.
pub(super) fn demands(text: &str) -> Option<Demands> {
    let mut words = words(text);
    let family = words.next()?.1;
    let loops = || Some(Demands { loops: 1, ..Demands::default() });
    match family {
        "omp" | "acc" => {}
        "unroll" | "nounroll" | "unroll_and_jam" | "nounroll_and_jam" => return loops(),
        "GCC" => {
            return words
                .next()
                .filter(|w| ["unroll", "ivdep", "novector"].contains(&w.1))
                .and_then(|_| loops());
        }
        "clang" => return words.next().filter(|w| w.1 == "loop").and_then(|_| loops()),
        _ => return None,
    }
    // Words up to the first clause with arguments; a clause without any does no harm among them.
    let head = text.split('(').next().unwrap_or(text);
    let named: Vec<&str> = self::words(head).skip(1).map(|w| w.1).collect();
    let has = |any: &[&str]| named.iter().any(|w| any.contains(w));
    let clause = |name: &str| clauses(text).find(|c| c.0 == name).map(|c| c.1);
    let first = *named.first()?;
    if ALONE.contains(&first)
        || first == "target" && named.get(1).is_some_and(|w| ["update", "enter", "exit"].contains(w))
        || first == "ordered" && (clause("depend").is_some() || clause("doacross").is_some())
    {
        return None;
    }
    let mut d = Demands {
        sections: has(&["sections"]),
        threads: has(&["parallel", "task", "taskloop", "target", "teams", "kernels", "serial"]),
        atomic: first == "atomic",
        ..Demands::default()
    };
    if has(&[
        "for",
        "simd",
        "taskloop",
        "loop",
        "distribute",
        "tile",
        "unroll",
        "reverse",
        "interchange",
        "fuse",
    ]) {
        // A number that is not written as one may be any.
        let most = |name| clause(name).map_or(1, |n| n.trim().parse().unwrap_or(8));
        let sizes = clause("sizes").map_or(1, |list| list.split(',').count() as u32);
        d.loops = most("collapse").max(most("ordered")).max(sizes);
    }
    Some(d)
}

/// The names in a text, and where they are.
fn words(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(part)?;
            let end = text[start..].find(|c| !part(c)).map_or(text.len(), |n| start + n);
            at = end;
            if !text[start..].starts_with(|c: char| c.is_ascii_digit()) {
                return Some((start..end, &text[start..end]));
            }
        }
    })
}

/// The clauses with arguments: the name, and what is in the parentheses.
fn clauses(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let open = at + text[at..].find('(')?;
        let close = closing(text, open);
        let name = text[at..open]
            .rsplit(|c: char| c.is_whitespace() || c == ',' || c == ')')
            .find(|w| !w.is_empty());
        at = (close + 1).min(text.len());
        Some((name.unwrap_or(""), text.get(open + 1..close).unwrap_or("")))
    })
}

/// Where the parenthesis at `open` is closed.
fn closing(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (i, c) in text[open..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + i;
        }
    }
    text.len()
}

impl Parser<'_> {
    /// The pragma at a token, with what the names in it mean here.
    pub(in crate::front::parse) fn directive(&mut self, tok: TokIdx, demands: Demands) -> Directive {
        let text = self.toks.spelling(tok).to_owned();
        let mut names = Vec::new();
        let mut from = 0;
        // By clause: what comes before the first has no variables.
        while let Some(open) = text[from..].find('(').map(|n| from + n) {
            let close = closing(&text, open);
            let clause = words(&text[from..open]).last().map_or("", |w| w.1).to_owned();
            if clause == "default" && text[open..close].contains("none") {
                let start = from + text[from..open].rfind("default").unwrap_or(0);
                names.push((start..(close + 1).min(text.len()), DirectiveName::DefaultNone));
            }
            if !NO_VARIABLES.contains(&clause.as_str()) {
                for (at, word) in words(&text[open..close]) {
                    let at = open + at.start..open + at.end;
                    if let Some(name) = self.directive_name(tok, &clause, word) {
                        names.push((at, name));
                    }
                }
            }
            from = (close + 1).min(text.len());
        }
        Directive { tok, demands, names }
    }

    fn directive_name(&mut self, tok: TokIdx, clause: &str, word: &str) -> Option<DirectiveName> {
        match word {
            "THREADS" if self.opts.static_threads.is_none() => return Some(DirectiveName::Threads),
            "MYTHREAD" => return Some(DirectiveName::MyThread),
            _ => {}
        }
        let sym = self.toks.syms.get(word)?;
        let decl = self.lookup(sym)?;
        let d = &self.decls[decl.0 as usize];
        if d.kind != DeclKind::Var || !self.types.is_shared(d.ty) {
            return None;
        }
        if !BY_NAME.contains(&clause) {
            self.error(
                tok,
                format!(
                    "`{word}` in `{clause}` is shared by the threads of UPC: all clauses but `shared` are about \
                     variables of one; use a private variable"
                ),
            );
        }
        Some(DirectiveName::Shared(decl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_pragmas_belong_to_statements() {
        let d = |text| demands(text);
        for alone in [
            "omp barrier",
            "omp taskwait",
            "omp flush(a)",
            "omp declare simd",
            "omp target update to(a)",
            "omp ordered depend(sink: i - 1)",
            "acc wait",
            "GCC diagnostic push",
            "GCC optimize(\"O0\")",
            "STDC FP_CONTRACT ON",
            "clang diagnostic pop",
            "weak f",
            "once",
            "bupc ivdep",
        ] {
            assert_eq!(d(alone), None, "{alone}");
        }
        let loops = |text| d(text).unwrap_or_else(|| panic!("{text}")).loops;
        assert_eq!(loops("omp parallel for reduction(+: t)"), 1);
        assert_eq!(loops("omp for collapse(2) schedule(static)"), 2);
        assert_eq!(loops("omp for ordered(3)"), 3);
        assert_eq!(loops("omp tile sizes(4, 4)"), 2);
        assert_eq!(loops("omp for collapse(N)"), 8);
        assert_eq!(loops("GCC unroll 4"), 1);
        assert_eq!(loops("omp critical (for)"), 0);
        assert_eq!(loops("omp parallel"), 0);
        assert!(d("omp parallel sections").is_some_and(|d| d.sections && d.threads));
        assert!(d("omp atomic capture").is_some_and(|d| d.atomic && !d.threads));
        assert!(d("omp section").is_some_and(|d| !d.sections));
    }

    #[test]
    fn clauses_and_what_is_in_them() {
        let all: Vec<_> = clauses("omp for reduction(+: a, b) if (f(x)), private(c) nowait").collect();
        assert_eq!(all, [("reduction", "+: a, b"), ("if", "f(x)"), ("private", "c")]);
        let names: Vec<_> = words("a+=b1, 2c _d").map(|w| w.1).collect();
        assert_eq!(names, ["a", "b1", "_d"]);
    }
}
