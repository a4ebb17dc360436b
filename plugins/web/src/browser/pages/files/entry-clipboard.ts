import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { isForPage } from '../../page-keys.ts'
import type { Dropped } from './dropped-files.ts'

/** The type of entries in the clipboard. Browsers keep it for themselves, so other programs get the paths as text. */
const ownType = 'application/x-nodekeep-entries'

interface CopiedEntries {
  /** The person whose entries these are. */
  readonly user: string
  readonly paths: readonly string[]
  readonly isCut: boolean
}

interface ClipboardActions {
  /** The paths of the entries that the keys of the clipboard are about, empty for none. */
  selected(): readonly string[]
  pasteFiles(files: readonly Dropped[]): void
  pasteEntries(paths: readonly string[], how: 'move' | 'copy'): void
}

/** The entries and files that a person copies, cuts and pastes with the keys of the clipboard. */
export class EntryClipboard {
  /** The paths of the entries that were cut and not pasted yet. */
  readonly cut = signal<ReadonlySet<string>>(new Set())
  readonly #page: PageContext
  readonly #actions: ClipboardActions

  constructor(page: PageContext, actions: ClipboardActions) {
    this.#page = page
    this.#actions = actions
    const { signal } = page
    addEventListener('copy', (event) => this.#take(event, false), { signal })
    addEventListener('cut', (event) => this.#take(event, true), { signal })
    addEventListener('paste', (event) => this.#paste(event), { signal })
  }

  #take(event: ClipboardEvent, isCut: boolean): void {
    const paths = this.#actions.selected()
    // A person may copy text of the page as anywhere.
    const isText = getSelection()?.isCollapsed === false
    if (!isForPage(event) || isText || paths.length === 0 || event.clipboardData === null) return
    const copied: CopiedEntries = { user: this.#page.user.uuid, paths, isCut }
    event.clipboardData.setData(ownType, JSON.stringify(copied))
    event.clipboardData.setData('text/plain', paths.join('\n'))
    event.preventDefault()
    this.cut.value = new Set(isCut ? paths : [])
  }

  #paste(event: ClipboardEvent): void {
    const data = event.clipboardData
    if (!isForPage(event) || data === null) return
    const files = [...data.files]
    const entries = files.length === 0 ? this.#entriesIn(data.getData(ownType)) : null
    if (entries !== null) {
      this.cut.value = new Set()
      this.#actions.pasteEntries(entries.paths, entries.isCut ? 'move' : 'copy')
    } else if (files.length > 0)
      this.#actions.pasteFiles(files.map((content) => ({ path: pastedName(content), content })))
    else return
    event.preventDefault()
  }

  /** Returns the entries that were copied, `null` if there are none, or if they are of somebody else. */
  #entriesIn(text: string): CopiedEntries | null {
    if (text === '') return null
    const copied = JSON.parse(text) as CopiedEntries
    return copied.user === this.#page.user.uuid ? copied : null
  }
}

/** Browsers name every picture of the clipboard alike. It gets the time as its name, such as `Pasted 2026-11-29 10.15.30.png`. */
function pastedName({ name }: File): string {
  const unnamed = /^image(\.\w+)$/.exec(name)
  if (unnamed === null) return name
  const now = new Date()
  const two = (part: number) => String(part).padStart(2, '0')
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-')
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('.')
  return `Pasted ${date} ${time}${unnamed[1]}`
}
