//! Emission of C.
use crate::ast::TranslationUnit;
use std::path::PathBuf;

/// How to emit.
#[derive(Clone, Debug)]
pub struct EmitOptions {
    /// Source file as given on the command line.
    pub source: String,
    /// Static thread count.
    pub threads: Option<u32>,
    /// 16-byte pointers-to-shared.
    pub pts_struct: bool,
    /// Emit `#line`.
    pub lines: bool,
    /// Make the UPC optimisations.
    pub optimise: bool,
    /// Shared heap asked for at compile time, 0 if not.
    pub heap_bytes: u64,
    /// The directory of our headers.
    pub own_headers: PathBuf,
    /// The program's `main` is elsewhere.
    pub extern_main: bool,
}

/// The translation of a unit.
pub fn emit(_u: &TranslationUnit, _o: &EmitOptions) -> String {
    String::new()
}
