//! Manual pages: those that the tools print of their tables of options, and those that are made of the
//! comments and declarations of each header.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::clients::CONDUITS;
use crate::files::write;
use crate::sh;

/// The tools that have pages, which they print by themselves.
const TOOLS: [&str; 5] = ["upcc", "upcrun", "gasnetrun", "caf", "cafrun"];

/// The title above what a header declares.
const DECLARATIONS: &str = ".SH DECLARATIONS\n";

/// Text with nothing in it that roff takes for its own.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn head(name: &str, section: u8, brief: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(".TH {name} {section} \"\" \"gasnet\\-rs {version}\"\n.SH NAME\n{name} \\- {}\n", plain(brief))
}

fn verbatim(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| plain(line) + "\n").collect();
    format!(".nf\n{lines}.fi\n")
}

/// The words of a comment that starts at the head of `text`, without its stars, a line each.
fn comment(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim_start().strip_prefix("/*")?.split_once("*/")?.0;
    let line = |line: &'_ str| -> usize {
        line.len() - line.trim_start().trim_start_matches('*').trim_start().len()
    };
    Some(inner.lines().map(|text| text[line(text)..].trim_end()).collect())
}

/// The name that a declaration declares: what stands before its first bracket.
fn declared(text: &str) -> &str {
    let before = text.split(['(', '[']).next().unwrap_or_default();
    before.rsplit([' ', '*']).next().unwrap_or_default().trim_end_matches(';')
}

/// Whether clients may use the name.
fn is_public(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('_') && !name.to_lowercase().starts_with("gasneti")
}

/// The page of a header: its first comment, then what it declares, under the titles that comments of the form
/// `---- title ----` give.
pub fn header_page(name: &str, text: &str) -> Option<String> {
    let about = comment(text)?;
    let all = about.join(" ");
    let brief = all.split_once(". ").map_or(all.as_str(), |(first, _)| first).trim().trim_end_matches('.');
    let mut page = head(name, 3, brief);
    page += &format!(".SH SYNOPSIS\n.B #include <{name}>\n.SH DESCRIPTION\n");
    for line in &about {
        page +=
            &if line.is_empty() { ".PP\n".to_string() } else { format!("{}\n", plain(line.trim_start())) };
    }
    let mut sections: Vec<(String, Vec<String>)> = vec![("Declarations".to_string(), Vec::new())];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let found = if let Some(title) = line.strip_prefix("/* ----") {
            let title = title.split("*/").next().unwrap_or_default().trim_matches(['-', ' ']).to_string();
            sections.push((title, Vec::new()));
            None
        } else if line.starts_with("extern ") && !line.contains("extern \"C\"")
            || line.starts_with("VIP_RETURN ")
        {
            let mut all = line.trim_start_matches("extern ").to_string();
            while !all.contains(';') {
                let Some(more) = lines.next() else { break };
                all += &format!(" {}", more.trim());
            }
            let end = all.find(';').map_or(all.len(), |at| at + 1);
            is_public(declared(&all)).then(|| all[..end].to_string())
        } else if name.contains("upc")
            && line.starts_with(|c: char| c.is_ascii_lowercase())
            && is_prototype(line)
        {
            let mut all = line.to_string();
            while !all.contains(';') {
                let Some(more) = lines.next() else { break };
                all += &format!(" {}", more.trim());
            }
            is_public(declared(&all)).then_some(all)
        } else if line.starts_with("GASNETT_PLEASE_INLINE(") {
            let mut all = String::new();
            while !all.contains('{') {
                let Some(more) = lines.next() else { break };
                all += &format!("{}{}", if all.is_empty() { "" } else { " " }, more.trim());
            }
            let all = all.split('{').next().unwrap_or_default().trim().to_string();
            is_public(declared(&all)).then(|| format!("{all};"))
        } else if let Some(macro_) = line.trim_start().strip_prefix("#define ") {
            let end = macro_.find([' ', '(']).unwrap_or(macro_.len());
            let end = match macro_[end..].find(')') {
                Some(at) if macro_[end..].starts_with('(') => end + at + 1,
                _ => end,
            };
            is_public(&macro_[..end]).then(|| format!("#define {}", &macro_[..end]))
        } else if line.starts_with("typedef ") && line.trim_end().ends_with(';') {
            Some(line.to_string())
        } else {
            None
        };
        if let (Some(found), Some((_, list))) = (found, sections.last_mut())
            && !list.contains(&found)
        {
            list.push(found);
        }
    }
    page += DECLARATIONS;
    for (title, list) in sections.iter().filter(|(_, list)| !list.is_empty()) {
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        page += &format!(".SS {}\n{}", plain(title), verbatim(&list));
    }
    Some(page)
}

