//! Core dumps: the memory that ranks share is not in them, unless it is wanted, and the signal is named.

use gasnet_tests::run::run;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// A folder that is removed again.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The dumps of a job of two ranks that abort, with this setting of `GASNET_CORE`; none if the system puts
/// dumps elsewhere or forbids them.
fn dumps(name: &str, setting: &str) -> Vec<Vec<u8>> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.starts_with(['|', '/']) {
        println!("untested: the system puts core dumps elsewhere: {pattern}");
        return Vec::new();
    }
    let folder = std::env::temp_dir().join(format!("gasnet-{name}-{}", std::process::id()));
    let folder = Scratch(folder);
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let mut command = Command::new("sh");
    command.arg("-c").arg(r#"ulimit -c unlimited && exec "$0" abort-with-data"#);
    command.arg(env!("CARGO_BIN_EXE_misbehave")).current_dir(&folder.0);
    command.env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "4G").env("GASNET_CORE", setting);
    let outcome = run(command, "", Duration::from_secs(200)).expect("a shell");
    if outcome.stderr.contains("ulimit") {
        println!("untested: {}", outcome.stderr);
        return Vec::new();
    }
    assert_eq!(outcome.status, Some(128 + 6), "{}", outcome.report());
    assert!(outcome.stderr.contains("SIGABRT"), "{}", outcome.report());
    let files = std::fs::read_dir(&folder.0).expect("the folder").flatten();
    let dumps: Vec<_> = files.filter(|file| file.file_name().to_string_lossy().starts_with("core")).collect();
    assert!(!dumps.is_empty(), "no dump: {}", outcome.report());
    for dump in &dumps {
        let size = dump.metadata().expect("a file").len();
        assert!(size <= 64 * MIB, "{size} bytes");
    }
    dumps.iter().map(|dump| std::fs::read(dump.path()).expect("a file")).collect()
}

fn has_data(dump: &[u8]) -> bool {
    let text: Vec<u8> = (b'a'..=b'z').map(|letter| letter ^ 0x80).collect();
    dump.windows(text.len()).filter(|part| *part == text).count() >= 1000
}

#[test]
fn a_dump_leaves_segments_out() {
    for dump in dumps("dump-none", "none") {
        assert!(!has_data(&dump), "the segment is there");
    }
}

#[test]
fn a_dump_holds_the_used_part_of_segments_if_asked_to() {
    for dump in dumps("dump-used", "used") {
        assert!(has_data(&dump), "the segment is not there");
    }
}
