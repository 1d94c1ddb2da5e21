//! Where things are: everything is found relative to the running executable, `PREFIX/bin/upcc`.

use std::path::{Path, PathBuf};

/// An installation.
#[derive(Clone, Debug)]
pub struct Layout {
    /// `PREFIX/bin`
    pub bin: PathBuf,
    /// `PREFIX/include/upc`
    pub include: PathBuf,
    /// `PREFIX/lib`
    pub lib: PathBuf,
    /// `PREFIX/etc`
    pub etc: PathBuf,
}

impl Layout {
    /// The installation that the running executable belongs to.
    pub fn find() -> Result<Layout, String> {
        let exe = std::env::current_exe().map_err(|e| format!("cannot find my own executable: {e}"))?;
        let exe = exe.canonicalize().unwrap_or(exe);
        let bin = exe.parent().unwrap_or(Path::new("/")).to_path_buf();
        let prefix = bin.parent().unwrap_or(Path::new("/")).to_path_buf();
        Ok(Layout {
            include: prefix.join("include/upc"),
            lib: prefix.join("lib"),
            etc: prefix.join("etc"),
            bin,
        })
    }

    /// The runtime library.
    pub fn library(&self) -> PathBuf {
        self.lib.join("libupc.a")
    }

    /// Checks that the headers are there.
    pub fn check_headers(&self) -> Result<(), String> {
        if self.include.join("upcc_abi.h").is_file() {
            return Ok(());
        }
        Err(format!(
            "the headers are not at '{}'; install with 'cargo xtask install --prefix DIR' and run DIR/bin/upcc \
             (in a source tree: 'cargo xtask stage', then target/stage/bin/upcc)",
            self.include.display()
        ))
    }

    /// Checks that the library is there.
    pub fn check_library(&self) -> Result<(), String> {
        if self.library().is_file() {
            return Ok(());
        }
        Err(format!(
            "the runtime library is not at '{}'; install with 'cargo xtask install --prefix DIR'",
            self.library().display()
        ))
    }
}
