//! Macros that bear names of UPC.
//!
//! The preprocessor knows nothing of them: `#define MYTHREAD 0` would quietly be obeyed, and `MYTHREAD` not
//! reach the parser.

use super::*;

impl Parser<'_> {
    /// Complains about definitions of names that are UPC's own. In a unit of plain C they are names like
    /// others.
    pub(crate) fn reserved_macros(&mut self) {
        if self.toks.macros.is_empty() || !cmode::is_upc(&self.toks) {
            return;
        }
        for m in std::mem::take(&mut self.toks.macros).into_iter().take(MAX_ERRORS) {
            let file = self.toks.files[m.file as usize].name.clone();
            let MacroLine { undef, name, line, .. } = m;
            let mut d = Diagnostic {
                severity: Severity::Error,
                message: String::new(),
                file,
                line,
                col: 1,
                source: None,
                len: 1,
            };
            let what = if undef { "undefined" } else { "defined as a macro" };
            if d.file.starts_with('<') {
                // An option, or what the driver itself defines.
                if !matches!(name, "MYTHREAD" | "THREADS") || self.is_number_of_threads(&m) {
                    continue;
                }
                d.file.clear();
                d.message = format!("`{name}` is a name of UPC and cannot be {what} by an option");
            } else {
                (d.source, d.col, d.len) = self.sema.sources.locate_word(&self.sema.toks, m.file, line, name);
                d.message = format!("`{name}` is a name of UPC and cannot be {what}");
            }
            if name == "THREADS" {
                d.message += "; the option -T gives the number of threads";
            }
            self.errors += 1;
            self.diags.push((m.before, d));
        }
    }

    /// Whether this says of THREADS what is so.
    fn is_number_of_threads(&self, m: &MacroLine) -> bool {
        m.name == "THREADS"
            && !m.undef
            && self.opts.static_threads.is_some_and(|threads| m.body == threads.to_string())
    }
}
