import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'

type Piece = Partial<ChatCompletionChunk.Choice.Delta.ToolCall>
/** As many as the `ai` feature lets through. Each piece is looked for among all of them. */
const mostCalls = 1000

type ToolCallDelta = Extract<ChatDelta, { type: 'tool_call' }>

/**
 * Puts the pieces of tool calls in order. By OpenAI's form a call is known by its index, and its first piece has id and
 * name. Other servers leave out the index or the id, count all calls as 0, or repeat id and name.
 */
export class ToolCalls {
  readonly #calls: { readonly index: unknown; readonly id: string }[] = []

  /** How many calls have begun. */
  get count(): number {
    return this.#calls.length
  }

  /** @throws Error when a call has no name, or there are too many */
  read(piece: Piece): ToolCallDelta {
    const { index, id = '', function: { name, arguments: text } = {} } = piece
    const known = this.#calls.findLastIndex(
      (call) => (index === undefined || call.index === index) && (!id || call.id === id),
    )
    const args = text ? { arguments: typeof text === 'string' ? text : JSON.stringify(text) } : {}
    if (known >= 0) return { type: 'tool_call', index: known, ...args }
    if (typeof name !== 'string' || name === '') throw new Error('A tool call of the reply has no name.')
    if (this.count >= mostCalls) throw new Error(`The reply has more than ${mostCalls} tool calls.`)
    const call = { index, id: id || `call_${this.count}` }
    this.#calls.push(call)
    return { type: 'tool_call', index: this.count - 1, id: call.id, name, ...args }
  }
}
