//! How options are spelled: ours, gcc's that take a word, and which of ours a word was meant to be.

/// Our long options, taken with one or two dashes: name and whether they take a value (`=V`, or the next
/// argument when it is required).
pub(super) const LONG: &[(&str, Value)] = &[
    ("help", Value::No),
    ("version", Value::No),
    ("trans", Value::No),
    ("save-temps", Value::Maybe),
    ("nosave-temps", Value::No),
    ("save-all-temps", Value::No),
    ("lines", Value::No),
    ("nolines", Value::No),
    ("checks", Value::No),
    ("nochecks", Value::No),
    ("embed", Value::No),
    ("extern-main", Value::No),
    ("link-with", Value::Must),
    ("uses-mpi", Value::No),
    ("link-cache", Value::No),
    ("nolink-cache", Value::No),
    ("smart-output", Value::No),
    ("explain", Value::No),
    ("dump", Value::Must),
    ("show-sizes", Value::No),
    ("echo-var", Value::Must),
    ("print-include-dir", Value::No),
    ("print-mpicc", Value::No),
    ("show-confs", Value::No),
    ("norc", Value::No),
    ("conf", Value::Must),
    ("bupc", Value::No),
    ("gupc", Value::No),
    ("cupc", Value::No),
    ("cupc2c", Value::No),
    ("trace", Value::No),
    ("inst", Value::No),
    ("allow-deprecated", Value::No),
    ("fast-symptr", Value::No),
    ("nofast-symptr", Value::No),
    ("opt", Value::No),
    ("noopt", Value::No),
    ("opt-enable", Value::Must),
    ("opt-disable", Value::Must),
    ("translator", Value::Must),
    ("compress", Value::No),
    ("http-proxy", Value::Must),
    ("nightly", Value::No),
    ("stable", Value::No),
    ("network", Value::Must),
    ("shared-heap", Value::Must),
    ("require-size", Value::No),
    ("norequire-size", Value::No),
    ("no-require-size", Value::No),
    ("size-warn", Value::No),
    ("nosize-warn", Value::No),
    ("no-size-warn", Value::No),
    ("pthreads", Value::Maybe),
    ("nopthreads", Value::No),
    ("dryrun", Value::No),
    ("dry-run", Value::No),
    ("cc", Value::Must),
    ("vv", Value::No),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    No,
    Maybe,
    Must,
}

/// Options of gcc whose argument is the next word.
pub(super) const SEPARATE: &[&str] = &[
    "-Xlinker",
    "-Xassembler",
    "-u",
    "-z",
    "-e",
    "-aux-info",
    "--param",
    "-dumpbase",
    "-dumpdir",
    "-wrapper",
    "-B",
    "-target",
    "-b",
    "-arch",
];
/// Those that are the preprocessor's.
pub(super) const CPP_SEPARATE: &[&str] = &[
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-imultilib",
    "-A",
    "-Xpreprocessor",
];

/// The option of ours that `name` was probably meant to be.
pub(super) fn near_miss(name: &str) -> Option<&'static str> {
    const GCC: &[&str] = &[
        "static",
        "shared",
        "pipe",
        "pie",
        "no-pie",
        "nopie",
        "pedantic",
        "pedantic-errors",
        "pthread",
        "rdynamic",
        "pg",
        "p",
        "nostartfiles",
        "static-pie",
        "static-libgcc",
        "coverage",
        "symbolic",
        "time",
        "pass-exit-codes",
        "no-integrated-cpp",
        "no-canonical-prefixes",
        "specs",
    ];
    let name = name.split('=').next().unwrap_or(name);
    if name.len() < 4 || GCC.contains(&name) || name.starts_with(['f', 'm']) {
        return None;
    }
    let limit = if name.len() < 6 { 1 } else { 2 };
    LONG.iter()
        .map(|(n, _)| (strsim::osa_distance(name, n), *n))
        .filter(|&(d, n)| d <= limit && n.len() >= 4)
        .min()
        .map(|(_, n)| n)
}
