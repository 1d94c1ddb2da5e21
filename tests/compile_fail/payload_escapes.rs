// error: E0521
//! A payload is the sender's again when the handler returns.
use std::sync::Mutex;
pub fn f() -> gasnet::Handler {
    #[cfg(not(fixed))]
    static LAST: Mutex<&'static [u8]> = Mutex::new(&[]);
    #[cfg(fixed)]
    static LAST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    gasnet::Handler::new(|_, message| {
        #[cfg(not(fixed))]
        {
            *LAST.lock().unwrap() = message.bytes();
        }
        #[cfg(fixed)]
        {
            *LAST.lock().unwrap() = message.bytes().to_vec();
        }
    })
}
