//! Requirements on published crates. `cargo publish` itself asks for few of them; readers of the registry's
//! page expect them all.

use gasnet_house::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A crate is either for this repository only, or has a page and licences, and names versions of the crates
/// it is built on.
#[test]
fn crates_for_others_can_be_published() {
    let members = workspace::members(&root()).expect("a workspace");
    let manifest =
        |folder: &Path| fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("readable");
    let own = |text: &str| text.contains("\npublish = false\n");
    let (private, public): (Vec<_>, Vec<_>) =
        members.iter().partition(|member| own(&manifest(&member.folder)));
    let private: BTreeSet<&str> = private.iter().map(|member| &member.name[..]).collect();
    assert!(public.len() > 10 && public.iter().any(|member| member.name == "pgas"), "{public:?}");
    let workspace = manifest(Path::new(""));
    for member in public {
        let (name, folder) = (&member.name, root().join(&member.folder));
        let text = manifest(&member.folder);
        let docs = format!("documentation = \"https://docs.rs/{name}\"");
        for part in ["description = \"", &docs, "include.workspace = true", "[package.metadata.docs.rs]"] {
            assert!(text.contains(part), "{name}: its manifest has no {part}");
        }
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read_to_string(folder.join(file));
            assert!(text.is_ok_and(|text| !text.is_empty()), "{name} has no {file}");
        }
        let readme = fs::read_to_string(folder.join("README.md")).expect("readable");
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}: its README.md begins with another name");
        let version = workspace.lines().find(|line| line.starts_with(&format!("{name} = {{ path = ")));
        assert!(
            version.is_none_or(|line| line.contains("version = \"")),
            "{name}: the workspace's manifest names no version"
        );
        let needs: Vec<_> = member.needs.iter().filter(|need| private.contains(&need[..])).collect();
        assert!(needs.is_empty(), "{name} is for others, and built on {needs:?}, which are not");
    }
}

/// Sources of crates for others read nothing outside their folders, which a package does not have.
#[test]
fn crates_for_others_are_whole() {
    fn look(folder: &Path, depth: usize, found: &mut Vec<String>) {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                look(&path, depth + 1, found);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("readable");
            let names = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
            let used = names.iter().flat_map(|start| text.split(start).skip(1));
            let out = "../".repeat(depth + 1);
            found.extend(used.filter(|rest| rest.starts_with(&out)).map(|_| path.display().to_string()));
        }
    }
    let mut found = Vec::new();
    for member in workspace::members(&root()).expect("a workspace") {
        let folder = root().join(&member.folder);
        if !fs::read_to_string(folder.join("Cargo.toml")).expect("readable").contains("\npublish = false\n") {
            look(&folder.join("src"), 0, &mut found);
        }
    }
    assert!(found.is_empty(), "{found:?}");
}
