//! Where an error inside a string is, whatever style the string is written in.
