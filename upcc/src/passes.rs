//! The names of the UPC optimisations, each of which can be switched off alone. [`opt`](crate::opt) has a
//! table of them.

macro_rules! passes {
    ($($pass:ident: $name:literal $(| $spelling:literal)*),* $(,)?) => {
        /// Which passes run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "named in the table of `opt`")]
        pub struct Passes {
            $(pub $pass: bool),*
        }

        impl Passes {
            /// Their names, as options have them.
            pub const NAMES: &[&str] = &[$($name),*];

            /// All or none.
            pub fn all(on: bool) -> Passes {
                Passes { $($pass: on),* }
            }

            /// Switches a pass on or off. Returns whether there is a pass of this name.
            pub fn set(&mut self, name: &str, on: bool) -> bool {
                match name {
                    $($name $(| $spelling)* => self.$pass = on,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

passes! {
    forall: "forall",
    privatise: "privatise" | "privatize",
    coalesce: "coalesce",
    split_phase: "split-phase",
    arithmetic: "arithmetic",
    hoist: "hoist",
    outline: "outline",
    vector: "vector",
}
