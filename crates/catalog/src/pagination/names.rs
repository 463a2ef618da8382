//! How parameters and fields of paged lists are named, without signs and capitals:
//! `nextpagetoken` is `next_page_token` and `nextPageToken`.

use crate::text::WordList;

/// Parameters that take a cursor; `offset` and `page` do in a few APIs.
pub const CURSORS: WordList = WordList(
    "after afterid bookmark continuation continuationtoken continue cursor marker nextcursor \
     nextpagetoken nexttoken pagecursor pagekey pagetoken paginationtoken scrollid startcursor \
     startingtoken",
);
/// Fields of a response that hold the next cursor, best first.
pub const NEXT_CURSORS: WordList = WordList(
    "nextcursor nextpagetoken nextpagecursor nexttoken nextcontinuationtoken nextmarker \
     nextpagekey nextkey nextpage endcursor continuationtoken paginationtoken bookmark scrollid \
     lastid",
);
/// The same where only the way to the field tells.
pub const NEXT_CURSOR_PATHS: &[&[&str]] = &[
    &["metadata", "continue"],
    &["paging", "next", "after"],
    &["paging", "cursors", "after"],
    &["cursors", "after"],
    &["cursor", "next"],
    &["cursor", "after"],
    &["pagination", "next"],
    &["meta", "after"],
    &["meta", "next"],
    &["next"],
];
/// Fields that hold the URL of the next page.
pub const NEXT_URLS: &[&[&str]] = &[
    &["odatanextlink"],
    &["nextlink"],
    &["nexturl"],
    &["nextpageurl"],
    &["nextpageuri"],
    &["nexthref"],
    &["nextrecordsurl"],
    &["links", "next", "href"],
    &["links", "next"],
    &["link", "next"],
    &["paging", "next"],
    &["pagination", "next"],
    &["pagination", "nexturl"],
    &["pagination", "nextlink"],
    &["meta", "next"],
    &["meta", "nexturl"],
    &["next", "href"],
    &["next"],
];
/// Parameters that take a value of the last item.
pub const LAST_ITEMS: WordList = WordList("startingafter");
/// Fields that say whether there is more.
pub const MORE: WordList = WordList("hasmore hasnextpage hasnext moreavailable istruncated");
/// Parameters that number pages.
pub const PAGES: WordList = WordList("page pagenumber pageno pagenum pageindex currentpage");
/// Parameters that number items.
pub const OFFSETS: WordList = WordList("offset skip start startat startindex pageoffset");
/// Parameters that say how many items a page has.
pub const SIZES: WordList = WordList(
    "count limit max maxresults pagelimit pagesize perpage resultsperpage rows size take top",
);
/// Fields that say how many items there are.
pub const TOTALS: WordList = WordList("total totalcount totalitems totalresults totalsize");
/// Fields that say how many pages there are.
pub const TOTAL_PAGES: WordList = WordList("totalpages pagecount pagestotal lastpage numpages");
/// Names of the list among other fields, best first.
pub const LISTS: WordList = WordList(
    "data items results value values records entries list rows objects hits elements content \
     resources nodes members result response embedded",
);
/// Maps that hold what a response says about itself.
pub const ASIDES: WordList =
    WordList("meta metadata pagination paging page pageinfo responsemetadata");
