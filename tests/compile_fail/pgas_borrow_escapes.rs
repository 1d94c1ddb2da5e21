// error: E0521
// says: borrowed data escapes outside of closure
//! What is borrowed from the message is gone when the function returns.
use std::sync::Mutex;
pub fn case(world: pgas::World) {
    let names = world.share(Mutex::new(Vec::<&'static str>::new()));
    #[cfg(not(fixed))]
    names.send(1, |names, name: &str| names.lock().unwrap().push(name), pgas::lend("a"));
    #[cfg(fixed)]
    names.send(1, |names, _: &str| names.lock().unwrap().push("a"), pgas::lend("a"));
}
