//! Imports go one way: `docs/architecture.md`, section "Layers", held against the sources.
//!
//! The document has a table of crates and a table of modules, each from the top layer down. A crate or module
//! imports from its own layer and from those below, never in a circle. In the table of modules a name stands
//! for the file and all that is below it, but for what is listed by itself. A module and its children may
//! import from each other, being one subject in several files; siblings may not do so in a circle. A *spine*
//! is the type that all modules of a crate extend (`Rank`): importing it is no import of its module. But a
//! call of a method of it is one of the module that defines the method.

mod modules;

use gasnet_house::workspace::{self, Member};
use modules::{Imports, Modules};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn crates() -> Vec<Member> {
    workspace::members(&root()).unwrap_or_else(|why| panic!("{why}"))
}

/// The root file of a crate.
fn root_file(of: &Member) -> PathBuf {
    let files = ["lib.rs", "main.rs"].map(|name| root().join(&of.folder).join("src").join(name));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| panic!("{} has no root file", of.name))
}

/// A table of the section "Layers", by the heading of its first column: rows of cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let document = text(&root().join("docs/architecture.md"));
    let section = document.split("\n## Layers\n").nth(1).expect("a section \"Layers\"");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut lines = section.lines().skip_while(|line| !line.starts_with(&format!("| {heading} |")));
    assert!(lines.next().is_some(), "no table with the heading {heading}");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
    rows.map(cells).collect()
}

/// The names in backticks of a cell.
fn names(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(String::from)
}

/// Numbers of layers, 0 at the top, out of a cell with layers divided by `>`.
fn layers(cell: &str) -> BTreeMap<String, usize> {
    let numbered = cell.split('>').enumerate();
    numbered.flat_map(|(n, layer)| names(layer).map(move |name| (name, n)).collect::<Vec<_>>()).collect()
}

/// Imports that go up, and names without a layer. `what` tells what one name imports from another.
fn upwards(
    graph: &Graph,
    layer: &BTreeMap<String, usize>,
    what: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut wrong: Vec<String> = graph
        .keys()
        .filter(|name| !layer.contains_key(*name))
        .map(|name| format!("{name} has no layer"))
        .collect();
    let gone = layer.keys().filter(|name| !graph.contains_key(*name));
    wrong.extend(gone.map(|name| format!("{name} has a layer, and does not exist")));
    for (from, targets) in graph {
        for to in targets {
            if let (Some(a), Some(b)) = (layer.get(from), layer.get(to))
                && a > b
            {
                let what = what(from, to);
                wrong.push(format!("{from} imports {what} from {to}, which is in a layer above it"));
            }
        }
    }
    wrong
}

