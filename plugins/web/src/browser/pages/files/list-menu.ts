import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { Menu, type MenuItem, type MenuPlace } from '../../menu.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'
import type { Folder } from './folder.ts'
import type { Entry } from './listing.ts'
import type { EntryMarks } from './marked-entries.ts'
import { entryItems, folderItems } from './menu-items.ts'

interface Opened {
  readonly label: string
  readonly items: readonly (MenuItem | null)[]
  readonly at: MenuPlace
}

/** The menu of the entries: of those that are selected, of one of them, or of the folder that is shown. */
export class ListMenu {
  readonly opened = signal<Opened | null>(null)
  readonly #folder: Folder
  readonly #actions: EntryActions
  readonly #marks: EntryMarks

  constructor(folder: Folder, actions: EntryActions, marks: EntryMarks) {
    this.#folder = folder
    this.#actions = actions
    this.#marks = marks
  }

  /** Opens the menu of the selected entries. */
  ofSelection(at: MenuPlace): void {
    this.#ofEntries(this.#folder.selection.entries.value, texts.files.selection, at)
  }

  /** Opens the menu of an entry, whether it is selected or not. */
  ofEntry(entry: Entry, at: MenuPlace): void {
    this.#ofEntries([entry], shownName(entry.name), at)
  }

  /** Opens the menu of the folder. */
  ofFolder(at: MenuPlace): void {
    this.opened.value = { label: texts.files.title, items: folderItems(this.#folder, this.#actions), at }
  }

  close(): void {
    this.opened.value = null
  }

  #ofEntries(entries: readonly Entry[], label: string, at: MenuPlace): void {
    const items = entryItems(entries, this.#actions, this.#marks)
    if (items.length > 0) this.opened.value = { label, items, at }
  }
}

/** Shows the menu while it is open. */
export function OpenedMenu({ menu }: { menu: ListMenu }): VNode | null {
  const opened = menu.opened.value
  if (opened === null) return null
  return html`<${Menu} key=${opened} ...${opened} onClose=${() => menu.close()} />`
}
