//! Checks the thread level with which a program initialised MPI against its use of the runtime.
//!
//! The runtime calls MPI from every thread that calls the runtime, and from its progress thread. A lock keeps
//! its own calls apart. Only MPI itself (MPI_THREAD_MULTIPLE) or the program can keep them apart from the
//! program's calls.

use gasnet_wire::Threading;

/// The level of MPI's initialisation. Later levels allow more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// There are no other threads.
    Single,
    /// The thread that initialised MPI makes all calls.
    Funneled,
    /// Any thread, one at a time.
    Serialized,
    /// Any thread, at any time.
    Multiple,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Single => "MPI_THREAD_SINGLE",
            Level::Funneled => "MPI_THREAD_FUNNELED",
            Level::Serialized => "MPI_THREAD_SERIALIZED",
            Level::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }
}

/// The level for which the runtime initialises MPI itself.
pub(crate) fn wanted(threading: Threading) -> Level {
    match threading {
        // A program's own threads may use MPI at the same time as the runtime.
        Threading::Parallel => Level::Multiple,
        // If one thread makes all calls, MPI needs no locks. Strictly, a process with further threads, which
        // do not call MPI, would be FUNNELED. In MPICH that is the same as SINGLE. In Open MPI, whose
        // launcher runs a thread in each process, FUNNELED makes every call more expensive.
        Threading::Serial(promise) if promise.is_always_the_same() => Level::Single,
        Threading::Serial(_) => Level::Serialized,
    }
}

/// Whether MPI as initialised by the program, for this level, is enough. `Ok` has what the program should
/// know, `Err` the reason and what to do. `main`: this is the thread that initialised MPI.
pub(crate) fn judge(
    level: Level,
    threading: Threading,
    progress: bool,
    main: bool,
) -> Result<Option<String>, String> {
    let name = level.name();
    if progress && level < Level::Multiple {
        return Err(format!(
            "GASNET_PROGRESS=thread calls MPI beside the program, which has initialised MPI for one thread at a time ({name}): have it call \
             MPI_Init_thread for MPI_THREAD_MULTIPLE, or leave GASNET_PROGRESS unset"
        ));
    }
    let remedy = "have it call MPI_Init_thread for MPI_THREAD_MULTIPLE, or start GASNet before MPI, which then initialises MPI so";
    if level < Level::Serialized {
        if !main {
            return Err(format!(
                "the program has initialised MPI for one thread only ({name}), and starts GASNet in another: {remedy}"
            ));
        }
        if wanted(threading) > Level::Single {
            return Err(format!(
                "the program has initialised MPI for one thread only ({name}), and uses GASNet from several: {remedy}; or, if one thread \
                 makes all calls of GASNet, compile for GASNET_SEQ (or promise it: OneThread::always_the_same)"
            ));
        }
    }
    if level == Level::Serialized && threading == Threading::Parallel {
        return Ok(Some(format!(
            "the program has initialised MPI for one thread at a time ({name}) and uses GASNet from several: GASNet's own calls of MPI take \
             turns, but no thread may call MPI while another is in GASNet; MPI_THREAD_MULTIPLE allows that"
        )));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "makes promises, for no rank")]

    use super::*;
    use gasnet_wire::OneThread;

    const LEVELS: [Level; 4] = [Level::Single, Level::Funneled, Level::Serialized, Level::Multiple];

    #[test]
    fn what_the_program_allowed_is_kept_to() {
        // SAFETY: no rank uses it.
        let (same, turns) = unsafe { (OneThread::always_the_same(), OneThread::promise()) };
        let (seq, parsync, par) = (Threading::Serial(same), Threading::Serial(turns), Threading::Parallel);
        let says = |level, threading, progress, main| match judge(level, threading, progress, main) {
            Ok(None) => "fine".to_string(),
            Ok(Some(warning)) | Err(warning) => warning,
        };
        for level in LEVELS {
            let few = level < Level::Serialized;
            assert_eq!(says(level, seq, false, true), "fine");
            for threading in [parsync, par] {
                let said = says(level, threading, false, true);
                assert_eq!(
                    said.contains("from several") && said.contains("GASNET_SEQ"),
                    few,
                    "{level:?}: {said}"
                );
                assert_eq!(judge(level, threading, false, true).is_err(), few);
            }
            assert_eq!(says(level, seq, false, false).contains("starts GASNet in another"), few);
            for threading in [seq, parsync, par] {
                let refused = judge(level, threading, true, true).is_err();
                assert_eq!(refused, level != Level::Multiple, "{level:?} beside a progress thread");
            }
        }
        assert!(says(Level::Serialized, par, false, false).contains("no thread may call MPI"));
        assert_eq!(says(Level::Serialized, parsync, false, false), "fine");
    }

    /// The level that the runtime asks for is accepted if the program asked for it.
    #[test]
    fn what_is_asked_for_will_do() {
        // SAFETY: no rank uses it.
        let (same, turns) = unsafe { (OneThread::always_the_same(), OneThread::promise()) };
        for threading in [Threading::Serial(same), Threading::Serial(turns), Threading::Parallel] {
            assert_eq!(judge(wanted(threading), threading, false, true), Ok(None));
        }
    }
}
