//! The linker's messages in the user's words: names and lines of sources instead of symbols and sections.

use super::{PROXY, USER_MAIN};
use std::path::{Path, PathBuf};

/// The linker's messages, rewritten. `objects`: the object files made in this run, with their sources.
pub fn readable(text: &str, objects: &[(PathBuf, PathBuf)]) -> String {
    let mut out: Vec<String> = Vec::new();
    // The object and function that the next lines are about.
    let (mut object, mut function) = (String::new(), String::new());
    for line in text.lines() {
        let line =
            line.split_once("ld: ").filter(|(head, _)| !head.contains(' ')).map_or(line, |(_, rest)| rest);
        if line.starts_with("collect2: error: ld returned")
            || line.starts_with("clang: error: linker command failed")
        {
            continue;
        }
        if let Some((place, name)) = line.split_once(": in function `").and_then(quoted) {
            (object, function) = (place.into(), name.into());
            continue;
        }
        let source =
            |place: &str| objects.iter().find(|o| place.contains(&*o.0.to_string_lossy())).map(|o| &*o.1);
        let said = if let Some((place, name)) = line.split_once(": undefined reference to `").and_then(quoted)
        {
            undefined(place, name, source(&object), &function)
        } else if let Some((place, (name, rest))) = line
            .split_once(": multiple definition of `")
            .and_then(|(place, rest)| Some((place, rest.split_once('\'')?)))
        {
            let second = source(&object).or(source(place)).map_or(place.to_owned(), show);
            let first = rest.trim_start_matches(';').trim().trim_end_matches(": first defined here");
            let first = source(first).map_or_else(|| first.to_owned(), show);
            format!("upcc: error: {} is defined in {second} and in {first}", named(name))
        } else {
            line.replace(PROXY, "shared variable ").replace(USER_MAIN, "main")
        };
        if out.last() != Some(&said) && !out.contains(&said) {
            out.push(said);
        }
    }
    out.into_iter().map(|l| l + "\n").collect()
}

/// Splits the name off at its closing quote; `place`, the text before the name, is returned unchanged.
fn quoted<'a>((place, rest): (&'a str, &'a str)) -> Option<(&'a str, &'a str)> {
    Some((place, rest.split_once('\'')?.0))
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

/// A symbol as the program has it.
fn named(symbol: &str) -> String {
    match symbol.strip_prefix(PROXY) {
        Some(name) => format!("shared variable '{name}'"),
        None if symbol == USER_MAIN => "'main'".into(),
        None => format!("'{symbol}'"),
    }
}

fn undefined(place: &str, symbol: &str, source: Option<&Path>, function: &str) -> String {
    if symbol == "user_main" || symbol == "main" {
        return "upcc: error: no file on the command line defines 'main'".into();
    }
    let name = symbol.strip_prefix(PROXY).unwrap_or(symbol);
    // With -g the linker knows the line; else it is the first with the name.
    let written = |path: &Path| {
        let text = std::fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let has = |l: &str| l.split(|c| !word(c)).any(|w| w == name);
        let declares = |l: &str| {
            l.trim_start().starts_with("extern")
                || l.trim_end().ends_with(");") && !l.contains('{') && !l.starts_with(' ')
        };
        let lines: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, l)| has(l)).collect();
        lines.iter().find(|(_, l)| !declares(l)).or(lines.first()).map(|(n, _)| n + 1)
    };
    let known = place.rsplit_once(':').filter(|(_, n)| n.parse::<u32>().is_ok());
    let at = match (source, known) {
        (_, Some(_)) => place.to_owned(),
        (Some(path), None) => match written(path) {
            Some(n) => format!("{}:{n}", show(path)),
            None => show(path),
        },
        (None, None) => place.split(":(").next().unwrap_or(place).to_owned(),
    };
    let user = match function {
        "" => String::new(),
        USER_MAIN => " in 'main'".into(),
        f => format!(" in '{f}'"),
    };
    let macro_like = name.len() > 1
        && name.chars().any(|c| c.is_ascii_uppercase())
        && !name.chars().any(|c| c.is_ascii_lowercase());
    let guess = if macro_like { "; is it a macro whose definition is missing?" } else { "" };
    format!(
        "{at}: error: undefined reference to {}{user}: no file or library defines it{guess}",
        named(symbol)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_are_the_users() {
        let objects = [("/tmp/u-0.o".into(), "no/u.upc".into()), ("/tmp/v-1.o".into(), "v.upc".into())];
        let printed = &"/usr/bin/ld: /tmp/u-0.o: in function `USER':\n\
            u-0.trans.c:(.text.startup+0x42): undefined reference to `absent'\n\
            /usr/bin/ld: u-0.trans.c:(.text.startup+0x49): undefined reference to `absent'\n\
            /usr/bin/ld: u-0.trans.c:(.text.startup+0x83): undefined reference to `MAX'\n\
            /usr/bin/ld: /home/u.upc:7: undefined reference to `PROXYx'\n\
            /usr/bin/ld: /tmp/v-1.o: in function `USER':\n\
            v-1.trans.c:(.text+0x0): multiple definition of `USER'; /tmp/u-0.o:u-0.trans.c:(.text+0x0): first defined here\n\
            /usr/bin/ld: /opt/lib/libupcmain.a(upcr_main.o): in function `main':\n\
            /src/upcr_main.c:8: undefined reference to `user_main'\n\
            /usr/bin/ld: cannot find -lnone: No such file or directory\n\
            collect2: error: ld returned 1 exit status\n"
            .replace("USER", USER_MAIN)
            .replace("PROXY", PROXY);
        let lines = [
            "no/u.upc: error: undefined reference to 'absent' in 'main': no file or library defines it",
            "no/u.upc: error: undefined reference to 'MAX' in 'main': no file or library defines it; is it a macro whose \
             definition is missing?",
            "/home/u.upc:7: error: undefined reference to shared variable 'x' in 'main': no file or library defines it",
            "upcc: error: 'main' is defined in v.upc and in no/u.upc",
            "upcc: error: no file on the command line defines 'main'",
            "cannot find -lnone: No such file or directory",
        ];
        assert_eq!(readable(printed, &objects).lines().collect::<Vec<_>>(), lines);
    }
}
