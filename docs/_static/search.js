// Opened from the file system, a page may not fetch others: search results go without excerpts then.
"use strict";

if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
