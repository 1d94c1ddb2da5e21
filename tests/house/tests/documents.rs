//! Documents that can be held against the source.

use std::collections::{BTreeMap, BTreeSet};
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

/// Every function of the core and of `gasnet-clan` with an ordering above `Relaxed` has a row in
/// `docs/orderings.md`, and every row a function.
#[test]
fn orderings_are_listed() {
    let halves = ["gasnet-rs/wire/src", "gasnet-rs/core/src"].map(|half| root().join(half));
    let mut files = Vec::new();
    halves.iter().for_each(|half| sources(half, &mut files));
    sources(&root().join("lab/clan/src"), &mut files);
    let mut found = BTreeSet::new();
    for path in files {
        let below = |folder: &Path| path.strip_prefix(folder).ok();
        let file = halves.iter().find_map(|half| below(half)).or_else(|| below(&root()));
        let file = file.expect("below the root").display().to_string();
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

/// The name in `struct name`, `enum name`, ..., if the line declares a type that a module shows others, or
/// has for itself.
fn type_name(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let nested = line.starts_with(char::is_whitespace);
    let (shown, rest) = match words.split_first()? {
        (word, rest) if word.starts_with("pub") => (true, rest),
        _ => (false, &words[..]),
    };
    let rest = rest.strip_prefix(&["unsafe"]).unwrap_or(rest);
    let (kind, rest) = rest.split_first()?;
    let declares = ["struct", "enum", "trait", "type", "union"].contains(kind) && (shown || !nested);
    let name = rest.first()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (declares && !name.is_empty()).then_some(name)
}

/// Every word of `docs/glossary.md` links to a file with the type that stands for it, and lists all other
/// types of that name: a second thing of one name is seen when it comes.
#[test]
fn words_of_the_glossary_are_types() {
    let shipped = [
        "gasnet-rs/sys",
        "gasnet-rs/core/src",
        "gasnet-rs/wire/src",
        "gasnet-rs/ops",
        "lab/clan",
        "conduits",
        "launch",
        "firehose/src",
        "firehose/live",
        "netvm-fw/src",
        "sim",
        "upc-rt/src",
        "caf/src",
    ];
    let mut types: BTreeSet<(String, String)> = BTreeSet::new();
    for folder in shipped {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        for path in files {
            let file = path.strip_prefix(root()).expect("below the root").display().to_string();
            if file.contains("/tests/") || file.contains("/benches/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            types.extend(text.lines().filter_map(type_name).map(|name| (name.to_string(), file.clone())));
        }
    }
    let document = std::fs::read_to_string(root().join("docs/glossary.md")).expect("readable");
    let rows = document.lines().filter(|line| line.starts_with("| ") && line.contains("](../"));
    let mut words = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (name, rest) = cells[1].strip_prefix("[`").and_then(|c| c.split_once("`](../")).expect("a link");
        let file = rest.trim_end_matches(')');
        let listed: BTreeSet<&str> =
            cells.get(3).map_or("", |c| *c).split('`').skip(1).step_by(2).chain([file]).collect();
        let found: BTreeSet<&str> =
            types.iter().filter(|(n, _)| n == name).map(|(_, file)| file.as_str()).collect();
        assert_eq!(listed, found, "docs/glossary.md, {}: files that have a type {name}", cells[0]);
        words.push(cells[0].to_lowercase());
    }
    assert!(words.len() > 20 && words.is_sorted(), "in the order of the alphabet: {words:?}");
}

/// The section of the glossary with names that are types of three crates or more.
const SEVERAL: &str = "\n## Names of several types\n";

/// A name that three crates have for types of theirs, public or known in all of the crate, is a word that a
/// reader looks up: it has a row in `docs/glossary.md` that says what it is in each crate. Better is a name
/// that says which.
#[test]
fn names_of_several_types_are_in_the_glossary() {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for member in gasnet_house::workspace::members(&root()).expect("a workspace") {
        let mut files = Vec::new();
        let folder = root().join(&member.folder).join("src");
        if ["tests", "tests/house", "benches", "lab/papers", "examples/rust", "xtask"]
            .iter()
            .any(|f| member.folder == Path::new(f))
        {
            continue;
        }
        sources(&folder, &mut files);
        for path in files {
            let file = path.strip_prefix(&folder).expect("below it");
            if file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let text = text.split("\nmod tests {").next().unwrap_or_default();
            let shown = text
                .lines()
                .filter(|line| ["pub ", "pub(crate) "].iter().any(|v| line.trim_start().starts_with(v)));
            let kinds = |line: &&str| !line.contains(" type ");
            for name in shown.filter(kinds).filter_map(type_name) {
                crates.entry(name.to_string()).or_default().insert(member.name.clone());
            }
        }
    }
    let document = std::fs::read_to_string(root().join("docs/glossary.md")).expect("readable");
    let (terms, several) = document.split_once(SEVERAL).expect("a section");
    let row = |name: &str| several.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
    let mut wrong = Vec::new();
    let named = |name: &str| terms.contains(&format!("[`{name}`]"));
    for (name, of) in crates.iter().filter(|(name, of)| of.len() >= 3 && !named(name)) {
        let Some(row) = row(name) else {
            wrong.push(format!("no row for `{name}`, a type of {of:?}"));
            continue;
        };
        let cell = row.split(" | ").nth(1).unwrap_or_default();
        let listed: BTreeSet<String> = cell.split('`').skip(1).step_by(2).map(String::from).collect();
        if listed != *of {
            wrong.push(format!("`{name}` is a type of {of:?}, and its row lists {listed:?}"));
        }
    }
    assert!(wrong.is_empty(), "docs/glossary.md, names of several types:\n  {}", wrong.join("\n  "));
    let listed = several.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let stale: Vec<&str> = listed.filter(|name| crates.get(*name).is_none_or(|of| of.len() < 3)).collect();
    assert!(crates.len() > 300 && stale.is_empty(), "rows of docs/glossary.md that nothing needs: {stale:?}");
}

/// The front page of the core says which file has which of `Rank`'s methods.
#[test]
fn files_with_methods_of_rank_are_on_the_front_page() {
    let core = root().join("gasnet-rs/core/src");
    let read = |file: &Path| std::fs::read_to_string(file).unwrap();
    let front = read(&core.join("lib.rs"));
    let listed =
        |name: &str| front.lines().any(|l| l.starts_with("//! | `") && l.contains(&format!("`{name}`")));
    let mut files = Vec::new();
    sources(&core, &mut files);
    let mut found = 0;
    for file in files {
        let name = file.strip_prefix(&core).unwrap().display().to_string();
        let mut inside = false;
        let has_methods = read(&file).lines().any(|line| {
            if line.starts_with("impl") {
                inside = line == "impl Rank {";
            }
            inside && (line.starts_with("    pub fn ") || line.starts_with("    pub unsafe fn "))
        });
        let folder = name.split_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        assert!(!has_methods || listed(&name) || listed(&folder), "{name} has methods of Rank");
        found += u32::from(has_methods);
    }
    assert!(found > 10);
}

/// `Rank` has what a program writes every day; everything else is a method of one of its parts.
#[test]
fn a_rank_is_what_programs_write_every_day() {
    const MOST: usize = 69;
    let mut files = Vec::new();
    sources(&root().join("gasnet-rs/core/src"), &mut files);
    let mut methods = BTreeSet::new();
    for file in files {
        let mut inside = false;
        for line in std::fs::read_to_string(&file).expect("readable").lines() {
            if line.starts_with("impl") {
                inside = line == "impl Rank {";
            }
            if inside && line.starts_with("    pub ") {
                methods.extend(function(line).map(String::from));
            }
        }
    }
    assert!(methods.contains("put") && methods.contains("atomics"), "{methods:?}");
    let count = methods.len();
    assert!(
        count <= MOST,
        "Rank has {count} methods, at most {MOST}: which belong to a part (docs/decisions/0016-a-rank-has-parts.md)? {methods:?}"
    );
}

/// Memory is near or far (`docs/glossary.md`): no name of a few words says it in another way. Names of more
/// words are sentences, of tests.
#[test]
fn memory_is_near_or_far() {
    const OTHERS: &[&str] = &["away", "elsewhere"];
    const MOST_WORDS: usize = 3;
    // Words for taking something from somebody, or not letting somebody in.
    const VERBS: &[&str] = &["taken", "turn"];
    let mut files = Vec::new();
    for folder in ["gasnet-rs", "pgas", "upc-rt", "caf", "capi", "lab"] {
        sources(&root().join(folder), &mut files);
    }
    let (mut seen, mut wrong) = (0, BTreeSet::new());
    for path in &files {
        for line in std::fs::read_to_string(path).expect("readable").lines() {
            let code = line.split("//").next().unwrap_or_default();
            // A word in quotes is no name.
            let code: String = code.split('"').step_by(2).collect();
            for name in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let lower = name.to_lowercase();
                let words: Vec<&str> = lower.split('_').collect();
                seen += usize::from(words.contains(&"far"));
                let other = words.iter().any(|w| OTHERS.contains(w)) && !VERBS.contains(&words[0]);
                if other && words.len() <= MOST_WORDS {
                    wrong.insert(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(seen > 50, "{seen}");
    assert!(wrong.is_empty(), "call it near or far: {wrong:#?}");
}

/// The page on conduits knows every method of the trait.
#[test]
fn the_page_on_conduits_knows_the_trait() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("readable");
    let (page, source) = (read("docs/adding-a-conduit.md"), read("gasnet-rs/wire/src/conduit.rs"));
    let body = source.split_once("pub unsafe trait Conduit").expect("the trait").1;
    let body = body.split_once("\n}\n").expect("its end").0;
    let methods: Vec<&str> = body
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("unsafe ").strip_prefix("fn "))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    assert!(methods.len() > 20, "{methods:?}");
    for method in methods {
        let forms = [format!("`{method}`"), format!("`{method}("), format!("Conduit::{method}`")];
        assert!(forms.iter().any(|form| page.contains(form)), "{method} is not on the page");
    }
}

/// The output of `--help` fits a terminal of 80 columns. Commands whose help is made from a table test it
/// themselves.
#[test]
fn helps_fit_a_terminal() {
    const COLUMNS: usize = 80;
    let mut files = Vec::new();
    for folder in ["benches", "conduits", "lab/papers", "launch", "pgas", "upcc", "xtask"] {
        sources(&root().join(folder), &mut files);
    }
    let (mut found, mut wide) = (0, Vec::new());
    for path in &files {
        let text = std::fs::read_to_string(path).expect("readable");
        let mut inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            found += u32::from(line.ends_with("HELP: &str = \"\\"));
            inside = (inside || line.ends_with("HELP: &str = \"\\")) && line != "\";";
            if inside && line.chars().count() > COLUMNS {
                wide.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(found >= 2, "{found}");
    assert!(wide.is_empty(), "help wider than {COLUMNS} columns: {wide:#?}");
}

/// Comments are not wider than code, which the formatter keeps at 110 columns. Rows of tables and what stands
/// between fences cannot be broken.
#[test]
fn comments_are_not_wider_than_code() {
    const COLUMNS: usize = 110;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root()).expect("a directory").flatten() {
        let name = entry.file_name();
        if entry.path().is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&entry.path(), &mut files);
        }
    }
    let mut wide = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).expect("readable");
        let mut fenced = false;
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                fenced = false;
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!', ' ']);
            fenced ^= comment.starts_with("```");
            if !fenced && !comment.starts_with('|') && line.chars().count() > COLUMNS {
                wide.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(files.len() > 300, "{files:?}");
    assert!(wide.is_empty(), "comments wider than {COLUMNS} columns: {wide:#?}");
}

/// The relative links of a page.
fn links(page: &str) -> Vec<&str> {
    let mut fenced = false;
    let lines = page.lines().filter(|line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced
    });
    let all =
        lines.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()));
    all.filter(|link| !link.is_empty() && !link.contains(':')).collect()
}

