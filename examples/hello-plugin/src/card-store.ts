import { randomUUID } from 'node:crypto'
import type { Migration, StateStore } from '@nodekeep/plugin-sdk'

/** A greeting card. */
interface Card {
  /** The user who sent it. Cards that earlier versions stored have none, and expire. */
  readonly senderUuid?: string
  readonly from: string
  readonly to: string
  readonly text: string
}

const prefix = 'card/'
const dayMs = 24 * 60 * 60 * 1000

/** Stores cards in the plugin's state until they expire. */
export class CardStore {
  readonly #state: StateStore
  readonly #keepMs: number

  constructor(state: StateStore, keepDays: number) {
    this.#state = state
    this.#keepMs = keepDays * dayMs
  }

  async add(card: Card): Promise<string> {
    const id = randomUUID()
    await this.#state.set(prefix + id, card, this.#keepMs)
    return id
  }

  get(id: string): Promise<Card | undefined> {
    return this.#state.get<Card>(prefix + id)
  }

  /** Removes all cards of a user. */
  async removeOf(senderUuid: string, signal: AbortSignal): Promise<void> {
    for await (const [key, card] of this.#state.entries<Card>()) {
      signal.throwIfAborted()
      if (card.senderUuid === senderUuid) await this.#state.delete(key)
    }
  }

  /** Rejects when the store cannot be read. */
  async probe(): Promise<void> {
    await this.#state.has(prefix)
  }
}

/** The first version stored cards under their ids without a prefix, so other values had no names of their own. */
export const cardMigrations: readonly Migration[] = [
  {
    id: '1-cards-under-a-prefix',
    // The first version would not find its cards any more.
    change: 'contract',
    async up(state) {
      const cards: [id: string, card: Card][] = []
      for await (const [id, card] of state.entries<Card>()) cards.push([id, card])
      for (const [id, card] of cards) {
        await state.set(prefix + id, card)
        await state.delete(id)
      }
    },
  },
]
