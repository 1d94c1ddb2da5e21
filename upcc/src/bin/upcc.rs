//! The UPC compiler driver.
fn main() -> std::process::ExitCode {
    upcc::driver::main()
}
