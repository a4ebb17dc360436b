import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { Menu, type MenuItem, type MenuPlace } from '../../menu.ts'
import { texts } from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'
import type { Folder } from './folder.ts'
import type { EntryMarks } from './marked-entries.ts'
import { folderItems, selectionItems } from './menu-items.ts'

interface Opened {
  readonly label: string
  readonly items: readonly (MenuItem | null)[]
  readonly at: MenuPlace
}

/** The menu of the entries: of those that are selected, or of the folder that is shown. */
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
    const selected = this.#folder.selection.entries.value
    const items = selectionItems(selected, this.#actions, this.#marks)
    if (items.length > 0) this.opened.value = { label: texts.files.selection, items, at }
  }

  /** Opens the menu of the folder. */
  ofFolder(at: MenuPlace): void {
    this.opened.value = { label: texts.files.title, items: folderItems(this.#folder, this.#actions), at }
  }

  close(): void {
    this.opened.value = null
  }
}

/** Shows the menu while it is open. */
export function OpenedMenu({ menu }: { menu: ListMenu }): VNode | null {
  const opened = menu.opened.value
  if (opened === null) return null
  return html`<${Menu} key=${opened} ...${opened} onClose=${() => menu.close()} />`
}
