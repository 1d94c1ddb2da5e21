//! Folders that are searched for libraries although nobody has named them: beside a program, beside a
//! library, where a launcher says.
//!
//! Anybody may be able to make such a folder: a program in `/tmp/bin` has `/tmp/lib` beside it, which any
//! user can create. A library is loaded from it only if nobody else could have put it there. The library, its
//! folder, and the folder from which a program finds that folder must belong to root or to the owner of the
//! program, and neither their group nor others may have write access. The sticky bit (of `/tmp`) makes no
//! difference: it keeps users from removing each other's files, but not from adding some.
//!
//! The checked file is the one that is used: files are opened first, and loaded through their descriptors
//! ([`Found::name`]).

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Environment variable by which launchers tell their ranks where libraries are: the number of the launcher's
/// owner, a colon, the launcher's folder.
pub const LAUNCHER_VARIABLE: &str = "GASNETI_PLUGINS";

const ROOT_USER: u32 = 0;
/// Opens a folder only to look up files in it, whoever may read it.
const FOLDER_FLAGS: i32 = libc::O_PATH | libc::O_DIRECTORY;

/// A folder to look for libraries in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFolder {
    /// The folder that contains `folder`, if `folder` was found there by its name.
    prefix: Option<PathBuf>,
    folder: PathBuf,
    /// The user whose files are trusted, besides root.
    owner: u32,
}

/// An open library that nobody else can have put there.
#[derive(Debug)]
pub struct Found {
    file: File,
    /// Its path.
    pub path: PathBuf,
}

impl Found {
    /// A name by which the loader finds exactly this file, while it is open.
    pub fn name(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Leaves the file open permanently: the loader knows a library by its name, which must not become
    /// another file's.
    pub fn keep(self) {
        let _ = self.file.into_raw_fd();
    }
}

/// The path of this program, and its owner.
fn program() -> Option<(PathBuf, u32)> {
    let path = std::env::current_exe().ok()?;
    Some((path, std::fs::metadata("/proc/self/exe").ok()?.uid()))
}

impl PluginFolder {
    /// `../lib` of the program `path`, if that is in a folder `bin`.
    pub fn of_program(path: &Path, owner: u32) -> Option<PluginFolder> {
        let bin = path.parent().filter(|bin| bin.file_name().is_some_and(|name| name == "bin"))?;
        let prefix = bin.parent()?;
        Some(PluginFolder { folder: prefix.join("lib"), prefix: Some(prefix.into()), owner })
    }

    /// `../lib` of this program.
    pub fn beside_program() -> Option<PluginFolder> {
        let (path, owner) = program()?;
        PluginFolder::of_program(&path, owner)
    }

    /// The folder of a library that is loaded already.
    pub fn beside_library(path: &Path) -> Option<PluginFolder> {
        let owner = std::fs::metadata(path).ok()?.uid();
        Some(PluginFolder { prefix: None, folder: path.parent()?.into(), owner })
    }

    /// `../lib` of the launcher that has started this program.
    pub fn of_launcher() -> Option<PluginFolder> {
        PluginFolder::parse(std::env::var_os(LAUNCHER_VARIABLE)?.as_bytes())
    }

    /// Parses the message of a launcher.
    fn parse(said: &[u8]) -> Option<PluginFolder> {
        let colon = said.iter().position(|&b| b == b':')?;
        let owner = std::str::from_utf8(&said[..colon]).ok()?.parse().ok()?;
        let bin = PathBuf::from(OsString::from_vec(said[colon + 1..].to_vec()));
        PluginFolder::of_program(&bin.join("launcher"), owner)
    }

