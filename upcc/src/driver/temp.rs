//! A private directory for intermediate files, removed when dropped.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The directory.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes one, readable by this user alone.
    pub fn new() -> Result<TempDir, String> {
        let base = base(std::env::temp_dir());
        let mut last = None;
        for k in 0..100u32 {
            let t = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
            let dir = base.join(format!("upcc-{}-{t:x}{k}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(TempDir(dir)),
                Err(e) => last = Some(e),
            }
        }
        let why = last.map(|e| e.to_string()).unwrap_or_default();
        Err(format!("cannot make a directory for temporary files in '{}': {why}", base.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// The directory that temporary files are in; an empty `TMPDIR` names none.
fn base(named: PathBuf) -> PathBuf {
    if named.as_os_str().is_empty() { "/tmp".into() } else { named }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_is_none() {
        assert_eq!(base("".into()), Path::new("/tmp"));
        assert_eq!(base("/a".into()), Path::new("/a"));
    }
}
