//! Enums whose variants have a stable name on the wire or in documents.

/// Declares an enum of names: the type, all its variants, and the name of each.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant),* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in documents and responses.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }
    };
}
pub(crate) use named_enum;
