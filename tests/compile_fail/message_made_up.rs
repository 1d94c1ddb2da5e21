// error: E0639
//! A message with a payload of the program's choice would be read as a slice.
pub fn f() -> usize {
    #[cfg(not(fixed))]
    let message =
        gasnet::Message { kind: gasnet::am::Kind::Medium, args: &[], payload: std::ptr::null_mut(), len: 1 << 40 };
    #[cfg(not(fixed))]
    return message.bytes().len();
    #[cfg(fixed)]
    return 1 << 40;
}
