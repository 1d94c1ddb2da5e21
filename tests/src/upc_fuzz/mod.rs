//! Inputs for the compiler's front end, and what it may do with them.
//!
//! Half of them follow a [`grammar`], the others are damaged pieces of the test programs ([`damage`]); some
//! of the former are damaged, too, and a few are noise. All are small, so that lexer, parser and checker read
//! very many a second: defects show in small units. The front end must return: no panic, no endless loop, no
//! more memory than a small unit needs. So must the emitter, where it gets a unit that was accepted.

mod damage;
mod grammar;
mod library;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use upcc::emit::{EmitOptions, emit};
use upcc::front::{ast::FrontOptions, check_here};
use upcc::opt::{Optimiser, Passes};

use crate::upc_random::Random;
use damage::{Pieces, Word};

/// The stock that inputs are made from.
#[derive(Debug)]
pub struct Stock {
    pieces: Pieces,
}

/// Room for the making of inputs, used again and again.
#[derive(Debug, Default)]
pub struct Room<'a> {
    words: Vec<&'a Word>,
    text: String,
}

/// How far an input got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Characters that form no token.
    Read,
    /// All tokens are good; there are syntax errors.
    Lexed,
    /// All of it was parsed; the checker found errors.
    Parsed,
    /// Accepted.
    Accepted,
    /// Accepted, and C was made of it.
    Emitted,
}

impl Stock {
    /// From the programs below a folder.
    pub fn new(programs: &Path) -> Result<Stock, String> {
        Ok(Stock { pieces: Pieces::new(programs)? })
    }

    /// The input that a number stands for.
    pub fn input<'a, 'b>(&'a self, number: u64, room: &'b mut Room<'a>) -> &'b str {
        let mut random = Random::new(number);
        // A file that cannot be read: messages show the text at hand.
        room.text.clear();
        room.text.push_str("# 1 \"<f>\"\n");
        match random.below(16) {
            0..9 => {
                grammar::unit(&mut random, &mut room.text);
                if random.one_in(4) {
                    self.pieces.damage(&mut random, &mut room.text);
                }
            }
            9..15 => self.pieces.write(&mut random, &mut room.words, &mut room.text),
            _ => self.pieces.noise(&mut random, &mut room.text),
        }
        &room.text
    }
}

/// Reads one input; an error is what the front end did wrong. To be called on a large stack.
pub fn attempt(text: &str, number: u64) -> Result<Stage, String> {
    let mut options =
        FrontOptions { static_threads: number.is_multiple_of(3).then_some(4), ..FrontOptions::default() };
    options.warn.all = number.is_multiple_of(2);
    options.warn.upc = options.warn.all;
    options.gnu_void = number.is_multiple_of(16);
    let read = || {
        let result = check_here(text, &options);
        for diagnostic in &result.diagnostics {
            if diagnostic.message.is_empty() {
                return Err("a diagnostic without text".to_string());
            }
        }
        match (result.lex_errors, result.syntax_errors) {
            _ if result.failed() && result.diagnostics.is_empty() => {
                Err("rejected without a word".to_string())
            }
            (0, 0) if !result.failed() => {
                // Mistakes inside of system headers are accepted silently, so such a text may be invalid.
                if !number.is_multiple_of(4) || text.contains(" 1 3\n") {
                    return Ok(Stage::Accepted);
                }
                let how = EmitOptions {
                    source: String::new(),
                    threads: options.static_threads,
                    pts_struct: false,
                    lines: true,
                    debug: number.is_multiple_of(6),
                    sanitize: number.is_multiple_of(20),
                    aggregate: false,
                    openmp: false,
                    pic: false,
                    passes: Passes::all(number.is_multiple_of(8)),
                    heap_bytes: 0,
                    own_headers: std::path::PathBuf::new(),
                    extern_main: false,
                    iso_inline: true,
                };
                let (c, _) = emit(&result.unit, &Optimiser::new(&result.unit, how.passes), &how);
                if c.is_empty() { Err("nothing was emitted".to_string()) } else { Ok(Stage::Emitted) }
            }
            (0, 0) => Ok(Stage::Parsed),
            (0, _) => Ok(Stage::Lexed),
            _ => Ok(Stage::Read),
        }
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("a panic".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_to_the_end() {
        let stock = Stock::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("upc")).unwrap();
        let mut stages = [0; 5];
        upcc::front::on_big_stack(|| {
            let mut room = Room::default();
            let first = stock.input(5, &mut room).to_string();
            assert_eq!(first, stock.input(5, &mut room));
            for number in 0..5000 {
                let text = stock.input(number, &mut room);
                match attempt(text, number) {
                    Ok(stage) => stages[stage as usize] += 1,
                    Err(why) => panic!("{why}, input {number}:\n{text}"),
                }
            }
        });
        // Enough of them get far for the checker to be tested.
        assert!(stages[2..].iter().sum::<u32>() > 2000 && stages[4] > 10, "{stages:?}");
    }
}
