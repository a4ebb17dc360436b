/** Models that are counted separately in a day. A client may name any number of models. */
const maxModels = 200

/** The name under which all further models are counted. */
const otherModels = '(others)'

/** The usage of one user on one day. */
export class DayUsage {
  readonly key: string
  readonly #rows: Map<string, UsageRow>
  readonly #onChange: () => void
  #tokens: number
  /** Running chats that will count here. */
  open = 0
  /** Whether there are changes that are not stored yet. */
  changed = false

  constructor(key: string, rows: readonly UsageRow[], onChange: () => void) {
    this.key = key
    this.#rows = new Map(rows.map((row) => [rowKey(row), row]))
    this.#onChange = onChange
    this.#tokens = sumOfTokens(
      ...rows.flatMap(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]),
    )
  }

  /** Tokens read and written, over all models. */
  get tokens(): number {
    return this.#tokens
  }

  get rows(): UsageRow[] {
    return [...this.#rows.values()]
  }

  add(chat: ChatUsage): void {
    const full = this.#rows.size >= maxModels && !this.#rows.has(rowKey(chat))
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

/** The usage of one model. */
export interface UsageRow {
  readonly provider: string
  readonly model: string
  /** Chats, including those that failed or were aborted. */
  readonly requests: number
  readonly failed: number
  /** Chats that were ended before their reply was complete. */
  readonly aborted: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Chats whose tokens are estimated, at least in part. */
  readonly estimated: number
}

/** The usage of one chat. */
export interface ChatUsage {
  readonly provider: string
  readonly model: string
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly inputTokens: number
  readonly outputTokens: number
  readonly estimated: boolean
}

/** Adds tokens, up to the greatest safe integer: a faulty provider may count any number. */
export function sumOfTokens(...counts: readonly number[]): number {
  return Math.min(
    counts.reduce((sum, count) => sum + count, 0),
    Number.MAX_SAFE_INTEGER,
  )
}

/** Adds a chat to the usage of its model. Fields of a newer version stay. */
function withChat(row: UsageRow | undefined, chat: ChatUsage): UsageRow {
  const { provider, model, outcome } = chat
  return {
    ...row,
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
