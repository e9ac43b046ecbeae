"""Words written by hand."""

from metro.report.markdown_html import prose_to_html, sections


def test_words_by_hand():
    """What our Markdown means, in HTML; links to files are words only."""
    text = (
        "A *b* [c](d.md) [e](https://f.g) <h>\n\n- **i**\n  j\n- k\n\n"
        "| l | m |\n|---|---|\n| `n` | o |\n\n```\n## p\n\nq < r\n```\n"
    )
    page = prose_to_html(text)
    assert '<p>A <em>b</em> c <a href="https://f.g">e</a> &lt;h&gt;</p>' in page
    assert "<ul>\n<li><strong>i</strong>\nj</li>\n<li>k</li>\n</ul>" in page
    assert "<tr>\n<td><code>n</code></td>\n<td>o</td>\n</tr>" in page
    assert "<pre><code>## p\n\nq &lt; r\n</code></pre>" in page
    found = sections("# T\n\nx\n\n## One\n\n```\n## no\n```\n\n---\n")
    assert found == [("", "x"), ("One", "```\n## no\n```")]
