//! Lists that come in pages: how an API pages, and how to ask for the next page. Pure: one answer
//! in, the change of the next request out. Who fetches pages keeps a [`Walk`], which never goes in
//! a circle and never goes on for ever.
