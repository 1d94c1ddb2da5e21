//! Files of an installation: written and copied only where something changed, and in a way that nobody else
//! can change them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Every file that this run has laid down or found up to date.
static LAID_DOWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes that a file belongs to the installation that is being made.
pub fn belongs(file: &Path) {
    LAID_DOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_path_buf());
}

/// The noted files below a folder, as paths relative to it, in order.
pub fn all_below(folder: &Path) -> Vec<PathBuf> {
    let all = LAID_DOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter_map(|file| file.strip_prefix(folder).ok()).map(Path::to_path_buf).collect()
}

/// Whether `from` was changed after `than`, or either is not there.
pub fn newer(from: &Path, than: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    match (time(from), time(than)) {
        (Some(from), Some(than)) => from >= than,
        _ => true,
    }
}

/// Makes the folder for a file. Whatever the umask says, only its owner can write it: plugins are loaded from
/// no other.
pub fn make_parent(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(parent);
    made.map_err(|e| format!("{}: {e}", parent.display()))
}

/// Takes from a file's group and from others the right to write it.
fn protect(file: &Path) -> Result<(), String> {
    let change = || {
        let mode = fs::metadata(file)?.permissions().mode();
        fs::set_permissions(file, fs::Permissions::from_mode(mode & !0o022))
    };
    change().map_err(|e| format!("{}: {e}", file.display()))
}

/// Puts a finished file in its place, in one step: a program that is just running keeps its old file.
pub fn rename(from: &Path, to: &Path) -> Result<(), String> {
    belongs(to);
    let near = to.with_extension(format!("new-{}", std::process::id()));
    fs::copy(from, &near).map_err(|e| format!("{} to {}: {e}", from.display(), near.display()))?;
    protect(&near)?;
    fs::rename(&near, to).map_err(|e| format!("{}: {e}", to.display()))
}

/// Copies a file, if it is newer or not there.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    belongs(to);
    if !newer(from, to) {
        return Ok(());
    }
    make_parent(to)?;
    rename(from, to)
}

/// Writes a file, unless it has this text already.
pub fn write(to: &Path, text: &str) -> Result<(), String> {
    belongs(to);
    if fs::read_to_string(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    make_parent(to)?;
    fs::write(to, text).map_err(|e| format!("{}: {e}", to.display()))?;
    protect(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that only its owner may change keeps its mode, whatever the umask.
    #[test]
    fn nobody_else_can_write_what_is_installed() {
        let folder = std::env::temp_dir().join(format!("xtask-modes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let from = folder.join("from");
        fs::write(&from, "x").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o777)).unwrap();
        copy(&from, &folder.join("prefix/lib/copied")).unwrap();
        write(&folder.join("prefix/lib/written"), "text").unwrap();
        for made in ["prefix", "prefix/lib", "prefix/lib/copied", "prefix/lib/written"] {
            let mode = fs::metadata(folder.join(made)).unwrap().permissions().mode();
            assert_eq!(mode & 0o022, 0, "{made}: {mode:o}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
