use super::*;
use std::ffi::{OsStr, OsString};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Ranks,
    Bind,
    Variable,
    Verbose,
    Label,
    Help,
}

const ROWS: &[Opt<Key>] = &[
    opt(Key::Ranks, "-n, --ranks N", "number of ranks").or(&["-np"]),
    opt(Key::Bind, "--bind[=core|none]", "placement"),
    opt(Key::Variable, "-e, --env NAME=VALUE", "variable"),
    opt(Key::Verbose, "-v, --verbose", "say more"),
    opt(Key::Label, "-l, --label", "a text that is so long that it does not fit into one line of a terminal"),
    shown("-Wone, -Wtwo, -Wthree ...", "somebody else's"),
    hidden(Key::Help, "-h, --help"),
];

const fn command(style: Style) -> CommandTable<Key> {
    CommandTable {
        name: "tool",
        brief: "does a thing",
        about: "Does a thing.\nAnd more.\n\nAnd still more.",
        usage: &["tool [options] FILE", "tool --x"],
        options: ROWS,
        notes: "The end:\n\n  one\n  two",
        style,
    }
}

const GNU: CommandTable<Key> = command(Style::Gnu);
const BERKELEY: CommandTable<Key> = command(Style::Berkeley);
const COMPILER: CommandTable<Key> = command(Style::Compiler);

fn parse(command: &'static CommandTable<Key>, line: &str) -> Result<String, String> {
    let mut words = Arguments::new(command, line.split_whitespace().map(OsString::from));
    let mut all = Vec::new();
    while let Some(word) = words.next_argument()? {
        all.push(match word {
            Argument::Option(found) => match found.value {
                Some(value) => format!("{:?}={}", found.key, value.to_string_lossy()),
                None => format!("{:?}", found.key),
            },
            Argument::Operand(word) => word.to_string_lossy().into_owned(),
            Argument::Unknown(word) => format!("?{}", word.to_string_lossy()),
        });
    }
    Ok(all.join(" "))
}

#[test]
fn every_style_has_its_spellings() {
    for (command, line, expected) in [
        (
            &GNU,
            "-n 4 -n4 -n=4 -np 4 -np=4 --ranks 4 --ranks=4",
            "Ranks=4 Ranks=4 Ranks=4 Ranks=4 Ranks=4 Ranks=4 Ranks=4",
        ),
        (
            &GNU,
            "-vl -vn4 -e A=b -eA=b --env=A=b",
            "Verbose Label Verbose Ranks=4 Variable=A=b Variable=A=b Variable=A=b",
        ),
        (&GNU, "--bind none --bind=none --bind=", "Bind none Bind=none Bind="),
        (&GNU, "-x --verb -ranks - x -- -v", "?-x ?--verb ?-ranks - x -v"),
        (&GNU, "-vx", "Verbose ?-x"),
        (&GNU, "-Wone", "?-Wone"),
        (
            &BERKELEY,
            "-ranks 4 --ranks=4 -n 4 --n 4 -bind -verbose",
            "Ranks=4 Ranks=4 Ranks=4 Ranks=4 Bind Verbose",
        ),
        (&BERKELEY, "-n4 -vl ---v", "?-n4 ?-vl ?---v"),
        (&COMPILER, "-n4 -ranks=4 -vl", "Ranks=4 Ranks=4 ?-vl"),
    ] {
        assert_eq!(parse(command, line).as_deref(), Ok(expected), "{line}");
    }
    for (line, message) in [
        ("-n", "option '-n' needs an argument"),
        ("--verbose=1", "option '--verbose' takes no value"),
        ("-v=1", "takes no value"),
    ] {
        assert!(parse(&GNU, line).is_err_and(|text| text.contains(message)), "{line}");
    }
}

#[test]
fn values_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let odd = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
    for word in [b"--ranks=\xff".as_slice(), b"-n\xff"] {
        let mut words = Arguments::new(&GNU, [odd(word)]);
        let Ok(Some(Argument::Option(found))) = words.next_argument() else { panic!("{word:?}") };
        assert_eq!(found.value(), odd(b"\xff"));
    }
    assert_eq!(
        Arguments::new(&GNU, [odd(b"-\xff")]).next_argument(),
        Ok(Some(Argument::Unknown(odd(b"-\xff"))))
    );
}

#[test]
fn misspelled_options_have_a_neighbour() {
    for (word, meant) in [
        ("--rank", Some("--ranks")),
        ("-lable", Some("--label")),
        ("--verbos=1", Some("--verbose")),
        ("--x", None),
    ] {
        assert_eq!(GNU.nearest(word), meant, "{word}");
    }
    assert_eq!(GNU.unknown("--frob"), "unknown option '--frob'; see tool --help");
    assert_eq!(nearest("upd", &["smp", "udp"]), Some("udp"));
}

#[test]
fn the_help_is_made_of_the_rows() {
    let expected = "\
Does a thing. And more.

And still more.

usage: tool [options] FILE
       tool --x

  -n, --ranks N         number of ranks
      --bind[=core|none]
                        placement
  -e, --env NAME=VALUE  variable
  -v, --verbose         say more
  -l, --label           a text that is so long that it does not fit into one
                        line of a terminal
  -Wone, -Wtwo, -Wthree ...
                        somebody else's

The end:

  one
  two
";
    assert_eq!(GNU.help(), expected);
}

#[test]
fn the_manual_page_is_made_of_the_rows() {
    let page = GNU.manual("1.2");
    for part in [
        ".TH tool 1 \"\" \"gasnet\\-rs 1.2\"\n.SH NAME\ntool \\- does a thing\n.SH SYNOPSIS\n.nf\ntool [options] FILE\ntool \\-\\-x\n.fi\n",
        ".SH DESCRIPTION\nDoes a thing. And more.\n.PP\nAnd still more.\n.SH OPTIONS\n.TP\n.B \\-n, \\-\\-ranks N\nnumber of ranks\n",
        ".SH NOTES\nThe end:\n.PP\n.nf\n  one\n  two\n.fi\n",
    ] {
        assert!(page.contains(part), "{page}");
    }
    assert!(!page.contains("help"), "{page}");
}

#[test]
fn spellings_that_clash_are_found() {
    const TWICE: CommandTable<Key> =
        CommandTable { options: &[opt(Key::Label, "-l, --label", ""), hidden(Key::Bind, "-l")], ..GNU };
    assert_eq!(GNU.mistakes(), [""; 0]);
    assert_eq!(TWICE.mistakes(), ["-l"]);
}
