import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { reasonOf, request } from '../../request.ts'
import { Selection } from '../files/selection.ts'

type TrashPage = NodeAnswers['GET /api/files/trash']
/** A deleted file, or a deleted folder with all that was in it. */
export type TrashItem = TrashPage['items'][number]

/** Items of a page that is shown. */
const shownItems = 100

/** Items of a page that is only counted: the most that the node gives. */
const countedItems = 1000

/** The deleted entries of the person, newest first, in pages. */
export class Trash {
  /** The items of the pages that were loaded; `null` until the node has answered. */
  readonly items = signal<readonly TrashItem[] | null>(null)
  readonly selection = new Selection<TrashItem>(this.items, ({ id }) => id)
  /** For the next page; `null` after the last one. */
  readonly cursor = signal<string | null>(null)
  /** The reason why there are no items; empty if nothing is wrong. */
  readonly fault = signal('')
  /** Days for which items stay; `null` until the node has answered. */
  readonly days = signal<number | null>(null)
  readonly #page: PageContext

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Loads the first page. */
  async open(): Promise<void> {
    try {
      const { items, cursor, days } = await this.#load(shownItems, null)
      this.cursor.value = cursor
      this.days.value = days
      this.fault.value = ''
      this.#show(items)
    } catch (error) {
      if (!this.#page.signal.aborted) this.fault.value = reasonOf(error)
    }
  }

  /**
   * Loads the next page.
   *
   * @throws Refusal; TypeError if the node does not answer
   */
  async more(): Promise<void> {
    const { items, cursor } = await this.#load(shownItems, this.cursor.value)
    this.cursor.value = cursor
    this.#show([...(this.items.value ?? []), ...items])
  }

  /** Counts all items and their bytes, also those of pages that are not loaded. */
  async count(): Promise<{ readonly items: number; readonly bytes: number }> {
    const sum = { items: 0, bytes: 0 }
    let next: string | null = null
    do {
      const { items, cursor }: TrashPage = await this.#load(countedItems, next)
      sum.items += items.length
      sum.bytes += items.reduce((bytes, { size }) => bytes + size, 0)
      next = cursor
    } while (next !== null)
    return sum
  }

  /** Deletes all items for good. */
  async empty(): Promise<void> {
    try {
      await request(this.#page, 'POST /api/files/trash/empty')
    } finally {
      // Some may be left.
      await this.open()
    }
  }

  /** Takes an item out of the list, since it is not in the trash any more. */
  forget(gone: TrashItem): void {
    if (this.items.value === null) return
    this.#show(this.items.value.filter(({ id }) => id !== gone.id))
    if (this.items.value.length === 0 && this.cursor.value !== null) void this.open()
  }

  #show(items: readonly TrashItem[]): void {
    const before = this.items.value ?? []
    this.items.value = items
    this.selection.keepFocus(before)
  }

  #load(limit: number, cursor: string | null): Promise<TrashPage> {
    const query = { limit: String(limit), ...(cursor !== null && { cursor }) }
    return request(this.#page, 'GET /api/files/trash', { query, signal: this.#page.signal })
  }
}
