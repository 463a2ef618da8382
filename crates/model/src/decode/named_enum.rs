//! Enums whose variants have a stable name on the wire or in documents.

/// Declares an enum with a list of all its variants and a name for each.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant),* }

        #[allow(dead_code, reason = "not every enum uses all of these functions")]
        impl $name {
            $vis const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in documents and responses.
            $vis fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            $vis fn named(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}
pub(crate) use named_enum;

/// Declares a public `named_enum!` whose variants are also serialized and displayed by name.
#[macro_export]
macro_rules! serialized_enum {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $crate::named_enum! {
            $(#[$meta])*
            #[derive(serde::Serialize, serde::Deserialize)]
            pub $name { $($(#[$doc])* #[serde(rename = $word)] $variant = $word),* }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
