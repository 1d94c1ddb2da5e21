//! Names that are not declared: what may have been meant, and what keeps one mistake from drawing more
//! messages.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx};
use crate::front::types::{RecordId, TypeKind};

/// Words of UPC that a name may be meant to be.
const WORDS: [&str; 7] =
    ["MYTHREAD", "THREADS", "upc_forall", "upc_barrier", "upc_notify", "upc_wait", "upc_fence"];

/// Beginnings of names, the header that declares such names, and one of them. The first that fits counts.
const HEADERS: [(&str, &str, &str); 14] = [
    ("upc_tick", "upc_tick.h", "upc_ticks_now"),
    ("upc_atomic", "upc_atomic.h", "upc_atomic_strict"),
    ("upc_all_atomic", "upc_atomic.h", "upc_atomic_strict"),
    ("upc_cast", "upc_castable.h", "upc_cast"),
    ("upc_thread_info", "upc_castable.h", "upc_cast"),
    ("upc_all_alloc", "upc.h", "upc_alloc"),
    ("upc_all_free", "upc.h", "upc_alloc"),
    ("upc_all_lock", "upc.h", "upc_alloc"),
    ("upc_file", "upc_io.h", "upc_all_fopen"),
    ("upc_all_f", "upc_io.h", "upc_all_fopen"),
    ("upc_all_", "upc_collective.h", "upc_all_broadcast"),
    ("upc_", "upc.h", "upc_alloc"),
    ("bupc_", "upc.h", "upc_alloc"),
    ("gasnett_", "gasnet_tools.h", "gasnett_sched_yield"),
];

/// Functions of the C library that programs often call without the header, by header.
const C_LIBRARY: &[(&str, &[&str])] = &[
    ("assert.h", &["assert"]),
    (
        "ctype.h",
        &["isalnum", "isalpha", "isdigit", "islower", "isprint", "isspace", "isupper", "tolower", "toupper"],
    ),
    (
        "math.h",
        &[
            "acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "erf", "exp", "exp2", "fabs",
            "fabsf", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "isinf", "isnan", "ldexp", "log",
            "log10", "log2", "lround", "modf", "pow", "powf", "rint", "round", "sin", "sinh", "sqrt",
            "sqrtf", "tan", "tanh", "trunc",
        ],
    ),
    ("signal.h", &["kill", "raise", "sigaction", "signal"]),
    (
        "stdio.h",
        &[
            "fclose", "feof", "fflush", "fgets", "fopen", "fprintf", "fputs", "fread", "fscanf", "fseek",
            "fwrite", "getchar", "perror", "printf", "putchar", "puts", "scanf", "setvbuf", "snprintf",
            "sprintf", "sscanf", "vprintf",
        ],
    ),
    (
        "stdlib.h",
        &[
            "abort", "abs", "atof", "atoi", "atol", "calloc", "drand48", "exit", "free", "getenv", "labs",
            "malloc", "qsort", "rand", "random", "realloc", "setenv", "srand", "srand48", "strtod", "strtol",
            "strtoul", "system",
        ],
    ),
    (
        "string.h",
        &[
            "bzero", "memchr", "memcmp", "memcpy", "memmove", "memset", "strcat", "strchr", "strcmp",
            "strcpy", "strdup", "strerror", "strlen", "strncat", "strncmp", "strncpy", "strrchr", "strstr",
            "strtok",
        ],
    ),
    ("strings.h", &["strcasecmp", "strncasecmp"]),
    ("sys/time.h", &["gettimeofday"]),
    ("time.h", &["clock", "clock_gettime", "ctime", "localtime", "nanosleep", "strftime", "time"]),
    (
        "unistd.h",
        &["close", "fork", "getcwd", "gethostname", "getopt", "getpid", "read", "sleep", "usleep", "write"],
    ),
];

impl Sema<'_> {
    /// Advice about an undeclared name, to be appended to the message; may be empty.
    pub(crate) fn advice(&self, name: &str) -> String {
        if let "barrier" | "barrier_notify" | "barrier_wait" | "fence" | "forall" = name {
            let new = name.trim_start_matches("barrier_");
            return format!("; since UPC 1.1 the statement is written `upc_{new}`");
        }
        if let Some(near) = self.similar_name(name) {
            return format!("; did you mean `{near}`?");
        }
        self.header_of(name).map_or(String::new(), |h| format!("; include <{h}>"))
    }

    /// The header, not yet included, that declares such names.
    pub(crate) fn header_of(&self, name: &str) -> Option<&'static str> {
        if let Some((header, _)) = C_LIBRARY.iter().find(|(_, names)| names.contains(&name)) {
            return Some(header);
        }
        let (_, header, one) = HEADERS.iter().find(|(start, ..)| name.starts_with(start))?;
        let included = self.toks.syms.get(one).is_some_and(|s| self.lookup(s).is_some());
        (!included).then_some(header)
    }

    /// A visible name that differs from `name` by one letter, or by two neighbours that changed places.
    pub(crate) fn similar_name(&self, name: &str) -> Option<String> {
        if name.len() < 3 {
            return None;
        }
        let visible = self.decls.iter().rev().filter(|d| {
            !d.system && self.lookup(d.name).is_some_and(|v| self.decls[v.0 as usize].tok == d.tok)
        });
        visible
            .map(|d| self.name(d.name))
            .chain(WORDS)
            .find(|n| *n != name && near(name, n))
            .map(str::to_owned)
    }

    /// The member of a record, or of one in it that has no name, that a name is nearly that of.
    pub(crate) fn similar_member(&self, r: RecordId, name: &str) -> Option<String> {
        self.types.records[r.0 as usize].fields.iter().find_map(|f| match (f.name, self.types.ckind(f.ty)) {
            (Some(other), _) => {
                let other = self.name(other);
                (near(name, other) || name.eq_ignore_ascii_case(other)).then(|| other.to_owned())
            }
            (None, TypeKind::Record(inner)) => self.similar_member(*inner, name),
            _ => None,
        })
    }

    /// Makes a name known as something about which nothing more is said.
    pub(crate) fn bind_unknown(&mut self, s: Sym, at: TokIdx) {
        let ty = self.types.error();
        let d = self.new_decl(s, DeclKind::Var, ty, at);
        self.bind(s, d);
    }
}

/// Whether one mistake makes one name of the other: a letter, or two neighbours that changed places.
fn near(a: &str, b: &str) -> bool {
    a.len().min(b.len()) > 1 && a.len().abs_diff(b.len()) <= 1 && strsim::osa_distance(a, b) <= 1
}
