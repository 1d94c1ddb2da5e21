//! Where in its program a simulated rank is.

use core::fmt::Write;

/// Where in its program the caller is: a file and a line, if debug information tells them, else a function.
pub fn place() -> String {
    let mut search = Search::default();
    // The search ends it as soon as it has found what it looks for.
    let _ = write!(search, "{}", std::backtrace::Backtrace::force_capture());
    search.end_line();
    search.place.or(search.function).unwrap_or_default()
}

/// Reads a backtrace: for each frame a line with the function, and one with its place if that is known.
#[derive(Default)]
struct Search {
    line: String,
    /// Whether the function of the present frame is the program's.
    own: bool,
    /// Whether the frames of the rank are over: what follows is the simulator's caller.
    over: bool,
    /// The first function of the program.
    function: Option<String>,
    place: Option<String>,
}

/// Crates that are no part of a program that is simulated.
const OTHERS: [&str; 8] = ["core", "std", "alloc", "corosensei", "pgas", "rpc", "__rustc", "test"];
/// How names begin that the runtime has for programs in C, UPC and Fortran.
const RUNTIME: [&str; 4] = ["gex_", "upc", "bupc_", "_gfortran_caf_"];

impl Search {
    fn end_line(&mut self) {
        let line = core::mem::take(&mut self.line);
        let line = line.trim();
        if let Some(place) = line.strip_prefix("at ") {
            if self.own && self.place.is_none() {
                // Without the column.
                let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
                self.place = Some(place.strip_prefix("./").unwrap_or(place).into());
            }
        } else if let Some((_, function)) = line.split_once(": ") {
            let of = function.trim_start_matches(['<', '&', '*']).trim_start_matches("dyn ");
            let krate = of.split("::").next().unwrap_or(of);
            self.over |= krate == "corosensei";
            let c = !of.contains("::");
            self.own = !(self.over
                || OTHERS.contains(&krate)
                || krate.starts_with("gasnet")
                || krate.contains(" as gasnet")
                || krate == "unknown>"
                || c && is_of_c(of));
            if self.own && self.function.is_none() {
                self.function = Some(function.into());
            }
        }
    }
}

/// Whether the C library or the compiler has put a function on a stack.
fn is_of_c(function: &str) -> bool {
    function.starts_with("__") && function != "__upc_user_main"
        || function.starts_with("_start")
        || ["abort", "raise", "gsignal"].contains(&function)
        || RUNTIME.iter().any(|part| function.starts_with(part))
}

impl Write for Search {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for part in text.split_inclusive('\n') {
            self.line += part;
            if part.ends_with('\n') {
                self.end_line();
            }
        }
        if self.place.is_some() || self.over { Err(core::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_the_program_is_the_place() {
        let found = |text: &str| {
            let mut search = Search::default();
            let _ = search.write_str(text);
            search.end_line();
            search.place.or(search.function).unwrap_or_default()
        };
        let frames = "   0: gasnet_sim::crash::place\n             at ./sim/src/crash.rs:5:1\n   1: __restore_rt\n   2: \
                      <alloc::boxed::Box<F> as core::ops::FnOnce>::call_once\n             at /rustc/1/boxed.rs:9:9\n";
        assert_eq!(found(frames), "");
        let known = "   3: queue::push\n             at ./src/queue.rs:88:13\n   4: queue::main\n             at ./src/queue.rs:9:1\n";
        assert_eq!(found(&format!("{frames}{known}")), "src/queue.rs:88");
        assert_eq!(found(&format!("{frames}   3: queue::push\n   4: queue::main\n")), "queue::push");
        let upc = "   3: __assert_fail\n   4: __upc_user_main\n             at ./sum.upc:9:9\n   5: main\n             at ./<upcc>:15\n";
        assert_eq!(found(&format!("{frames}{upc}")), "sum.upc:9");
        assert_eq!(
            found(&format!("{frames}   3: push_one\n             at /home/p/push.c:7\n")),
            "/home/p/push.c"
        );
    }
}
