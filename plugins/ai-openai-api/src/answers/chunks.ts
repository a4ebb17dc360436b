import type { ChatReply, ReplyDelta } from '@nodekeep/plugin-sdk'
import { replyHead, wireUsage } from './reply-head.ts'

/** Writes the pieces of one reply as `chat.completion.chunk` objects. */
export class Chunks {
  readonly #head: string
  readonly #includesUsage: boolean

  constructor(reply: ChatReply, includesUsage: boolean) {
    const head = JSON.stringify({ ...replyHead(reply), object: 'chat.completion.chunk' })
    this.#head = head.slice(0, -1)
    this.#includesUsage = includesUsage
  }

  /** The chunk that begins every reply. */
  first(): string {
    return this.#choice('{"role":"assistant","content":""}')
  }

  /** The chunk of a piece; `null` for one that nobody asked for. */
  of(delta: ReplyDelta): string | null {
    switch (delta.type) {
      case 'text':
        return this.#choice(`{"content":${JSON.stringify(delta.text)}}`)
      case 'tool_call':
        return this.#choice(JSON.stringify({ tool_calls: [wireToolCall(delta)] }))
      case 'finish':
        return this.#choice('{}', `"${delta.reason}"`)
      case 'usage':
        return null
    }
  }

  /** The chunk after the last piece that tells the usage; `null` when it was not asked for. */
  usage(usage: (ReplyDelta & { type: 'usage' }) | null): string | null {
    if (!this.#includesUsage || usage === null) return null
    return `${this.#head},"choices":[],"usage":${JSON.stringify(wireUsage(usage))}}`
  }

  #choice(delta: string, finish = 'null'): string {
    const usage = this.#includesUsage ? ',"usage":null' : ''
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}`
    return `${this.#head},"choices":[${choice}]${usage}}`
  }
}

function wireToolCall({ index, id, name, arguments: text }: ReplyDelta & { type: 'tool_call' }) {
  const call = { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) }
  return { index, ...(id === undefined ? {} : { id, type: 'function' }), function: call }
}
