//! Where ranks meet.

/// Collective calls that are told apart where ranks meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    Barrier = 1,
    Share,
    Array,
    ArrayMade,
    Read,
    ReadEnd,
    Local,
    LocalEnd,
    Exchange,
    ExchangeEnd,
    Update,
    File,
    End,
}

impl Meeting {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Meeting::Barrier => "a barrier",
            Meeting::Share => "an object to be shared",
            Meeting::Array => "an array to be made",
            Meeting::ArrayMade => "an array that was made",
            Meeting::Read => "a phase that reads an array",
            Meeting::ReadEnd => "the end of a phase that reads an array",
            Meeting::Local => "a phase in which each rank has its part of an array",
            Meeting::LocalEnd => "the end of a phase in which each rank has its part of an array",
            Meeting::Exchange => "a phase that puts to an array",
            Meeting::ExchangeEnd => "the end of a phase that puts to an array",
            Meeting::Update => "a phase that updates an array",
            Meeting::File => "an array's file",
            Meeting::End => "the end of the program",
        }
    }
}
