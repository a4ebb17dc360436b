import type { ReplyDelta } from '@nodekeep/plugin-sdk'

/** Which tool calls of a reply have begun: without id and name, nobody could answer one. */
export class ToolCallOrder {
  readonly #begun = new Set<number>()

  /** Whether a piece goes on with a call, or begins one as the contract says. */
  fits({ index, id = '', name = '' }: Extract<ReplyDelta, { type: 'tool_call' }>): boolean {
    if (this.#begun.has(index)) return true
    if (id === '' || name === '') return false
    this.#begun.add(index)
    return true
  }
}
