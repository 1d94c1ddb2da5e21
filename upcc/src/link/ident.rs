//! Texts in objects and programs that the command `ident` prints: `$Name: (file) value $`, as Berkeley's
//! tools write them.
//!
//! `$UPCRConfig` is the interface that an object was compiled for. All objects of a program must agree on it,
//! those of other translators and the library included.

use crate::emit::abi;
use std::path::Path;

/// The part of `$UPCRConfig` that is the same for all objects; `UPCR_CONFIG_STRING` of upcr.h begins with it.
const CONFIG: &str = "VERSION=3.14,PLATFORMENV=shared-distributed,SHMEM=pshm";

/// The value of `$UPCRConfig` for an object.
pub fn config(pts_struct: bool, threads: Option<u32>) -> String {
    let pointers = if pts_struct { "struct/p32:t32:a64" } else { "packed/p20:t10:a34" };
    let threads = threads.map_or("dynamicthreads".into(), |n| format!("staticthreads={n}"));
    format!("{CONFIG},SHAREDPTRREP={pointers},TRANS=any,nodebug,nogasp,{threads}")
}

/// Likewise for an object that goes with all others.
pub fn any_config() -> String {
    format!("{CONFIG},SHAREDPTRREP=any,TRANS=any,nodebug,nogasp,anythreads")
}

/// The text as the inside of a C string literal. Characters that would end an `ident` text are replaced.
pub fn quoted(s: &str) -> String {
    let mut out = String::new();
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // A question mark may be part of a trigraph, a dollar would end the text.
            '?' => out.push_str("\\?"),
            '$' => out.push('_'),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// C that puts the texts into an object: names with values (`file` goes before them).
pub fn in_c(file: &Path, texts: &[(&str, String)]) -> String {
    let file = quoted(&file.display().to_string());
    let mut c = String::new();
    for (n, (name, value)) in texts.iter().enumerate() {
        let value = match *name {
            // Only the compiler knows.
            "UPCCompileTime" => "\" __DATE__ \" \" __TIME__ \"".to_string(),
            _ => quoted(value),
        };
        c += &format!(
            "static const char {}[] __attribute__((__used__, __unused__)) = \"${name}: ({file}) {value} $\";\n",
            abi::ident(n)
        );
    }
    c
}

/// A text found: name, file, value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ident {
    /// Such as `UPCRConfig`.
    pub name: String,
    /// The file that the text is about.
    pub file: String,
    /// The value.
    pub value: String,
}

/// All texts in the bytes of a file whose names begin as ours do.
pub fn find(bytes: &[u8]) -> Vec<Ident> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&b| b == b'$') {
        rest = &rest[at + 1..];
        if !(rest.starts_with(b"UPC") || rest.starts_with(b"GASNet")) {
            continue;
        }
        let Some(end) = rest.iter().position(|&b| b == b'$' || b == 0) else { break };
        if rest[end] != b'$' {
            continue;
        }
        let text = String::from_utf8_lossy(&rest[..end]);
        if let Some((name, value)) = text.split_once(": (")
            && let Some((file, value)) = value.split_once(") ")
            && name.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            found.push(Ident { name: name.into(), file: file.into(), value: value.trim().into() });
        }
    }
    found
}

/// The first contradiction between the configurations of objects.
pub fn conflict(found: &[Ident]) -> Option<String> {
    // Each setting with the first value found and the file that has it.
    let mut seen: Vec<(String, String, &str)> = Vec::new();
    for ident in found.iter().filter(|i| i.name == "UPCRConfig") {
        for item in ident.value.split(',') {
            let (key, value) = match item.split_once('=') {
                Some((key, value)) => (key, value),
                None => (item.trim_start_matches("no").trim_start_matches("dynamic"), item),
            };
            let key = if key.ends_with("threads") { "THREADS" } else { key };
            let value = if key == "THREADS" { item } else { value };
            if value == "any" || item == "anythreads" {
                continue;
            }
            match seen.iter().find(|s| s.0 == key) {
                None => seen.push((key.into(), value.into(), &ident.file)),
                Some((_, other, file)) if other != value => {
                    return Some(format!(
                        "'{file}' and '{}' were compiled for different configurations of the runtime, {key} {other} and {value}: compile all \
                         files of a program with the same compiler and options (-nochecks links them nevertheless)",
                        ident.file
                    ));
                }
                Some(_) => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_again() {
        let c = in_c(
            Path::new("a \"b\".upc"),
            &[("UPCRConfig", config(false, Some(4))), ("UPCCompileLine", "upcc $x\n".into())],
        );
        assert!(
            c.contains("$UPCRConfig: (a \\\"b\\\".upc) VERSION=3.14,") && c.contains(",staticthreads=4 $\""),
            "{c}"
        );
        assert!(c.contains("(a \\\"b\\\".upc) upcc _x  $"), "{c}");
        let found = find(b"\x01$UPCRConfig: (a.o) X=1,nodebug $\0$$ $UPCx\0 $UPCVersion: (b.o) 1 $");
        assert_eq!(
            found,
            [
                Ident { name: "UPCRConfig".into(), file: "a.o".into(), value: "X=1,nodebug".into() },
                Ident { name: "UPCVersion".into(), file: "b.o".into(), value: "1".into() }
            ]
        );
    }

    #[test]
    fn configurations_must_agree() {
        let say = |values: &[&str]| {
            let idents: Vec<Ident> = values
                .iter()
                .enumerate()
                .map(|(n, v)| Ident {
                    name: "UPCRConfig".into(),
                    file: format!("{n}.o"),
                    value: v.to_string(),
                })
                .collect();
            conflict(&idents)
        };
        let (packed, wide, four) = (config(false, None), config(true, None), config(false, Some(4)));
        let library = any_config();
        assert_eq!(say(&[&packed, &library, &packed]), None);
        for (other, word) in [
            (&wide, "SHAREDPTRREP packed/p20:t10:a34 and struct"),
            (&four, "THREADS dynamicthreads and staticthreads=4"),
            (&packed.replace("3.14", "3.6"), "VERSION 3.14 and 3.6"),
            (&packed.replace("nodebug", "debug"), "nodebug and debug"),
        ] {
            let text = say(&[&library, &packed, other]).unwrap_or_default();
            assert!(text.contains(word) && text.contains("and '2.o'"), "{text}");
        }
    }
}
