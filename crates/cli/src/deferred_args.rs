//! Arguments that clap builds only for the command that was typed. Building all of them would run
//! more code and use more memory than everything else that a server for agents needs to start.

use std::ops::Deref;

use clap::builder::{Resettable, StyledStr};
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

#[derive(Debug)]
pub(crate) struct Deferred<T>(T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<T>, Error> {
        T::from_arg_matches(matches).map(Deferred)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Deferred<T>, Error> {
        T::from_arg_matches_mut(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| augment_keeping_about(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| augment_keeping_about(command, T::augment_args_for_update))
    }
}

/// Adds arguments without changing the description of the command. Because deferred arguments are
/// added after the description is set, the doc comment of a flattened struct would otherwise
/// replace it.
fn augment_keeping_about(command: Command, augment: fn(Command) -> Command) -> Command {
    let same =
        |text: Option<&StyledStr>| text.cloned().map_or(Resettable::Reset, Resettable::Value);
    let (about, long) = (same(command.get_about()), same(command.get_long_about()));
    augment(command).about(about).long_about(long)
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
