//! Jobs on hosts that are not alike: each has memory of its own size, and ranks of its own number.

use crate::{Net, beside, passes};
use gasnet::{GlobalPtr, RankId, Threading};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ranks of the hosts.
const SHAPES: &[&[u32]] = &[&[2, 1], &[1, 3], &[3, 1, 2]];
/// Memory of the hosts, in KiB: not even the parts of a rank are multiples of each other.
const MEMORY: &[u64] = &[96 << 10, (96 << 10) - 8, 128 << 10];

/// Programs of the suites that allocate, grow heaps, lock, communicate by collectives, and say nothing.
const UPC: &[&str] = &[
    "examples/upc/hello.upc",
    "tests/upc/alloc/allocators.upc",
    "tests/upc/alloc/churn.upc",
    "tests/upc/sync/barriers.upc",
    "tests/upc/library/collectives.upc",
    "tests/upc/library/atomics.upc",
];
const C: &[&str] = &["hello", "segments", "collectives", "rma"];

/// Compiles a program of this repository.
fn compile(net: &Net, source: &str, program: &Path) -> Result<(), String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join(source);
    let command = if source.extension().is_some_and(|e| e == "upc") {
        let mut command = Command::new(net.prefix.join("bin/upcc"));
        command.arg("-o").arg(program).arg(format!("-I{}", root.join("tests/upc").display())).arg(source);
        command
    } else {
        let mut command = Command::new("cc");
        command.args(["-DGASNET_SEQ", "-pthread", "-o"]).arg(program).arg(source);
        command.arg(format!("-I{}", net.prefix.join("include").display()));
        command.arg(net.prefix.join("lib/libgasnet.a")).args(["-ldl", "-lm"]);
        command
    };
    passes(command, 120).map(drop)
}

/// Runs a program on hosts of each shape.
fn on_all_shapes(net: &Net, conduit: &str, program: &Path, arguments: &[&str]) -> Result<(), String> {
    for shape in SHAPES {
        let hosts: Vec<String> =
            net.hosts.names().iter().zip(*shape).map(|(name, ranks)| format!("{name}:{ranks}")).collect();
        let mut job = Command::new(net.prefix.join("bin/gasnetrun"));
        job.arg("--hosts").arg(hosts.join(",")).arg("-n").arg(shape.iter().sum::<u32>().to_string());
        job.arg(program).args(arguments).env("GASNET_SSH", &net.ssh).env("GASNET_CONDUIT", conduit);
        passes(job, 120)?;
    }
    Ok(())
}

/// Programs in UPC, C and Rust, over both conduits that need nothing.
pub(crate) fn unequal(net: &Net) -> Result<String, String> {
    for (host, kib) in MEMORY.iter().enumerate() {
        net.hosts.set(host, &[("GASNET_MAX_SEGSIZE", &format!("{kib}K"))])?;
    }
    let program = std::env::temp_dir().join(format!("gasnet-unequal-{}", std::process::id()));
    let outcome = all(net, &program);
    let _ = std::fs::remove_file(&program);
    (0..MEMORY.len()).try_for_each(|host| net.hosts.set(host, &[]))?;
    outcome.map(|()| String::new())
}

fn all(net: &Net, program: &Path) -> Result<(), String> {
    let c = C.iter().map(|name| format!("tests/c/{name}.c"));
    for source in UPC.iter().map(|source| source.to_string()).chain(c) {
        compile(net, &source, program)?;
        for conduit in ["udp", "netvm"] {
            on_all_shapes(net, conduit, program, &[])?;
        }
    }
    for conduit in ["udp", "netvm"] {
        on_all_shapes(net, conduit, &beside("namespaces"), &["unequal-rank"])?;
        on_all_shapes(net, conduit, &beside("pgas"), &[])?;
    }
    Ok(())
}

/// A rank whose segment is as large as its host allows.
pub(crate) fn rank() -> ! {
    let started = gasnet_conduits::init(&Default::default(), Threading::Parallel);
    let rank = started.expect("the job starts");
    let (own, least) = (rank.segments().max_local(), rank.segments().max_global());
    rank.attach(own, None).expect("a segment of this size");
    let sizes: Vec<usize> = rank.ranks().map(|r| rank.segment_of(r).expect("attached").size).collect();
    assert!(sizes.iter().min() == Some(&least) && sizes[rank.id().0 as usize] == own, "{sizes:?}");
    assert!(sizes.iter().max() > Some(&least), "the hosts are equal: {sizes:?}");
    // All are refused, or none: what follows is at the same place.
    assert!(rank.allocate(least as u64 + 1, 8).is_err());
    let words: GlobalPtr<u64> = rank.allocate_array(1000).expect("room");
    let all = rank.allocate(least as u64 - 8000, 8).expect("room");
    let next = RankId((rank.id().0 + 1) % rank.size());
    rank.write(words.on(next), u64::from(rank.id().0));
    rank.write(GlobalPtr::<u64>::new(next, all + least as u64 - 8008), !u64::from(rank.id().0));
    rank.barrier();
    let before = u64::from((rank.id().0 + rank.size() - 1) % rank.size());
    assert_eq!((rank.read(words), rank.read(GlobalPtr::new(rank.id(), least as u64 - 8))), (before, !before));
    rank.barrier();
    rank.done(0);
    std::process::exit(0)
}
