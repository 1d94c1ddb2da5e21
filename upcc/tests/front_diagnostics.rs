//! Golden diagnostics: each `diagnostics/*.upc` is checked as it stands and must draw exactly the text of its
//! `.txt`.
//!
//! A first line `// threads: N` selects the static environment, `// -Wall` the warnings of `-Wall`, `//
//! -Wupc` those of `-Wupc`. `UPCC_BLESS=1` rewrites the expectations.

use std::path::Path;
use upcc::front::{ast::FrontOptions, check};

#[test]
fn golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let bless = std::env::var_os("UPCC_BLESS").is_some();
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for f in files.iter().filter(|f| f.extension().is_some_and(|e| e == "upc")) {
        seen += 1;
        let text = std::fs::read_to_string(f).unwrap();
        let mut opts = FrontOptions::default();
        let head = text.lines().next().unwrap_or("");
        opts.static_threads = head.split("threads: ").nth(1).and_then(|t| t.trim().parse().ok());
        opts.warn.all = head.contains("-Wall");
        opts.warn.upc = head.contains("-Wupc");
        let name = f.file_name().unwrap().to_str().unwrap();
        let r = check(&format!("# 1 \"{name}\"\n{text}"), &opts);
        let got: String = r.diagnostics.iter().map(|d| format!("{d}\n")).collect();
        let want = f.with_extension("txt");
        if bless {
            std::fs::write(&want, &got).unwrap();
        } else if std::fs::read_to_string(&want).unwrap_or_default() != got {
            wrong.push(format!("{name}: now\n{got}"));
        }
    }
    assert!(seen > 5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
