// What the theme leaves out, on every page.
// Pages that are read from a folder may not fetch each other, so the search shows titles there, without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// The theme lets the keyboard reach code that scrolls, but looks for it only after a change of the window's size.
document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);
