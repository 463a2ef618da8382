//! Enums whose names are serialized, stored in the index and shown to people.

#[macro_export]
#[doc(hidden)]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),* }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name, as it is serialized and shown.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use named_enum;