/// The functions that a header of UPC declares, in the groups that blank lines and comments make: what the
/// comment before a group says, and the declarations.
fn groups(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all = vec![(String::new(), Vec::new())];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            all.push((String::new(), Vec::new()));
        } else if let Some(about) = line.strip_prefix("/* ").and_then(|rest| rest.strip_suffix(" */")) {
            all.push((about.to_string(), Vec::new()));
        } else if line.starts_with(|c: char| c.is_ascii_lowercase()) && is_prototype(line) {
            let mut all_of_it = line.trim_start_matches("extern ").to_string();
            while !all_of_it.contains(';') {
                let Some(more) = lines.next() else { break };
                all_of_it += &format!(" {}", more.trim());
            }
            if let Some((_, list)) = all.last_mut().filter(|_| is_public(declared(&all_of_it))) {
                list.push(all_of_it);
            }
        }
    }
    all.retain(|(_, list)| !list.is_empty());
    all
}

fn is_prototype(line: &str) -> bool {
    let other = ["typedef ", "static ", "enum ", "return ", "extern \"C\""];
    line.contains('(') && !line.contains(['{', '=']) && !other.iter().any(|start| line.starts_with(start))
}

/// The pages of the functions that a header declares: a text for each name. Functions of UPC have pages of
/// their own, others lead to their header's.
fn function_pages(header: &str, text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if !header.starts_with("upc") && !header.starts_with("bupc") {
        let page = header_page(header, text).unwrap_or_default();
        // What the first comment shows of a program declares nothing.
        let declarations = page.split_once(DECLARATIONS).map_or("", |(_, list)| list);
        let lines = declarations.lines().map(|line| line.replace("\\-", "-"));
        for line in
            lines.filter(|line| line.ends_with(';') && line.contains('(') && !line.starts_with("typedef"))
        {
            all.push((declared(&line).to_string(), format!(".so man3/{header}.3\n")));
        }
        return all;
    }
    for (about, list) in groups(text) {
        for one in &list {
            let name = declared(one);
            let brief = if about.is_empty() { format!("a function of {header}") } else { about.clone() };
            let mut page = head(name, 3, &brief);
            page += &format!(".SH SYNOPSIS\n.B #include <{header}>\n.PP\n{}", verbatim(&[one.as_str()]));
            let others: Vec<&str> = list.iter().map(|d| declared(d)).filter(|other| *other != name).collect();
            let others: String = others.iter().map(|other| format!(".BR {} (3),\n", plain(other))).collect();
            // Long names leave lines that cannot be stretched to the margin.
            page += &format!(".SH SEE ALSO\n.ad l\n{others}.BR {} (3)\n", plain(header));
            all.push((name.to_string(), page));
        }
    }
    all
}

