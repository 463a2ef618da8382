//! Names of parameters and fields used for pagination, in lowercase and without punctuation:
//! `nextpagetoken` matches `next_page_token` and `nextPageToken`.

use crate::text::WordList;

/// Parameters that take a cursor. In a few APIs, `offset` and `page` take one too.
pub const CURSORS: WordList = WordList(
    "after afterid bookmark continuation continuationtoken continue cursor marker nextcursor \
     nextpagetoken nexttoken pagecursor pagekey pagetoken paginationtoken scrollid startcursor \
     startingtoken",
);
/// Response fields that hold the next cursor, in order of preference.
pub const NEXT_CURSORS: WordList = WordList(
    "nextcursor nextpagetoken nextpagecursor nexttoken nextcontinuationtoken nextmarker \
     nextpagekey nextkey nextpage endcursor continuationtoken paginationtoken bookmark scrollid \
     lastid",
);
/// Paths of fields that hold the next cursor, for names that are not conclusive by themselves.
pub const NEXT_CURSOR_PATHS: WordList = WordList(
    "metadata.continue paging.next.after paging.cursors.after cursors.after cursor.next \
     cursor.after pagination.next meta.after meta.next next",
);
/// Paths of fields that hold the URL of the next page.
pub const NEXT_URLS: WordList = WordList(
    "odatanextlink nextlink nexturl nextpageurl nextpageuri nexthref nextrecordsurl \
     links.next.href links.next link.next paging.next pagination.next pagination.nexturl \
     pagination.nextlink meta.next meta.nexturl next.href next",
);
/// Parameters that take a value from the last item.
pub const LAST_ITEMS: WordList = WordList("startingafter");
/// Fields that report whether there are more items.
pub const MORE: WordList = WordList("hasmore hasnextpage hasnext moreavailable istruncated");
/// Parameters that take a page number.
pub const PAGES: WordList = WordList("page pagenumber pageno pagenum pageindex currentpage");
/// Parameters that take an item offset.
pub const OFFSETS: WordList = WordList("offset skip start startat startindex pageoffset");
/// Parameters that take a page size.
pub const SIZES: WordList = WordList(
    "count limit max maxresults pagelimit pagesize perpage resultsperpage rows size take top",
);
/// Fields that report the total number of items.
pub const TOTALS: WordList = WordList("total totalcount totalitems totalresults totalsize");
/// Fields that report the total number of pages.
pub const TOTAL_PAGES: WordList = WordList("totalpages pagecount pagestotal lastpage numpages");
/// Names of the field that holds the list, in order of preference.
pub const LISTS: WordList = WordList(
    "data items results value values records entries list rows objects hits elements content \
     resources nodes members result response embedded",
);
/// Maps that contain response metadata.
pub const ASIDES: WordList =
    WordList("meta metadata pagination paging page pageinfo responsemetadata");
