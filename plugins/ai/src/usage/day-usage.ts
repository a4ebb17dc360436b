import { type ChatUsage, sumOfTokens, type UsageRow, withChat } from './usage-row.ts'

/** Models that are told apart in a day. A client may name as many as it likes, so there is a limit. */
const mostModels = 200

/** The name of all further ones. */
export const otherModels = '(others)'

/** What one user used on one day. */
export class DayUsage {
  readonly key: string
  readonly #rows: Map<string, UsageRow>
  readonly #onChange: () => void
  #tokens: number
  /** Chats that are still to be counted here. */
  open = 0
  /** Whether something was added that is not stored yet. */
  changed = false

  constructor(key: string, rows: readonly UsageRow[], onChange: () => void) {
    this.key = key
    this.#rows = new Map(rows.map((row) => [rowKey(row), row]))
    this.#onChange = onChange
    this.#tokens = sumOfTokens(
      ...rows.flatMap(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]),
    )
  }

  /** Read and written, of all models. */
  get tokens(): number {
    return this.#tokens
  }

  get rows(): UsageRow[] {
    return [...this.#rows.values()]
  }

  add(chat: ChatUsage): void {
    const full = this.#rows.size >= mostModels && !this.#rows.has(rowKey(chat))
    const counted = full ? { ...chat, model: otherModels } : chat
    this.#rows.set(rowKey(counted), withChat(this.#rows.get(rowKey(counted)), counted))
    this.#tokens = sumOfTokens(this.#tokens, chat.inputTokens, chat.outputTokens)
    this.changed = true
    this.#onChange()
  }
}

function rowKey({ provider, model }: { readonly provider: string; readonly model: string }): string {
  return `${provider}/${model}`
}
