import type Anthropic from '@anthropic-ai/sdk'
import type { ChatDelta } from '@nodekeep/plugin-sdk'

/** The calls of a reply, by the blocks that they come in. */
export class ToolCalls {
  readonly #calls = new Map<number, { readonly index: number; silent: boolean }>()

  begin(block: number, { id, name }: Anthropic.ToolUseBlock): ChatDelta {
    const index = this.#calls.size
    this.#calls.set(block, { index, silent: true })
    return { type: 'tool_call', index, id, name }
  }

  *go(block: number, text: string): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call === undefined || text === '') return
    call.silent = false
    yield { type: 'tool_call', index: call.index, arguments: text }
  }

  /** A tool without arguments is called without any JSON. */
  *end(block: number): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call?.silent) yield { type: 'tool_call', index: call.index, arguments: '{}' }
  }
}
