/** Models that are told apart in a day. A client may name as many as it likes, so there is a limit. */
const mostModels = 200

/** The name of all further ones. */
const otherModels = '(others)'

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

/** What one user had of one model. */
export interface UsageRow {
  readonly provider: string
  readonly model: string
  /** Chats that reached the provider, with those that failed or were aborted. */
  readonly requests: number
  readonly failed: number
  /** Chats that were ended before the reply was whole. */
  readonly aborted: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Chats of which the tokens are estimated, at least in part. */
  readonly estimated: number
}

/** One chat, as it is counted. */
export interface ChatUsage {
  readonly provider: string
  readonly model: string
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly inputTokens: number
  readonly outputTokens: number
  readonly estimated: boolean
}

/** A sum of tokens. One that is no safe integer any more, from a provider that makes them up, stays at the greatest. */
export function sumOfTokens(...counts: readonly number[]): number {
  return Math.min(
    counts.reduce((sum, count) => sum + count, 0),
    Number.MAX_SAFE_INTEGER,
  )
}

/** Adds a chat to what there is. */
function withChat(row: UsageRow | undefined, chat: ChatUsage): UsageRow {
  const { provider, model, outcome } = chat
  return {
    provider,
    model,
    requests: (row?.requests ?? 0) + 1,
    failed: (row?.failed ?? 0) + Number(outcome === 'failed'),
    aborted: (row?.aborted ?? 0) + Number(outcome === 'aborted'),
    inputTokens: sumOfTokens(row?.inputTokens ?? 0, chat.inputTokens),
    outputTokens: sumOfTokens(row?.outputTokens ?? 0, chat.outputTokens),
    estimated: (row?.estimated ?? 0) + Number(chat.estimated),
  }
}
