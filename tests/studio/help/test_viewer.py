"""The manual in its own window: opening it, every page, links, search."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPalette, QTextCursor
from PySide6.QtWidgets import QApplication

from studio.help.page_view import HelpView
from studio.help.pages import (
    INDEX,
    Page,
    heading_anchor,
    linked_pages,
    load_pages,
    manual_folder,
    read_picture,
)
from studio.help.style import blocks_of, fragments_of, is_code
from studio.help.viewer import HelpViewer
from studio.theme.theme import apply_theme, load_theme
from studio.window.main_window import MainWindow
from tests.support.marks import slow

PAGES = load_pages(manual_folder())


@pytest.fixture
def viewer(qtbot) -> Iterator[HelpViewer]:
    made = HelpViewer()
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    return made


@pytest.fixture(scope="module")
def reader(qapp: QApplication) -> Iterator[HelpViewer]:
    """The manual, open for all tests that only turn its pages."""
    made = HelpViewer()
    made.show()
    yield made
    made.close()
    made.deleteLater()


@pytest.fixture
def view(viewer: HelpViewer) -> HelpView:
    return viewer.view


def shown(viewer: HelpViewer) -> str:
    page = viewer.view.page
    assert page is not None
    return page.name


def listed(viewer: HelpViewer) -> list[str]:
    rows = [viewer.list.item(row) for row in range(viewer.list.count())]
    return [row.text() for row in rows if not row.isHidden()]


def link_in(view: HelpView, target: str) -> QPoint:
    """Return where a link of the page is on screen."""
    for block in blocks_of(view.document()):
        for fragment in fragments_of(block):
            if fragment.charFormat().anchorHref() == target:
                cursor = QTextCursor(block)
                cursor.setPosition(fragment.position() + 1)
                return view.cursorRect(cursor).center()
    raise AssertionError(f"the page has no link to {target}")


def texts_in(view: HelpView, colour: str) -> set[str]:
    """Return the texts of a page that are drawn in a colour."""
    return {
        fragment.text()
        for block in blocks_of(view.document())
        for fragment in fragments_of(block)
        if fragment.charFormat().foreground().color().name() == colour
    }


# Opening -----------------------------------------------------------------------------------------


def test_f1_opens_the_manual_at_its_index(qtbot, window: MainWindow) -> None:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_F1)
    viewer = window.findChild(HelpViewer, "help_viewer")
    assert viewer is not None
    assert viewer.isVisible()
    assert viewer.isWindow()
    assert not viewer.isModal()
    assert shown(viewer) == INDEX


@pytest.mark.slow
def test_the_manual_stays_where_it_was_left_until_the_window_closes(window: MainWindow) -> None:
    window.toolbar.action("help").trigger()
    (viewer,) = window.findChildren(HelpViewer)
    viewer.open_page("runs.md")
    viewer.close()
    window.toolbar.action("help").trigger()
    assert window.findChildren(HelpViewer) == [viewer]
    assert viewer.isVisible()
    assert shown(viewer) == "runs.md"
    window.close()
    assert not viewer.isVisible()


# Pages -------------------------------------------------------------------------------------------


def test_every_page_is_listed_by_its_title_the_index_first(viewer: HelpViewer) -> None:
    assert PAGES[0].name == INDEX
    assert len(PAGES) > 5
    assert listed(viewer) == [page.title for page in PAGES]


def test_the_titles_of_the_pages_are_not_cut_off(qtbot, viewer: HelpViewer) -> None:
    viewer.show()
    pages = viewer.list
    qtbot.waitUntil(lambda: pages.viewport().width() >= pages.sizeHintForColumn(0))
    assert not pages.horizontalScrollBar().isVisible()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_renders_without_left_over_markdown(reader: HelpViewer, page: Page) -> None:
    reader.open_page(page.name)
    text = reader.view.toPlainText()
    assert text.startswith(page.title)
    assert not reader.grab().isNull()
    outside_code = "\n".join(
        block.text() for block in blocks_of(reader.view.document()) if not is_code(block)
    )
    for left_over in ("](", "**", "```", "|---", "<!--"):
        assert left_over not in outside_code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_is_wider_than_the_page(reader: HelpViewer, page: Page) -> None:
    reader.resize(700, 600)
    reader.open_page(page.name)
    assert reader.view.horizontalScrollBar().maximum() == 0


def test_pictures_are_as_wide_as_a_line(viewer: HelpViewer, view: HelpView) -> None:
    viewer.open_page("runs.md")
    pictures = [
        fragment.charFormat().toImageFormat().name()
        for block in blocks_of(view.document())
        for fragment in fragments_of(block)
        if fragment.charFormat().isImageFormat()
    ]
    assert len(pictures) == 2
    for name in pictures:
        image = view.loadResource(2, QUrl(name))
        margin = view.document().rootFrame().frameFormat().leftMargin()
        assert image.deviceIndependentSize().width() == pytest.approx(
            view.viewport().width() - 2 * margin, abs=1
        )


def test_a_picture_outside_the_resources_is_refused() -> None:
    with pytest.raises(ValueError, match="out of the resources"):
        read_picture(manual_folder(), "../../README.md")


def test_headings_are_larger_than_the_text(viewer: HelpViewer, view: HelpView) -> None:
    viewer.open_page("runs.md")
    sizes: dict[int, set[float]] = {}
    for block in blocks_of(view.document()):
        for fragment in fragments_of(block):
            look = fragment.charFormat()
            if not is_code(block) and not look.fontFixedPitch():
                level = block.blockFormat().headingLevel()
                sizes.setdefault(level, set()).add(look.font().pointSizeF())
    assert all(len(each) == 1 for each in sizes.values()), sizes
    (text,), (first,), (second,) = sizes[0], sizes[1], sizes[2]
    assert first > second > text


@pytest.mark.parametrize("name", [*slow("light"), "dark"])
@pytest.mark.slow
def test_text_and_links_follow_the_theme_at_once(viewer: HelpViewer, name: str) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    apply_theme(app, load_theme("dark" if name == "light" else "light"))
    viewer.open_page("getting-started.md")
    theme = load_theme(name)
    apply_theme(app, theme)
    assert "commands" in texts_in(viewer.view, theme.accent)
    assert "td3-studio doctor" in texts_in(viewer.view, theme.text)
    assert viewer.view.palette().color(QPalette.ColorRole.Text).name() == theme.text


# Links -------------------------------------------------------------------------------------------


def test_a_click_on_a_link_shows_its_page_and_back_returns(qtbot, viewer, view) -> None:
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=link_in(view, "training.md"))
    assert shown(viewer) == "training.md"
    assert viewer.list.currentItem().text() == "Training"
    qtbot.mouseClick(viewer.back_button, Qt.MouseButton.LeftButton)
    assert shown(viewer) == INDEX
    assert viewer.list.currentItem().text() == "TD3 Studio manual"
    assert not viewer.back_button.isEnabled()


def test_back_returns_to_the_place_in_the_page(qtbot, viewer: HelpViewer, view: HelpView) -> None:
    viewer.open_page("runs.md")
    view.verticalScrollBar().setValue(300)
    viewer.open_page("replay.md")
    assert view.verticalScrollBar().value() == 0
    qtbot.keyClick(viewer, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert shown(viewer) == "runs.md"
    assert view.verticalScrollBar().value() == 300


def test_a_page_that_is_opened_again_is_no_step_for_back(viewer: HelpViewer) -> None:
    viewer.open_page("many-runs.md", "in-the-window")
    viewer.open_page("many-runs.md", "in-the-window")
    viewer.go_back()
    assert shown(viewer) == INDEX
    assert not viewer.back_button.isEnabled()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_pages_leads_to_a_page(page: Page) -> None:
    assert set(linked_pages(page.markdown)) <= {each.name for each in PAGES}


def test_a_link_with_an_anchor_leads_to_the_heading(viewer: HelpViewer, view: HelpView) -> None:
    viewer.open_page("runs.md", "files")
    assert view.verticalScrollBar().value() > 0
    top = view.cursorForPosition(QPoint(view.viewport().width() // 2, 20)).block()
    assert top.text() == "Files"
    view.anchorClicked.emit(QUrl("#resume"))
    assert shown(viewer) == "runs.md"
    top = view.cursorForPosition(QPoint(view.viewport().width() // 2, 20)).block()
    assert top.text() == "Resume"


def test_a_link_to_the_web_opens_in_the_browser(monkeypatch, viewer, view) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    view.anchorClicked.emit(QUrl("https://example.org/paper"))
    assert opened == [QUrl("https://example.org/paper")]
    assert shown(viewer) == INDEX


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Files", "files"),
        ("What resuming guarantees", "what-resuming-guarantees"),
        ("Add a setting: `tau`, say", "add-a-setting-tau-say"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert heading_anchor(heading) == anchor


# Search ------------------------------------------------------------------------------------------


def test_a_search_lists_the_pages_with_every_word_and_shows_one(viewer: HelpViewer) -> None:
    viewer.search.setText("pybullet WHEEL")
    found = listed(viewer)
    assert "Environments" in found
    assert "Runs" not in found
    assert viewer.list.currentItem().text() in found
    viewer.search.clear()
    assert len(listed(viewer)) == len(PAGES)


def test_a_page_that_has_the_words_stays_and_all_of_them_are_highlighted(
    viewer: HelpViewer, view: HelpView
) -> None:
    viewer.open_page("runs.md")
    viewer.search.setText("journal")
    assert shown(viewer) == "runs.md"
    count = view.toPlainText().lower().count("journal")
    assert count > 1
    marked = [each.cursor.selectedText().lower() for each in view.extraSelections()]
    assert marked == ["journal"] * count
    assert viewer.count.text() == f"{count} matches on this page"
    viewer.search.clear()
    assert view.extraSelections() == []
    assert viewer.count.text() == ""


def test_words_that_follow_each_other_are_highlighted_as_a_phrase(viewer, view) -> None:
    viewer.open_page("runs.md")
    viewer.search.setText("replay buffer")
    assert {each.cursor.selectedText().lower() for each in view.extraSelections()} == {
        "replay buffer"
    }


def test_enter_goes_from_match_to_match_and_around(qtbot, viewer, view) -> None:
    viewer.open_page("runs.md")
    viewer.search.setText("verify")
    places = [each.cursor.selectionStart() for each in view.extraSelections()]
    assert len(places) > 2
    assert view.textCursor().selectionStart() == places[0]
    qtbot.keyClick(viewer.search, Qt.Key.Key_Return)
    assert view.textCursor().selectionStart() == places[1]
    for _ in range(2):
        qtbot.keyClick(viewer.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.textCursor().selectionStart() == places[-1]
    qtbot.keyClick(viewer.search, Qt.Key.Key_Return)
    assert view.textCursor().selectionStart() == places[0]


def test_a_search_without_a_match_keeps_the_page_and_gives_the_reason(viewer) -> None:
    viewer.open_page("runs.md")
    viewer.search.setText("xyzzy")
    assert shown(viewer) == "runs.md"
    assert listed(viewer) == []
    assert viewer.count.text() == "No page contains “xyzzy”."


def test_ctrl_f_goes_to_the_search_and_escape_clears_it_then_closes(qtbot, viewer) -> None:
    viewer.activateWindow()
    qtbot.waitUntil(viewer.isActiveWindow)
    viewer.view.setFocus()
    qtbot.keyClick(viewer.view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.focusObject() is viewer.search
    viewer.search.setText("tau")
    qtbot.keyClick(viewer.search, Qt.Key.Key_Escape)
    assert viewer.search.text() == ""
    assert viewer.isVisible()
    qtbot.keyClick(viewer.search, Qt.Key.Key_Escape)
    assert not viewer.isVisible()
