// error: E0521
//! Nor can the message itself be kept, its arguments included.
use std::sync::mpsc::Sender;
use std::sync::Mutex;
#[cfg(not(fixed))]
pub type Kept = &'static [u32];
#[cfg(fixed)]
pub type Kept = Vec<u32>;
pub fn f(to: Sender<Kept>) -> gasnet::Handler {
    let to = Mutex::new(to);
    gasnet::Handler::new(move |_, message| {
        #[cfg(not(fixed))]
        let kept = message.args;
        #[cfg(fixed)]
        let kept = message.args.to_vec();
        to.lock().unwrap().send(kept).unwrap();
    })
}
