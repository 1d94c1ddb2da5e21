//! Shared memory that libraries of a rank leave behind when the rank is killed.
//!
//! This project's own memory objects have no names, so they go with their last process. The provider `shm`
//! of libfabric names its memory `/dev/shm/PID:DOMAIN:ENDPOINT` and removes it when the endpoint is closed,
//! which a killed process cannot do. The launcher knows its ranks, and removes what bears the number of one
//! that is gone.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use gasnet_sys::process::Pid;

/// Where the C library keeps named shared memory.
const FOLDER: &str = "/dev/shm";

/// Removes the shared memory of these processes, which are gone. A file older than `since` was left by an
/// earlier process with the same number, and stays.
pub(crate) fn remove(gone: &HashSet<Pid>, since: SystemTime) {
    remove_in(Path::new(FOLDER), gone, since);
}

fn remove_in(folder: &Path, gone: &HashSet<Pid>, since: SystemTime) {
    // A system without the folder has no such memory either.
    let Ok(owner) = fs::metadata("/proc/self").map(|own| own.uid()) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_str().and_then(process_of).is_some_and(|pid| gone.contains(&pid)) {
            continue;
        }
        let ours = entry.metadata().is_ok_and(|file| {
            file.is_file() && file.uid() == owner && file.modified().is_ok_and(|at| at >= since)
        });
        if ours {
            // Who else removes it meanwhile has done what is wanted.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process in `PID:DOMAIN:ENDPOINT`.
fn process_of(name: &str) -> Option<Pid> {
    let numbers: Vec<u32> = name.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [pid, _, _] = numbers[..] else { return None };
    Pid::try_from(pid).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_memory_of_the_gone_is_removed() {
        let folder = std::env::temp_dir().join(format!("gasnet-remains-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let since = SystemTime::now() - Duration::from_secs(1);
        let names =
            ["17:0:0", "17:1:2", "18:0:0", "17:0", "17:0:0:0", "17:0:x", "170:0:0", "sem.17:0:0", "17"];
        names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        let old = fs::File::create(folder.join("19:0:0")).unwrap();
        old.set_modified(since - Duration::from_secs(1)).unwrap();
        remove_in(&folder, &HashSet::from([17, 19]), since);
        let mut left: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, ["17", "170:0:0", "17:0", "17:0:0:0", "17:0:x", "18:0:0", "19:0:0", "sem.17:0:0"]);
    }
}