    /// The message of this program, a launcher, to its ranks, if it is installed.
    pub fn for_ranks() -> Option<(OsString, OsString)> {
        let (path, owner) = program()?;
        PluginFolder::of_program(&path, owner)?;
        let mut said = OsString::from(format!("{owner}:"));
        said.push(path.parent()?);
        Some((LAUNCHER_VARIABLE.into(), said))
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the library `name` in it; `None` if there is none.
    ///
    /// # Errors
    /// Somebody else could have put it there, or it cannot be opened; the message says which and why.
    pub fn open(&self, name: &str) -> Result<Option<Found>, String> {
        let named = self.folder.join(name);
        let refused = |why: String| format!("{} is not loaded, since {why}", named.display());
        let failed = |at: &Path, e: io::Error| refused(format!("{} cannot be opened: {e}", at.display()));
        let path = match std::fs::canonicalize(&named) {
            Ok(path) => path,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(e) => return Err(failed(&named, e)),
        };
        // Through a symbolic link, the real folder is another one.
        let real = path.parent().unwrap_or(&path);
        for folder in self.prefix.iter().map(PathBuf::as_path).chain([self.folder.as_path()]) {
            let is = open(folder, FOLDER_FLAGS).and_then(|f| f.metadata()).map_err(|e| failed(folder, e))?;
            self.check(folder, &is).map_err(refused)?;
        }
        let folder = open(real, FOLDER_FLAGS | libc::O_NOFOLLOW).map_err(|e| failed(real, e))?;
        self.check(real, &folder.metadata().map_err(|e| failed(real, e))?).map_err(refused)?;
        let inside = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
            .join(path.file_name().unwrap_or_default());
        // Opening a file that is not regular might block.
        let file = open(&inside, libc::O_NOFOLLOW | libc::O_NONBLOCK).map_err(|e| failed(&path, e))?;
        let is = file.metadata().map_err(|e| failed(&path, e))?;
        if !is.is_file() {
            return Err(refused("it is no file".into()));
        }
        self.check(&path, &is).map_err(refused)?;
        Ok(Some(Found { file, path }))
    }

    /// Whether nobody but root and the owner can change it.
    fn check(&self, path: &Path, is: &Metadata) -> Result<(), String> {
        let path = path.display();
        if ![ROOT_USER, self.owner].contains(&is.uid()) {
            let whose =
                if self.owner == ROOT_USER { "root".into() } else { format!("root or user {}", self.owner) };
            return Err(format!("{path} belongs to user {}, not to {whose} as the program does", is.uid()));
        }
        if is.mode() & 0o022 != 0 {
            let who = if is.mode() & 0o002 != 0 { "everybody" } else { "its group" };
            return Err(format!("{who} can write {path} (chmod go-w {path} changes that)"));
        }
        Ok(())
    }
}

fn open(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const NAME: &str = "libgasnet_x.so";

    /// `bin`, `lib` and a library in a folder of their own.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Tree {
            let root = std::env::temp_dir().join(format!("planted-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            let tree = Tree(root);
            for folder in ["bin", "lib"] {
                fs::create_dir_all(tree.0.join(folder)).unwrap();
                tree.mode(folder, 0o755);
            }
            tree.mode("", 0o755);
            fs::write(tree.0.join("bin/program"), "").unwrap();
            tree.library("lib");
            tree
        }

        fn library(&self, folder: &str) {
            let at = format!("{folder}/{NAME}");
            fs::write(self.0.join(&at), "library").unwrap();
            self.mode(&at, 0o755);
        }

        fn mode(&self, at: &str, mode: u32) {
            fs::set_permissions(self.0.join(at), Permissions::from_mode(mode)).unwrap();
        }

        fn place(&self) -> PluginFolder {
            let program = self.0.join("bin/program");
            PluginFolder::of_program(&program, fs::metadata(&program).unwrap().uid()).unwrap()
        }

        #[track_caller]
        fn is_found(&self) {
            let found = self.place().open(NAME).unwrap().unwrap();
            assert_eq!(fs::read(found.name()).unwrap(), b"library");
        }

        #[track_caller]
        fn is_refused(&self, parts: &[&str]) {
            let said = self.place().open(NAME).unwrap_err();
            assert!(said.contains("is not loaded, since "), "{said}");
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_library_of_an_installed_tree_is_found() {
        let tree = Tree::new("good");
        tree.is_found();
        // A folder like /tmp above it makes no difference: nobody can replace its contents.
        tree.mode("", 0o1777);
        for folder in ["mine", "mine/bin", "mine/lib"] {
            fs::create_dir(tree.0.join(folder)).unwrap();
            tree.mode(folder, 0o755);
        }
        tree.library("mine/lib");
        let mine = PluginFolder::of_program(&tree.0.join("mine/bin/program"), tree.place().owner).unwrap();
        assert!(mine.open(NAME).unwrap().is_some());
        assert!(mine.open("libgasnet_y.so").unwrap().is_none());
    }

    #[test]
    fn what_others_can_write_is_refused() {
        for (at, mode, who) in [
            ("", 0o1777, "everybody"),
            ("", 0o775, "group"),
            ("lib", 0o1777, "everybody"),
            ("lib", 0o775, "group"),
            ("lib/libgasnet_x.so", 0o757, "everybody"),
            ("lib/libgasnet_x.so", 0o664, "group"),
        ] {
            let tree = Tree::new("writable");
            tree.mode(at, mode);
            tree.is_refused(&[who, "chmod go-w"]);
        }
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused() {
        for at in ["", "lib", "lib/libgasnet_x.so"] {
            let tree = Tree::new("foreign");
            if let Err(e) = chown(tree.0.join(at), Some(4321), None) {
                assert_eq!(e.kind(), ErrorKind::PermissionDenied);
                eprintln!("left out: only root can give files away");
                return;
            }
            tree.is_refused(&["belongs to user 4321"]);
        }
        // Root's files are trusted by everybody.
        let tree = Tree::new("foreign-program");
        chown(tree.0.join("bin/program"), Some(4321), None).unwrap();
        tree.is_found();
        chown(tree.0.join(format!("lib/{NAME}")), Some(4321), None).unwrap();
        tree.is_found();
    }

    #[test]
    fn links_are_checked_at_both_ends() {
        let tree = Tree::new("links");
        for folder in ["good", "open"] {
            fs::create_dir(tree.0.join(folder)).unwrap();
            tree.mode(folder, if folder == "open" { 0o777 } else { 0o755 });
            tree.library(folder);
        }
        let library = tree.0.join("lib").join(NAME);
        fs::remove_file(&library).unwrap();
        symlink(format!("../good/{NAME}"), &library).unwrap();
        tree.is_found();
        fs::remove_file(&library).unwrap();
        symlink(format!("../open/{NAME}"), &library).unwrap();
        tree.is_refused(&["everybody can write", "open"]);
        fs::remove_dir_all(tree.0.join("lib")).unwrap();
        symlink("good", tree.0.join("lib")).unwrap();
        tree.is_found();
        fs::remove_file(tree.0.join("lib")).unwrap();
        symlink("open", tree.0.join("lib")).unwrap();
        tree.is_refused(&["everybody can write"]);
    }

    #[test]
    fn only_files_are_opened() {
        let tree = Tree::new("folder");
        let library = tree.0.join("lib").join(NAME);
        fs::remove_file(&library).unwrap();
        fs::create_dir(&library).unwrap();
        tree.is_refused(&["it is no file"]);
    }

    #[test]
    fn programs_elsewhere_have_no_library_beside_them() {
        assert_eq!(PluginFolder::of_program(Path::new("/tmp/x/program"), 0), None);
        assert_eq!(PluginFolder::of_program(Path::new("/tmp/cabin/program"), 0), None);
        let usr = PluginFolder::of_program(Path::new("/usr/bin/program"), 7).unwrap();
        assert_eq!((usr.folder(), usr.prefix.as_deref()), (Path::new("/usr/lib"), Some(Path::new("/usr"))));
    }

    #[test]
    fn what_launchers_say_is_understood() {
        assert_eq!(
            PluginFolder::parse(b"7:/opt/x/bin"),
            PluginFolder::of_program(Path::new("/opt/x/bin/gasnetrun"), 7)
        );
        assert_eq!(PluginFolder::parse(b"7:/opt/x:y/bin").unwrap().folder(), Path::new("/opt/x:y/lib"));
        for nonsense in [&b""[..], b"/opt/x/bin", b"x:/opt/x/bin", b"7:", b"7:/opt/x"] {
            assert_eq!(PluginFolder::parse(nonsense), None);
        }
    }
}
