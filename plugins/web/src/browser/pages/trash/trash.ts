import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { accepted } from '../../refusal.ts'
import { reasonOf, request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { LastChange, undoHeader } from '../files/last-change.ts'

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
  /** For the next page; `null` after the last one. */
  readonly cursor = signal<string | null>(null)
  /** The reason why there are no items; empty if nothing is wrong. */
  readonly fault = signal('')
  /** The last restore. */
  readonly lastChange: LastChange
  readonly #page: PageContext

  constructor(page: PageContext) {
    this.#page = page
    this.lastChange = new LastChange(page)
    this.lastChange.onTakenBack = () => void this.open()
  }

  /** Loads the first page. */
  async open(): Promise<void> {
    try {
      const { items, cursor } = await this.#load(shownItems, null)
      this.items.value = items
      this.cursor.value = cursor
      this.fault.value = ''
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
    this.items.value = [...(this.items.value ?? []), ...items]
    this.cursor.value = cursor
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

  /**
   * Puts an item back, and offers to take that back.
   *
   * @param destination another path than the former one
   */
  async restore(item: TrashItem, destination?: string): Promise<void> {
    const answer = await this.#take(item, '/api/files/trash/restore', destination)
    const { path } = (await answer.json()) as NodeAnswers['POST /api/files/trash/restore']
    this.lastChange.tell(texts.trash.restored(shownName(path)), answer.headers.get(undoHeader))
  }

  /** Deletes an item for good. */
  async delete(item: TrashItem): Promise<void> {
    await this.#take(item, '/api/files/trash/delete')
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

  /** Takes an item out of the trash. It leaves the list, also if another device was faster. */
  async #take({ id }: TrashItem, route: string, destination?: string): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ id, destination })
    const answer = await this.#page.fetch(route, { method: 'POST', headers, body })
    if (answer.ok || answer.status === 404)
      this.items.value = this.items.value?.filter((item) => item.id !== id) ?? null
    return accepted(answer)
  }

  #load(limit: number, cursor: string | null): Promise<TrashPage> {
    const query = { limit: String(limit), ...(cursor !== null && { cursor }) }
    return request(this.#page, 'GET /api/files/trash', { query, signal: this.#page.signal })
  }
}
