import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { bytesText } from '../../bytes-text.ts'
import type { MenuPlace } from '../../menu.ts'
import { ask } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { chooseFolder } from '../files/folder-choice.ts'
import { nameOf, pathIn } from '../files/paths.ts'
import type { Tasks } from '../files/tasks.ts'
import type { Trash, TrashItem } from './trash.ts'
import { finalRemoval, inTurn, restoration } from './trash-operations.ts'

type Items = readonly [TrashItem, ...TrashItem[]]

const words = texts.trash

/** The actions of a person in the trash. */
export class TrashActions {
  /** The list of the items. It gets the focus after an action. */
  readonly rows: { current: HTMLElement | null } = { current: null }
  /** The place of the menu of the selected items; `null` while it is closed. */
  readonly menuAt = signal<MenuPlace | null>(null)
  /** The item whose details are shown. */
  readonly detailed = signal<TrashItem | null>(null)
  readonly #page: PageContext
  readonly #trash: Trash
  readonly #tasks: Tasks

  constructor(page: PageContext, trash: Trash, tasks: Tasks) {
    this.#page = page
    this.#trash = trash
    this.#tasks = tasks
  }

  /** Puts items back where they were, and offers to take that back. */
  restore(items: Items): void {
    this.#restore(items, null)
  }

  /** Puts items into a folder that the person chooses. */
  async restoreTo(items: Items): Promise<void> {
    const folder = await chooseFolder({
      title: words.restoreTitle(wordsOf(items)),
      agree: words.restoreHere,
      start: '/',
      other: false,
    })
    if (folder !== null) this.#restore(items, folder)
    this.focusRows()
  }

  /** Deletes items for good, if the person agrees. */
  async delete(items: Items): Promise<void> {
    const title = words.deleteTitle(wordsOf(items))
    if (
      (await ask({ title, text: words.forGoodText, agree: texts.files.deleteForGood, danger: true })) !== null
    ) {
      this.#trash.selection.none()
      this.#tasks.add(
        items.map((item) => finalRemoval(this.#page, item, { onGone: () => this.#trash.forget(item) })),
      )
    }
    this.focusRows()
  }

  /** Deletes everything for good, if the person agrees. */
  async empty(): Promise<void> {
    const { items, bytes } = await this.#trash.count()
    const title = words.emptyTitle(items, bytesText(bytes))
    if ((await ask({ title, text: words.forGoodText, agree: words.empty, danger: true })) === null) return
    await this.#trash.empty()
    this.#page.notice(words.emptied)
  }

  undo(): void {
    void this.#tasks.lastChange.takeBack()
  }

  showDetails(item: TrashItem): void {
    this.detailed.value = item
  }

  closeDetails(): void {
    this.detailed.value = null
    this.focusRows()
  }

  /** Gives the focus to the list, once what is over it has gone. */
  focusRows(): void {
    requestAnimationFrame(() => this.rows.current?.focus({ preventScroll: true }))
  }

  /** @param folder another folder than the former ones; `null` for these */
  #restore(items: Items, folder: string | null): void {
    let path = ''
    this.#trash.selection.none()
    // A folder is back before what was deleted in it.
    const inOrder = items.toSorted(
      (one, other) => Number(one.path > other.path) - Number(one.path < other.path),
    )
    const works = inOrder.map((item) =>
      restoration(this.#page, item, {
        destination: folder === null ? undefined : pathIn(folder, nameOf(item.path)),
        onGone: () => this.#trash.forget(item),
        onRestored(at) {
          path = at
        },
      }),
    )
    this.#tasks.add(inTurn(works), ({ length }) =>
      length === 1 ? words.restored(shownName(path)) : words.restoredSeveral(texts.files.count(length)),
    )
    this.focusRows()
  }
}

/** Names one item, or says how many there are. */
function wordsOf([first, ...others]: Items): string {
  return others.length === 0
    ? texts.files.quoted(shownName(nameOf(first.path)))
    : texts.files.count(others.length + 1)
}
