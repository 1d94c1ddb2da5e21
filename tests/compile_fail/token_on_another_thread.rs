// error: E0277
//! And stays on the thread that runs the handler.
pub fn f() -> gasnet::Handler {
    gasnet::Handler::new(|token, _| {
        #[cfg(not(fixed))]
        std::thread::scope(|s| drop(s.spawn(|| token.reply_short(128, &[]))));
        #[cfg(fixed)]
        drop(token.reply_short(128, &[]));
    })
}
