//! The crates of the workspace, by its manifests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its folder, below the root of the repository.
    pub folder: PathBuf,
    /// Crates of the workspace that it is built on. Those that only its tests need do not count.
    pub needs: BTreeSet<String>,
}

/// The value of `key = "value"` in a line.
fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().strip_prefix('"')?.split('"').next()
}

/// All crates, in the order of the workspace.
///
/// # Errors
/// A manifest cannot be read, or lacks the list of members or a name.
pub fn members(root: &Path) -> Result<Vec<Member>, String> {
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()));
    let workspace = read(root.join("Cargo.toml"))?;
    let list = workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next());
    let folders = list.ok_or("Cargo.toml has no list of members")?.split('"').skip(1).step_by(2);
    let (mut members, mut manifests) = (Vec::new(), Vec::new());
    for folder in folders {
        let manifest = read(root.join(folder).join("Cargo.toml"))?;
        let name = manifest.lines().find_map(|line| quoted(line, "name"));
        let name = name.ok_or_else(|| format!("{folder}/Cargo.toml has no name"))?.to_string();
        members.push(Member { name, folder: folder.into(), needs: BTreeSet::new() });
        manifests.push(manifest);
    }
    let names: BTreeSet<String> = members.iter().map(|member| member.name.clone()).collect();
    for (member, manifest) in members.iter_mut().zip(manifests) {
        let sections = manifest.split("\n[").filter(|s| s.starts_with("dependencies]"));
        let lines = sections.flat_map(str::lines);
        let keys = lines.filter_map(|line| line.split(['.', ' ', '=']).next().map(String::from));
        member.needs = keys.filter(|key| names.contains(key)).collect();
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let members = members(&root).expect("a workspace");
        let house = members.iter().find(|member| member.name == "gasnet-house").expect("this crate");
        assert!(house.folder == Path::new("tests/house") && house.needs.is_empty(), "{house:?}");
        let xtask = members.iter().find(|member| member.name == "xtask").expect("is in the workspace");
        assert!(xtask.needs.contains("gasnet-house"), "{xtask:?}");
    }
}