/// Writes the pages of an installation, of its own tools and headers, under `share/man`.
pub fn lay_down(prefix: &Path) -> Result<(), String> {
    let man = prefix.join("share/man");
    for name in TOOLS {
        let mut ask = Command::new(prefix.join("bin").join(name));
        ask.arg("--manual");
        let page = sh::capture(ask, Duration::from_secs(20))?;
        if page.status != Some(0) {
            return Err(format!("{name} --manual\n{}", page.report()));
        }
        write(&man.join(format!("man1/{name}.1")), &page.stdout)?;
    }
    for name in
        CONDUITS.map(|conduit| format!("gasnetrun_{conduit}")).iter().map(String::as_str).chain(["amudprun"])
    {
        write(&man.join(format!("man1/{name}.1")), ".so man1/gasnetrun.1\n")?;
    }
    for folder in ["include", "include/upc"] {
        for header in crate::build::files(&prefix.join(folder), "h") {
            let text = fs::read_to_string(&header).map_err(|e| format!("{}: {e}", header.display()))?;
            let name = header.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Others' headers may lie beside ours.
            let ours =
                ["gasnet", "upc", "firehose", "bupc", "vipl"].iter().any(|start| name.starts_with(start));
            // Headers of UPC that stand in for those of the C interface have no page of their own.
            let hidden = folder != "include" && prefix.join("include").join(&name).exists();
            if let Some(page) = header_page(&name, &text).filter(|_| ours && !hidden) {
                write(&man.join(format!("man3/{name}.3")), &page)?;
                for (function, page) in function_pages(&name, &text) {
                    write(&man.join(format!("man3/{function}.3")), &page)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_pages() {
        let header = "/* upc_t.h: things. */\n#include <x.h>\n\n/* copies: of bytes */\nvoid upc_get(void *p,\n    int n);\n\
                      int upc_put(int n);\n\ntypedef int upc_t;\nupc_t *upc_alone(void);\nint __upc_own(void);\n#define upc_m(x) f(x)\n";
        let pages = function_pages("upc_t.h", header);
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["upc_get", "upc_put", "upc_alone"]);
        for part in [
            "upc_get \\- copies: of bytes\n",
            ".B #include <upc_t.h>\n.PP\n.nf\nvoid upc_get(void *p, int n);\n.fi\n",
            ".BR upc_put (3),\n.BR upc_t.h (3)\n",
        ] {
            assert!(pages[0].1.contains(part), "{}", pages[0].1);
        }
        assert!(pages[2].1.contains("a function of upc_t.h"), "{}", pages[2].1);
        assert!(header_page("upc_t.h", header).unwrap().contains("void upc_get(void *p, int n);"));
        let real = |header: &str| {
            let text = fs::read_to_string(sh::root().join("upc-rt/include").join(header)).unwrap();
            function_pages(header, &text)
        };
        for (header, name, brief) in [
            ("upc.h", "upc_memget", "upc_memget \\- bulk copies"),
            ("upc_collective.h", "upc_all_reduceI", "src is shared"),
            ("upc_nb.h", "upc_sync", "explicit handles"),
        ] {
            assert!(real(header).iter().any(|(n, page)| n == name && page.contains(brief)), "{name}");
        }
        let c =
            "/* g.h: things.\n *   gasnet_two(1); */\nextern int gasnet_one(int a);\ntypedef int gasnet_t;\n";
        assert_eq!(function_pages("g.h", c), [("gasnet_one".to_string(), ".so man3/g.h.3\n".to_string())]);
    }

    #[test]
    fn headers_become_pages() {
        let header = "/* Things: how they\n * are done. More of it. */\n#ifndef _T_H\n#define _T_H\n/* ---- first ---- */\n\
                      extern int gasnet_one(int a,\n    int b);\nextern int gasneti_own(void);\nGASNETT_PLEASE_INLINE(gasnet_two)\n\
                      void gasnet_two(\n  void *p) {\n}\n#define GASNET_THREE(a, b) 1\n  #define GASNETI_FOUR 2\ntypedef int gasnet_t;\n#endif\n";
        let page = header_page("t.h", header).unwrap();
        for expected in [
            "t.h \\- Things: how they are done\n",
            ".B #include <t.h>\n",
            ".SS first\n.nf\nint gasnet_one(int a, int b);\nvoid gasnet_two( void *p);\n#define GASNET_THREE(a, b)\ntypedef int gasnet_t;\n.fi\n",
        ] {
            assert!(page.contains(expected), "{page}");
        }
        assert!(!page.contains("_own") && !page.contains("FOUR") && !page.contains("_T_H"), "{page}");
        assert!(header_page("t.h", "int x;").is_none());
    }
}
