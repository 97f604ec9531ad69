"""What a lesson shows of its own source: whole lines, never broken, the words as they are."""

import html
import re

from labkit.lessons import chapter_stores, deadlines
from labkit.lessons.listing import listing


def shown():
    return listing(chapter_stores.Upsert, chapter_stores._upsert, deadlines.ask, deadlines.due)


def test_the_markup_holds_the_source_to_the_byte():
    """Colours add nothing and drop nothing."""
    inside = re.search(r"<pre[^>]*>(.*)</pre>", shown()._repr_html_(), re.DOTALL)
    assert shown().source == html.unescape(re.sub(r"</?[bqi]>", "", inside[1]))


def test_lines_scroll_and_are_not_broken():
    """White space stays as it is; the region can be reached by the keyboard."""
    page = shown()._repr_html_()
    assert "white-space:pre!important;word-break:normal!important" in page
    assert "overflow-x:auto" in page
    assert '<pre tabindex="0">' in page


def test_keywords_texts_and_comments_have_elements_of_their_own():
    """Nothing else has."""
    page = shown()._repr_html_()
    assert "<b>def</b> get(self" in page
    assert "<i># subtle: the row is locked all the while</i>" in page
    assert "<q>&quot;postgresql&quot;</q>" in page
