//! Functions of the program that are called when something has happened.
//!
//! One thread of the agent calls them, one at a time, without a lock, so they may call this crate. It is
//! started when it is first needed, sleeps while nothing is wanted, and polls the rank while something is.

use crate::machine::{Machine, Polled};
use crate::memory::Region;
use crate::terms::{Completed, CqId, ErrorReport, NicId, ViId};
use gasnet_sys::mutex::lock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A request to be called for the next descriptor of a queue, or the next entry of a completion queue.
pub(crate) enum Wanted {
    Done { vi: ViId, is_receive: bool, call: Box<dyn FnOnce(Completed) + Send> },
    Entry { nic: NicId, cq: CqId, call: Box<dyn FnOnce(ViId, bool) + Send> },
}

/// Is called for each report about VIs of a NIC.
pub(crate) type OnError = Arc<dyn Fn(ErrorReport) + Send + Sync>;

/// A call that is due.
pub(crate) type Due = Box<dyn FnOnce()>;

#[derive(Default)]
pub(crate) struct NoticeState {
    /// The oldest first.
    wanted: Vec<Wanted>,
    errors: Vec<(NicId, OnError)>,
    reported: bool,
    stop: bool,
    pub(crate) thread: Option<JoinHandle<()>>,
}

/// The requests to be called that an agent has.
#[derive(Default)]
pub(crate) struct Notices {
    state: Mutex<NoticeState>,
    changed: Condvar,
}

impl Notices {
    pub(crate) fn lock(&self) -> MutexGuard<'_, NoticeState> {
        lock(&self.state)
    }

    pub(crate) fn want(&self, wanted: Wanted) {
        self.lock().wanted.push(wanted);
        self.changed.notify_all();
    }

    /// From now on the reports about a NIC's VIs go to this function, or to none.
    pub(crate) fn on_error(&self, nic: NicId, call: Option<OnError>) {
        let mut state = self.lock();
        state.errors.retain(|(of, _)| *of != nic);
        state.errors.extend(call.map(|call| (nic, call)));
        state.reported = true;
        self.changed.notify_all();
    }

    /// There are reports.
    pub(crate) fn reported(&self) {
        let mut state = self.lock();
        if !state.errors.is_empty() && !state.reported {
            state.reported = true;
            self.changed.notify_all();
        }
    }

    /// Nothing is called any more, but for reports that are there. Returns the thread that is to be waited
    /// for.
    pub(crate) fn stop(&self) -> Option<JoinHandle<()>> {
        let mut state = self.lock();
        state.stop = true;
        self.changed.notify_all();
        state.thread.take()
    }

    /// Waits until there is something to look for. False: to stop, all reports having been told.
    pub(crate) fn sleep(&self) -> bool {
        let idle = |s: &mut NoticeState| s.wanted.is_empty() && !s.reported && !s.stop;
        let woken = self.changed.wait_while(self.lock(), idle);
        let state = woken.unwrap_or_else(PoisonError::into_inner);
        !state.stop || state.reported
    }

    /// The next call that is due. `Some(None)`: there is nothing to wait for.
    pub(crate) fn find<R: Region>(&self, machine: &mut Machine<R>) -> Option<Option<Due>> {
        let mut state = self.lock();
        state.reported = false;
        for (nic, call) in &state.errors {
            if let Some(report) = machine.next_report(*nic) {
                // There may be more.
                let call = Arc::clone(call);
                state.reported = true;
                return Some(Some(Box::new(move || call(report))));
            }
        }
        let mut at = 0;
        while at < state.wanted.len() && !state.stop {
            match is_due(machine, &state.wanted[at]) {
                Ok(None) => at += 1,
                Ok(Some(came)) => return Some(Some(due(state.wanted.remove(at), came))),
                // The object is gone, and what was wanted of it with it.
                Err(()) => drop(state.wanted.remove(at)),
            }
        }
        (state.wanted.is_empty() || state.stop).then_some(None)
    }
}

enum Came {
    Done(Completed),
    Entry(ViId, bool),
}

/// Takes what is wanted, if it is there.
fn is_due<R: Region>(machine: &mut Machine<R>, wanted: &Wanted) -> Result<Option<Came>, ()> {
    match *wanted {
        Wanted::Done { vi, is_receive, .. } => match machine.poll(vi, is_receive) {
            Ok(Polled::Done(completed)) => Ok(Some(Came::Done(completed))),
            Ok(Polled::NotDone | Polled::Empty) => Ok(None),
            Err(_) => Err(()),
        },
        Wanted::Entry { nic, cq, .. } => match machine.take_entry(nic, cq) {
            Ok(entry) => Ok(entry.map(|(vi, is_receive)| Came::Entry(vi, is_receive))),
            Err(_) => Err(()),
        },
    }
}

fn due(wanted: Wanted, came: Came) -> Due {
    match (wanted, came) {
        (Wanted::Done { call, .. }, Came::Done(completed)) => Box::new(move || call(completed)),
        (Wanted::Entry { call, .. }, Came::Entry(vi, is_receive)) => Box::new(move || call(vi, is_receive)),
        _ => Box::new(|| {}),
    }
}
