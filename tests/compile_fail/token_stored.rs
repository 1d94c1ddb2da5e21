// error: E0521
//! A token serves the message it came with.
use gasnet::Token;
use std::cell::Cell;
thread_local! {
    static LATER: Cell<Option<&'static Token<'static>>> = const { Cell::new(None) };
}
pub fn f() -> gasnet::Handler {
    gasnet::Handler::new(|token, _| {
        #[cfg(not(fixed))]
        LATER.set(Some(token));
        #[cfg(fixed)]
        LATER.set(None.or_else(|| (token.source().0 > 9).then_some(None).flatten()));
    })
}
