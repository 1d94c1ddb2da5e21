//! Shared objects: the C that is linked into each, and which of those on the command line are UPC.

use super::ident::quoted;
use crate::emit::abi::{OBJECT_CHECKED, OBJECT_NAME};
use std::path::{Path, PathBuf};

/// C text with the constructor of a shared object, which registers its shared variables and their
/// initialisers with the runtime of the program that loads it. `checked`: together with what its files were
/// compiled for, which has to be what the program was compiled for.
pub fn constructor(library: &Path, checked: bool) -> String {
    let name = quoted(&library.file_name().unwrap_or_default().to_string_lossy());
    let checked = if checked { format!("#define {OBJECT_CHECKED} 1\n") } else { String::new() };
    format!("#define {OBJECT_NAME} \"{name}\"\n{checked}#include <upcc_abi.h>\n")
}

/// The shared objects that the linker takes of a command line's words: files, and what `-l` names in the
/// folders of `-L`.
pub fn libraries<'a>(words: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let (mut folders, mut names, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for word in words {
        let text = word.to_string_lossy();
        if let Some(folder) = text.strip_prefix("-L") {
            folders.push(PathBuf::from(folder));
        } else if let Some(name) = text.strip_prefix("-l") {
            names.push(match name.strip_prefix(':') {
                Some(file) => file.to_owned(),
                None => format!("lib{name}.so"),
            });
        } else if word.extension().is_some_and(|e| e == "so") || text.contains(".so.") {
            found.push(word.to_owned());
        }
    }
    found.extend(names.iter().filter_map(|n| folders.iter().map(|f| f.join(n)).find(|file| file.is_file())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_objects_of_a_command_line() {
        let folder = std::env::temp_dir().join(format!("upcc-libraries-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let here = folder.join("libhere.so");
        std::fs::write(&here, "").unwrap();
        let with = format!("-L{}", folder.display());
        let words = ["a.o", "-lhere", "b/libb.so", "-lm", "libc.so.1", &with, "-l:libhere.so"].map(Path::new);
        let found = libraries(words.into_iter());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [Path::new("b/libb.so"), Path::new("libc.so.1"), &here, &here]);
    }
}
