import type Anthropic from '@anthropic-ai/sdk'
import type { ChatDelta } from '@nodekeep/plugin-sdk'

/** A call that has begun, and its arguments while no text of them has come. */
interface Call {
  readonly index: number
  input: unknown
}

/** The calls of a reply, by the blocks that they come in. */
export class ToolCalls {
  readonly #calls = new Map<number, Call>()

  begin(block: number, { id, name, input }: Anthropic.ToolUseBlock): ChatDelta {
    const index = this.#calls.size
    this.#calls.set(block, { index, input: input || {} })
    return { type: 'tool_call', index, id, name }
  }

  *go(block: number, text: string): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call === undefined || text === '') return
    call.input = undefined
    yield { type: 'tool_call', index: call.index, arguments: text }
  }

  /** Without any text, the arguments are those that the block began with: none, or all of a gateway's. */
  *end(block: number): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call?.input === undefined) return
    yield { type: 'tool_call', index: call.index, arguments: JSON.stringify(call.input) }
  }
}
