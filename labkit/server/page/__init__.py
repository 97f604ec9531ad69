"""The page, as files that are served as they are: `index.html`, `page.js`, `page.css`."""
