import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import { icon } from './icon.ts'
import { Dialog } from './questions.ts'
import { request } from './request.ts'
import { shownName } from './shown-name.ts'
import * as texts from './texts.ts'

type Entry = NodeAnswers['GET /readdir'][number]

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** A dialog in which the person chooses one of their files. */
export class FileChooser {
  readonly #page: PageContext
  readonly #title: string
  readonly #ending: string
  readonly #folder = signal('/')
  /** `null` until the node has answered. */
  readonly #entries = signal<readonly Entry[] | null>(null)
  readonly #fault = signal('')
  readonly #asked = signal<((path: string | null) => void) | null>(null)

  /** @param ending the end of the names that can be chosen, such as `.wasm`; by default all can be */
  constructor(page: PageContext, title: string, ending = '') {
    this.#page = page
    this.#title = title
    this.#ending = ending
  }

  /** Opens the dialog. Resolves to the path of the file, or to `null` if the person cancels. */
  choose(): Promise<string | null> {
    this.#asked.value?.(null)
    void this.#open(this.#folder.value)
    return new Promise((resolve) => {
      this.#asked.value = (path) => {
        this.#asked.value = null
        resolve(path)
      }
    })
  }

  /** The dialog, while it is open. */
  readonly View = (): VNode | null => {
    const list = useRef<HTMLUListElement>(null)
    const answer = this.#asked.value
    const folder = this.#folder.value
    const entries = this.#entries.value
    useLayoutEffect(() => {
      // The button of the folder that was opened is gone.
      const hasFocus = document.activeElement?.closest('dialog') !== null
      if (entries !== null && !hasFocus) list.current?.querySelector('button')?.focus()
    }, [entries])
    if (answer === null) return null
    const pathOf = (name: string) => `${folder === '/' ? '' : folder}/${name}`
    const choose = ({ name, type }: Entry) =>
      type === 'directory' ? this.#open(pathOf(name)) : answer(pathOf(name))
    const up = () => this.#open(folder.slice(0, folder.lastIndexOf('/')) || '/')
    return html`<${Dialog} title=${this.#title} onClose=${() => answer(null)}>
      <p>${texts.chooser.folder(folder)}</p>
      <p class="fault" role="alert">${this.#fault.value}</p>
      <ul class="chooser" ref=${list}>
        ${folder !== '/' && html`<li><button type="button" class="quiet" onClick=${up}>${icon('folder-up')}${texts.chooser.up}</button></li>`}
        ${entries?.map(
          (entry) => html`<li key=${entry.name}>
            <button type="button" class="quiet" onClick=${() => choose(entry)}>
              ${icon(entry.type === 'directory' ? 'folder' : 'file')}<bdi>${shownName(entry.name)}</bdi>
            </button>
          </li>`,
        )}
      </ul>
      ${entries?.length === 0 && html`<p class="hint">${texts.chooser.empty(this.#ending)}</p>`}
      <p class="buttons"><button type="button" onClick=${() => answer(null)}>${texts.cancel}</button></p>
    <//>`
  }

  async #open(folder: string): Promise<void> {
    this.#folder.value = folder
    this.#entries.value = null
    this.#fault.value = ''
    try {
      const entries = await this.#list(folder)
      if (this.#folder.value === folder) this.#entries.value = entries
    } catch (error) {
      this.#fault.value = (error as Error).message
    }
  }

  async #list(folder: string): Promise<Entry[]> {
    const { signal } = this.#page
    const entries = await request(this.#page, 'GET /readdir', { query: { path: folder }, signal })
    return entries
      .filter(({ name, type }) => type === 'directory' || name.endsWith(this.#ending))
      .sort((a, b) => a.type.localeCompare(b.type) || byName.compare(a.name, b.name))
  }
}
