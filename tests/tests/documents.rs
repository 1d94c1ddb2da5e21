//! Documents that can be held against the source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        match entry.path() {
            p if p.is_dir() => sources(&p, into),
            p if p.extension().is_some_and(|e| e == "rs") => into.push(p),
            _ => {}
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The name in `fn name`, if the line declares a function.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let declares = before.split_whitespace().all(|w| {
        ["pub", "pub(crate)", "pub(super)", "unsafe", "const", "async", "extern", "\"C\""].contains(&w)
    });
    let name = after.split(['(', '<']).next()?;
    (declares && !name.is_empty()).then_some(name)
}

/// Every function of the core with an ordering above `Relaxed` has a row in `docs/orderings.md`, and every row a function.
#[test]
fn orderings_are_listed() {
    let src = root().join("gasnet-rs/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut found = BTreeSet::new();
    for path in files {
        let file = path.strip_prefix(&src).expect("below src").display().to_string();
        let text = std::fs::read_to_string(&path).expect("readable");
        let mut name = String::new();
        for line in text.lines() {
            // Tests come last in a file.
            if line.starts_with("#[cfg(") && line.contains("test") {
                break;
            }
            let code = line.split("//").next().unwrap_or_default();
            if let Some(n) = function(code) {
                name = n.to_string();
            }
            if ["Acquire", "Release", "AcqRel", "SeqCst"].iter().any(|o| code.contains(o)) {
                found.insert((file.clone(), name.clone()));
            }
        }
    }
    let document = std::fs::read_to_string(root().join("docs/orderings.md")).expect("readable");
    let mut listed = BTreeSet::new();
    for row in document.lines().filter_map(|l| l.strip_prefix("| `")) {
        let place = row.split('|').next().unwrap_or_default();
        let mut words = place.split('`').map(str::trim).filter(|w| !w.is_empty());
        let file = words.next().expect("a file").to_string();
        listed.extend(words.map(|name| (file.clone(), name.to_string())));
    }
    assert!(found.len() > 10, "{found:?}");
    let missing: Vec<_> = found.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "missing in docs/orderings.md: {missing:?}\nnot in the source: {stale:?}"
    );
}
