//! Descriptions of an installation: a file for environment modules, and the list of its files, by which it
//! is removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use gasnet_options::{Argument, opt};

use crate::files;
use crate::task::{Task, read, surplus, task, with_help};

#[derive(Clone, Copy)]
enum UninstallOption {
    Prefix,
    DestDir,
}

const UNINSTALL: Task<UninstallOption> = task(
    "cargo xtask uninstall",
    "Removes what 'cargo xtask install' has put under DIR, and nothing else: the files of the list \
     DIR/share/gasnet-rs/files, and folders that are empty then.",
    &["cargo xtask uninstall --prefix DIR [--destdir DIR]"],
    &[
        opt(UninstallOption::Prefix, "--prefix DIR", "the directory that was given to install (required)"),
        opt(UninstallOption::DestDir, "--destdir DIR", "the files are under DIR/PREFIX (default: no DIR)"),
    ],
    "",
);

/// The list of files, below the prefix.
const LIST: &str = "share/gasnet-rs/files";

/// The file for environment modules, below the prefix.
fn module() -> String {
    format!("share/modulefiles/gasnet-rs/{}", env!("CARGO_PKG_VERSION"))
}

/// A module in Tcl, which both common implementations read. It finds the installation from its own place.
const MODULE: &str = include_str!("../../packaging/modulefiles/gasnet-rs");

/// Writes the file for environment modules.
pub fn lay_down_module(prefix: &Path) -> Result<(), String> {
    files::write(&prefix.join(module()), MODULE)
}

/// Writes the list of all files that this run has laid down. Files of an earlier installation that this one
/// no longer has are removed.
pub fn record(prefix: &Path) -> Result<(), String> {
    let list = prefix.join(LIST);
    let mut all: BTreeSet<PathBuf> = files::all_below(prefix).into_iter().collect();
    all.insert(LIST.into());
    if let Ok(old) = fs::read_to_string(&list) {
        let old: Vec<PathBuf> = listed(&old).filter(|file| !all.contains(file)).collect();
        remove(prefix, &old)?;
    }
    let text: String = all.iter().map(|file| format!("{}\n", file.display())).collect();
    files::write(&list, &text)
}

/// The files of a list; never one outside of the prefix, whoever wrote the list.
fn listed(text: &str) -> impl Iterator<Item = PathBuf> {
    let inside = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    text.lines().map(PathBuf::from).filter(move |path| !path.as_os_str().is_empty() && inside(path))
}

/// Removes files below the prefix, and the folders that are empty then. Returns how many there were.
fn remove(prefix: &Path, all: &[PathBuf]) -> Result<usize, String> {
    let mut removed = 0;
    let mut folders = BTreeSet::new();
    for file in all {
        let path = prefix.join(file);
        match fs::remove_file(&path) {
            Ok(()) => removed += 1,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{}: {e}", path.display())),
        }
        folders.extend(file.ancestors().skip(1).filter(|f| !f.as_os_str().is_empty()).map(Path::to_path_buf));
    }
    // The deepest first; a folder with something else in it stays.
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(prefix.join(folder));
    }
    Ok(removed)
}

/// Reads the command line and removes an installation.
pub fn uninstall(words: Vec<std::ffi::OsString>) -> Result<(), String> {
    let (mut prefix, mut destdir) = (None::<PathBuf>, None::<PathBuf>);
    let going_on = read(&UNINSTALL, words, |word, _| {
        match word {
            Argument::Option(found) if matches!(found.key, UninstallOption::Prefix) => {
                prefix = Some(found.value().into())
            }
            Argument::Option(found) => destdir = Some(found.value().into()),
            Argument::Operand(word) | Argument::Unknown(word) => return Err(surplus(&word)),
        }
        Ok(())
    })?;
    if !going_on {
        return Ok(());
    }
    let prefix = prefix.ok_or_else(|| with_help("from where?", &UNINSTALL))?;
    let prefix = std::path::absolute(&prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    let place = match destdir {
        Some(folder) => folder.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix,
    };
    let removed = uninstall_from(&place)?;
    say!("removed {removed} files from {}", place.display());
    Ok(())
}

fn uninstall_from(place: &Path) -> Result<usize, String> {
    let list = place.join(LIST);
    let text = fs::read_to_string(&list).map_err(|e| {
        format!(
            "{}: {e}; 'cargo xtask install' writes this list, and nothing is removed without it",
            list.display()
        )
    })?;
    remove(place, &listed(&text).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-installed-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_was_installed_is_removed_and_nothing_else() {
        let outer = folder("remove");
        let prefix = outer.join("prefix");
        files::write(&prefix.join("bin/tool"), "x").unwrap();
        files::write(&prefix.join("lib/deep/er/file"), "x").unwrap();
        fs::write(prefix.join("bin/somebody-elses"), "x").unwrap();
        lay_down_module(&prefix).unwrap();
        // Of an earlier version, which also had a file that this one does not have.
        fs::create_dir_all(prefix.join("share/gasnet-rs")).unwrap();
        fs::write(prefix.join("lib/old"), "x").unwrap();
        fs::write(outer.join("outside"), "x").unwrap();
        fs::write(prefix.join(LIST), "lib/old\n../outside\n/etc/no-such-file\n\nlib/deep/er/file\n").unwrap();
        record(&prefix).unwrap();
        assert!(!prefix.join("lib/old").exists() && prefix.join("lib/deep/er/file").exists());
        assert_eq!(uninstall_from(&prefix).unwrap(), 4);
        assert!(outer.join("outside").exists());
        let left: Vec<PathBuf> = crate::package::tree(&prefix);
        assert_eq!(left, [Path::new("bin/somebody-elses")]);
        assert!(!prefix.join("lib").exists() && !prefix.join("share").exists());
        assert!(uninstall_from(&prefix).unwrap_err().contains("nothing is removed without it"));
        fs::remove_dir_all(&outer).unwrap();
    }

    /// Tcl understands the module, and it names the folders of its own installation.
    #[test]
    fn the_module_names_its_own_installation() {
        let prefix = folder("module");
        lay_down_module(&prefix).unwrap();
        let file = prefix.join(module());
        let script = "foreach c {module-whatis conflict} {proc $c args {}}\n\
                      proc prepend-path {name value} {puts \"$name $value\"}\n\
                      set ModulesCurrentModulefile [lindex $argv 0]\nsource $ModulesCurrentModulefile\n";
        let run = prefix.join("run.tcl");
        fs::write(&run, script).unwrap();
        // A language that may not be there.
        let said = Command::new("tclsh").arg(&run).arg(&file).output();
        if let Ok(said) = said {
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            let root = prefix.display();
            let expected = format!(
                "PATH {root}/bin\nMANPATH {root}/share/man\nPKG_CONFIG_PATH {root}/lib/pkgconfig\nCMAKE_PREFIX_PATH {root}\n"
            );
            assert_eq!(text, expected, "{said:?}");
        }
        fs::remove_dir_all(&prefix).unwrap();
    }
}
