// error: E0521
// says: borrowed data escapes outside of closure
//! References into the message are valid until the function returns.
use std::sync::Mutex;
pub fn case(world: pgas::World) {
    let names = world.share(Mutex::new(Vec::<&'static str>::new()));
    #[cfg(not(fixed))]
    names.send_lent(1, |names, name| names.lock().unwrap().push(name), "a");
    #[cfg(fixed)]
    names.send_lent(1, |names, _| names.lock().unwrap().push("a"), "a");
}
