//! Diagnostics: collected while a unit is checked, shown like a C compiler's.

use std::fmt;

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted.
    Warning,
    /// More about the diagnostic before it.
    Note,
}

/// One message about one place.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// The text: the mistake, and where useful the form that was expected.
    pub message: String,
    /// File as the line markers name it; empty if about no place.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub col: u32,
    /// The source line.
    pub source: Option<String>,
    /// Length of the marked text in columns, at least 1.
    pub len: u32,
}

impl Diagnostic {
    /// Whether an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:col: error: text`, then the source line and a caret line. No final newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        if self.file.is_empty() {
            return write!(f, "{kind}: {}", self.message);
        }
        write!(f, "{}:{}:{}: {kind}: {}", self.file, self.line, self.col, self.message)?;
        if let Some(src) = &self.source {
            let mut pad = String::new();
            for c in src.chars().take(self.col as usize - 1) {
                pad.push(if c == '\t' { '\t' } else { ' ' });
            }
            let tail = "~".repeat(self.len.saturating_sub(1) as usize);
            write!(f, "\n{src}\n{pad}^{tail}")?;
        }
        Ok(())
    }
}
