//! The kinds of threads in a rank's process, and which threads are the program's.
//!
//! The monitor ends a job whose threads all wait for ranks that have ended ([`crate::report`]). Only threads
//! of the program can end such a wait, so threads of the runtime, and of the libraries below it, do not
//! count.

use std::path::Path;

/// The runtime's threads, by the names the kernel shows, and what each kind does. Threads that libraries of
/// networks start have names of their own choice; they are known by having been made while the rank started.
pub(crate) const KINDS: [(&str, &str); 7] = [
    ("gasnet-progress", "the progress thread: handles messages while the program computes"),
    ("gasnet-attach", "waits for the other ranks to attach, while the program's thread serves messages"),
    ("gasnet-udp", "the udp conduit's keeper: acknowledges for a rank that computes"),
    ("gasnet-events", "keeps up the descriptor of a NIC's event queue"),
    ("netvm-nic", "the NIC of the netvm conduit"),
    ("netvm-wire", "receives what comes to that NIC from other hosts"),
    ("netvm-pager", "brings pages of a segment and takes them away"),
];

/// The threads of this process, by number.
pub(crate) fn all() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Whether this process has one thread: nothing happens in it but what that does.
pub fn is_single() -> bool {
    all().len() == 1
}

/// How many of them are the program's; `started` are those that were made while the rank started.
pub(crate) fn of_program(started: &[u32]) -> usize {
    let name = |task: u32| std::fs::read_to_string(Path::new("/proc/self/task").join(format!("{task}/comm")));
    let of_runtime = |task: &u32| {
        started.contains(task)
            || name(*task).is_ok_and(|name| KINDS.iter().any(|(kind, _)| *kind == name.trim_end()))
    };
    all().iter().filter(|task| !of_runtime(task)).count()
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Other tests run on threads of their own: only differences say something.
    #[test]
    fn threads_are_told_apart_by_name_and_by_when_they_were_made() {
        let (tell, told) = channel();
        let (end, wait) = channel::<()>();
        let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
        let start = |name: &str| {
            let (tell, wait) = (tell.clone(), wait.clone());
            let body = move || {
                let own = std::fs::read_link("/proc/thread-self").expect("/proc");
                let number: u32 =
                    own.file_name().and_then(|n| n.to_str()).expect("a name").parse().expect("a number");
                tell.send(number).expect("a listener");
                let _ = wait.lock().map(|wait| wait.recv());
            };
            let thread = std::thread::Builder::new().name(name.into()).spawn(body).expect("a thread");
            (thread, told.recv().expect("its number"))
        };
        let (program, by_program) = start("gasnet-mine");
        let (library, by_library) = start("some-library");
        let kinds: Vec<_> = KINDS.iter().map(|(name, _)| start(name)).collect();
        let name =
            |task: &u32| std::fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
        for (number, (kind, _)) in kinds.iter().map(|(_, number)| number).zip(KINDS) {
            assert_eq!(name(number).trim_end(), kind, "the kernel keeps 15 letters");
        }
        let own: Vec<u32> =
            all().into_iter().filter(|task| *task != by_program && *task != by_library).collect();
        assert_eq!(of_program(&own), 2, "neither is known");
        let own: Vec<u32> = own.into_iter().chain([by_library]).collect();
        let by_kind: Vec<u32> = kinds.iter().map(|(_, number)| *number).collect();
        let without: Vec<u32> = own.iter().copied().filter(|task| !by_kind.contains(task)).collect();
        assert_eq!(
            of_program(&without),
            1,
            "the runtime's are known by name, the library's by when it was made"
        );
        drop(end);
        for thread in [program, library].into_iter().chain(kinds.into_iter().map(|(thread, _)| thread)) {
            thread.join().expect("it ends");
        }
    }
}