/// Circles: sets of nodes of which each reaches each other.
fn circles(graph: &Graph) -> BTreeSet<BTreeSet<String>> {
    let reach = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = graph.get(from).into_iter().flatten().collect();
        while let Some(node) = next.pop() {
            if seen.insert(node.clone()) {
                next.extend(graph.get(node).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|n| (n, reach(n))).collect();
    let of = |node: &&String| {
        let back = reached[node].iter().filter(|other| reached.get(other).is_some_and(|r| r.contains(*node)));
        back.cloned().collect::<BTreeSet<String>>()
    };
    reached.keys().map(of).filter(|circle| circle.len() > 1).collect()
}

/// Imports between groups of files. The group of a file is `of(file)`; a file without one takes no part.
fn between(imports: &Imports, spine: &BTreeSet<String>, of: impl Fn(&str) -> Option<String>) -> Graph {
    let mut graph = Graph::new();
    for (from, targets) in imports {
        let Some(own) = of(from) else { continue };
        let counted = targets.iter().filter(|(_, items)| !items.is_subset(spine));
        let others: BTreeSet<String> = counted.filter_map(|(to, _)| of(to)).filter(|to| *to != own).collect();
        for other in &others {
            graph.entry(other.clone()).or_default();
        }
        graph.entry(own).or_default().extend(others);
    }
    graph
}

/// The entry of the table that a file belongs to: the longest listed name that is the file or a folder
/// above.
fn name_of(node: &str, layer: &BTreeMap<String, usize>) -> String {
    let parts = node.match_indices('/').map(|(end, _)| &node[..end]);
    let mut names = parts.chain([node]).filter(|name| layer.contains_key(*name));
    names.next_back().unwrap_or(node.split('/').next().unwrap_or_default()).to_string()
}

/// The imports between what a table lists.
fn listed(imports: &Imports, spine: &BTreeSet<String>, layer: &BTreeMap<String, usize>) -> Graph {
    between(imports, spine, |node| Some(name_of(node, layer)))
}

/// The names, and the methods it calls, that one listed module imports from another.
fn imported(imports: &Imports, layer: &BTreeMap<String, usize>, from: &str, to: &str) -> String {
    let froms = imports.iter().filter(|(node, _)| name_of(node, layer) == from);
    let all = froms.flat_map(|(_, targets)| targets).filter(|(node, _)| name_of(node, layer) == to);
    Vec::from_iter(all.flat_map(|(_, items)| items.iter().cloned()).collect::<BTreeSet<String>>()).join(", ")
}

/// The imports between the children of one module: what is below a child counts for it.
fn siblings(imports: &Imports, spine: &BTreeSet<String>, parent: &str) -> Graph {
    between(imports, spine, |node| {
        let rest = node.strip_prefix(parent)?.strip_prefix('/')?;
        Some(format!("{parent}/{}", rest.split('/').next().unwrap_or_default()))
    })
}

fn complain(wrong: &[String]) {
    let text = wrong.join("\n  ");
    assert!(
        wrong.is_empty(),
        "docs/architecture.md, section \"Layers\", and the sources disagree:\n  {text}"
    );
}

#[test]
fn crates_import_downwards() {
    let rows = table("Layer");
    let mut layer = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        layer.extend(names(&row[1]).map(|name| (name, number)));
    }
    let graph: Graph = crates().into_iter().map(|c| (c.name, c.needs)).collect();
    complain(&upwards(&graph, &layer, |_, _| "something".into()));
}

#[test]
fn modules_import_downwards() {
    let rows = table("Crate");
    let mut wrong = Vec::new();
    let all: BTreeMap<String, Modules> =
        crates().iter().map(|of| (of.name.clone(), Modules::read(&root_file(of)))).collect();
    for of in crates() {
        let Some(row) = rows.iter().find(|row| names(&row[0]).next().as_ref() == Some(&of.name)) else {
            wrong.push(format!("the crate {} has no row", of.name));
            continue;
        };
        let spine: BTreeSet<String> = names(&row[1]).collect();
        let layer = layers(&row[2]);
        let modules = &all[&of.name];
        let mut imports = modules.imports();
        let elsewhere = of.needs.iter().flat_map(|name| all[name].methods_of_traits()).collect();
        for (from, targets) in modules.spine_calls(&spine, &elsewhere) {
            for (to, names) in targets {
                imports.entry(from.clone()).or_default().entry(to).or_default().extend(names);
            }
        }
        let graph = listed(&imports, &spine, &layer);
        let mut found = circles(&graph);
        let parents: BTreeSet<&str> =
            imports.keys().flat_map(|node| node.match_indices('/').map(|(end, _)| &node[..end])).collect();
        for parent in parents {
            let graph = siblings(&imports, &spine, parent);
            found.extend(circles(&graph));
        }
        let what = |from: &str, to: &str| imported(&imports, &layer, from, to);
        wrong.extend(upwards(&graph, &layer, what).into_iter().map(|what| format!("{}: {what}", of.name)));
        wrong.extend(found.into_iter().map(|circle| {
            let circle = Vec::from_iter(circle).join(" ");
            format!("{}: these import from each other in a circle: {circle}", of.name)
        }));
    }
    complain(&wrong);
}

/// A crate of a few files in a folder of its own, for tests of the reader.
fn small(name: &str, files: &[(&str, &str)]) -> Imports {
    let folder = std::env::temp_dir().join(format!("layers-{}-{name}", std::process::id()));
    for (file, content) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    let imports = Modules::read(&folder.join("lib.rs")).imports();
    fs::remove_dir_all(folder).expect("removed");
    imports
}

fn edges(imports: &Imports) -> Vec<String> {
    let of = |(from, targets): (&String, &BTreeMap<String, BTreeSet<String>>)| {
        targets.keys().map(|to| format!("{from} > {to}")).collect::<Vec<_>>()
    };
    imports.iter().flat_map(of).collect()
}

#[test]
fn imports_are_found_wherever_they_are_written() {
    let imports = small(
        "found",
        &[
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use b::Shown; use std::fmt;"),
            ("a.rs", "use crate::Shown; fn f() { println!(\"{}\", crate::c::NUMBER + 1); }"),
            ("b.rs", "pub struct Shown; impl Shown { fn g(&self) { super::d::deep::h() } }"),
            ("c.rs", "pub const NUMBER: u32 = 1; #[cfg(test)] mod tests { use crate::a; }"),
            ("d.rs", "pub mod deep; pub use deep::h; use crate::{c::NUMBER as N, b::*};"),
            ("d/deep.rs", "use super::super::c; pub fn h() { c::NUMBER; }"),
        ],
    );
    let expected = ["a > b", "a > c", "b > d/deep", "d > b", "d > c", "d/deep > c"];
    assert_eq!(edges(&imports), expected);
    // Modules that are not listed count as part of the listed module above them.
    let whole = listed(&imports, &BTreeSet::new(), &BTreeMap::new());
    let circle = BTreeSet::from(["b".to_string(), "d".to_string()]);
    assert_eq!(circles(&whole), BTreeSet::from([circle]));
    let parted = listed(&imports, &BTreeSet::new(), &layers("`d/deep`"));
    assert!(circles(&parted).is_empty() && parted["b"].contains("d/deep"));
    // With a spine, naming it is no import.
    let spine = BTreeSet::from(["Shown".to_string()]);
    assert!(whole["a"].contains("b") && !listed(&imports, &spine, &BTreeMap::new())["a"].contains("b"));
}

#[test]
fn children_may_not_import_from_each_other_in_a_circle() {
    let imports = small(
        "siblings",
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod x; mod y; pub struct Own; use x::Left;"),
            ("a/x.rs", "use super::{Own, y::Right}; pub struct Left;"),
            ("a/y.rs", "use super::x::Left; pub struct Right;"),
            ("b.rs", "pub use crate::a::Own;"),
        ],
    );
    let found = circles(&siblings(&imports, &BTreeSet::new(), "a"));
    assert_eq!(found, BTreeSet::from([BTreeSet::from(["a/x".to_string(), "a/y".to_string()])]));
    // A reexport is an import.
    assert!(edges(&imports).contains(&"b > a".to_string()));
}

#[test]
fn what_goes_up_is_told() {
    let graph = Graph::from([
        ("top".to_string(), BTreeSet::from(["low".to_string()])),
        ("low".to_string(), BTreeSet::from(["top".to_string()])),
        ("new".to_string(), BTreeSet::new()),
    ]);
    let wrong = upwards(&graph, &layers("`top` > `low` `old`"), |_, _| "call()".into());
    let expected = [
        "new has no layer",
        "old has a layer, and does not exist",
        "low imports call() from top, which is in a layer above it",
    ];
    assert_eq!(wrong, expected);
}
