//! Compiles the C example against the library, and runs it.

use std::path::Path;
use std::process::Command;

#[test]
fn the_c_example_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let here = std::env::current_exe().expect("this program has a path");
    let deps = here.parent().expect("a folder");
    let library = deps.join("libfirehose_c.a");
    assert!(library.exists(), "{} is built with this test", library.display());
    let program = deps.join("firehose-slices");
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-I"]);
    compile.arg(root.join("capi/firehose/include"));
    compile.arg(root.join("examples/c/firehose/slices.c")).arg(&library);
    compile.args(["-ldl", "-lm", "-o"]).arg(&program);
    let output = compile.output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success() && text.ends_with("verification: passed\n"), "{output:?}");
}
