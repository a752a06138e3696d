//! Operations on lanes that are compiled in the library's own crate.

/// Defines the trait `Operations` of a library: for each operation, a type that implements
/// [`lanes::Dispatch`], a function that runs it on a backend. Implements it for each parameter set,
/// so that operations are compiled once for each set and instruction set, in the library, and not
/// in every crate that uses them.
///
/// The trait `ParameterSet` must be in scope.
#[macro_export]
macro_rules! operations {
    (@ $set:ident { $($name:ident: $operation:ty => $output:ty;)* }) => {
        impl Operations for $set {
            $(
                #[inline(never)]
                fn $name(backend: lanes::Backend, operation: $operation) -> $output {
                    backend.run(operation)
                }
            )*
        }
    };
    (
        $($(#[$attribute:meta])* $set:ident)*;
        $($name:ident: $operation:ty => $output:ty;)*
    ) => {
        /// A parameter set whose operations are compiled in this crate: each of them, on a backend.
        pub trait Operations: ParameterSet {
            $(
                #[doc(hidden)]
                fn $name(backend: lanes::Backend, operation: $operation) -> $output;
            )*
        }

        $crate::operations! { sets $($(#[$attribute])* $set)*; { $($name: $operation => $output;)* } }
    };
    (sets $($(#[$attribute:meta])* $set:ident)*; $operations:tt) => {
        $($(#[$attribute])* const _: () = {
            $crate::operations! { @ $set $operations }
        };)*
    };
}
