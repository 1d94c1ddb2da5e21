//! Folders that the user names for headers.
//!
//! gcc searches each folder once. One that is given for user headers (`-iquote`, `-I`, `CPATH`) and for
//! system headers (`-isystem`, `-idirafter`) is searched among the latter. So upcc must not give the folder
//! of the source as one of them if the user gives it as one of the former: it is searched where the user
//! wants it.

use super::super::options::Options;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether the user names this folder for user headers, in whatever spelling.
pub fn named(o: &Options, cpath: Option<&OsStr>, folder: &Path) -> bool {
    let file = |p: &Path| p.metadata().ok().map(|m| (m.dev(), m.ino()));
    let Some(it) = file(folder) else { return false };
    let words: Vec<&str> = o.cc.iter().chain(&o.cpp).map(String::as_str).collect();
    let of_environment = cpath.into_iter().flat_map(std::env::split_paths);
    // An empty part of CPATH is the working folder.
    let of_environment = of_environment.map(|p| if p.as_os_str().is_empty() { ".".into() } else { p });
    given(&words).into_iter().chain(of_environment).any(|p| file(&p) == Some(it))
}

/// Whether a folder has a header that is called as that of one of our libraries, and none that is called as
/// one of the system's: searched before both, it hides the first and not the second.
pub fn has_own_library(folder: &Path) -> bool {
    if !super::LIBRARIES.iter().any(|(_, header)| folder.join(header).is_file()) {
        return false;
    }
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    !names.map(|f| f.file_name()).any(|name| Path::new("/usr/include").join(name).exists())
}

/// The folders for user headers among the options of the preprocessor.
fn given(options: &[&str]) -> Vec<PathBuf> {
    // Options after `-Wp,` and `-Xpreprocessor` are treated like all others.
    let words: Vec<&str> = options
        .iter()
        .filter(|w| **w != "-Xpreprocessor")
        .flat_map(|w| match w.strip_prefix("-Wp,") {
            Some(list) => list.split(',').collect(),
            None => vec![*w],
        })
        .collect();
    let mut folders = Vec::new();
    let (mut prefix, mut root) = ("", "");
    let mut i = 0;
    while let Some(&word) = words.get(i) {
        i += 1;
        let Some(name) = NAMES.iter().find(|n| word.starts_with(**n)) else { continue };
        let mut value = &word[name.len()..];
        if value.is_empty() {
            value = words.get(i).copied().unwrap_or_default();
            i += 1;
        }
        match *name {
            "-iprefix" => prefix = value,
            "-isysroot" => root = value,
            "--sysroot" => root = value.trim_start_matches('='),
            "-iwithprefixbefore" => folders.push((prefix, value)),
            _ => folders.push(("", value)),
        }
    }
    let path =
        |(prefix, folder): (&str, &str)| match folder.strip_prefix('=').or(folder.strip_prefix("$SYSROOT")) {
            Some(rest) => format!("{root}{rest}").into(),
            None => format!("{prefix}{folder}").into(),
        };
    folders.into_iter().map(path).collect()
}

/// The options that matter here.
const NAMES: [&str; 6] = ["-I", "-iquote", "-iwithprefixbefore", "-iprefix", "-isysroot", "--sysroot"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_every_spelling() {
        let paths = |words: &[&str]| given(words).iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(paths(&["-Ia", "-I", "b", "-iquotec", "-iquote", "d/"]), ["a", "b", "c", "d/"]);
        assert_eq!(paths(&["-isystem", "a", "-idirafter", "b", "-DI", "-O2"]), [""; 0]);
        assert_eq!(paths(&["-Wp,-Ia,-iquote,b", "-Xpreprocessor", "-Ic"]), ["a", "b", "c"]);
        assert_eq!(paths(&["-iprefix", "/x/", "-iwithprefixbefore", "a", "-Ib"]), ["/x/a", "b"]);
        assert_eq!(paths(&["-I=/a", "--sysroot=/r", "-I$SYSROOT/b"]), ["/r/a", "/r/b"]);
        assert_eq!(paths(&["-isysroot", "/r", "-I", "=a"]), ["/ra"]);
    }
}