fn pages(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let name = entry.file_name();
        match entry.path() {
            p if p.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') => {
                pages(&p, into)
            }
            p if p.extension().is_some_and(|e| e == "md") => into.push(p),
            _ => {}
        }
    }
}

/// Links lead to files, and whoever begins at the README can reach every page of `docs/`.
#[test]
fn links_lead_to_files_and_every_page_is_linked() {
    let root = root().canonicalize().expect("the repository");
    let mut all = Vec::new();
    pages(&root, &mut all);
    let (mut broken, mut lead) = (Vec::new(), BTreeMap::new());
    for page in all {
        let text = std::fs::read_to_string(&page).expect("readable");
        let folder = page.parent().expect("a folder");
        let mut targets = Vec::new();
        for link in links(&text) {
            match folder.join(link).canonicalize() {
                Ok(target) if target.is_dir() => pages(&target, &mut targets),
                Ok(target) => targets.push(target),
                Err(_) => broken.push(format!("{}: {link}", page.display())),
            }
        }
        lead.insert(page, targets);
    }
    assert!(broken.is_empty(), "links to files that do not exist: {broken:#?}");
    let (mut reached, mut next) = (BTreeSet::new(), vec![root.join("README.md")]);
    while let Some(page) = next.pop() {
        next.extend(
            lead.get(&page).into_iter().flatten().filter(|target| !reached.contains(*target)).cloned(),
        );
        reached.insert(page);
    }
    let docs = root.join("docs");
    let lost: Vec<_> =
        lead.keys().filter(|page| page.starts_with(&docs) && !reached.contains(*page)).collect();
    assert!(reached.len() > 30 && lost.is_empty(), "no link leads to these pages: {lost:#?}");
}
