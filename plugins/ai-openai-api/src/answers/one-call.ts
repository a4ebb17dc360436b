import type { ChatReply, ReplyDelta } from '@nodekeep/plugin-sdk'

/**
 * The same reply with its first tool call only, for clients that want one at a time: not every provider has a server
 * that can be told. The model asks for the other ones again when it has the answer to the first.
 */
export function withOneCall(reply: ChatReply): ChatReply {
  return { ...reply, deltas: oneCall(reply.deltas) }
}

async function* oneCall(deltas: AsyncIterable<ReplyDelta>): AsyncGenerator<ReplyDelta> {
  let first: number | undefined
  for await (const delta of deltas) {
    if (delta.type !== 'tool_call') yield delta
    else {
      first ??= delta.index
      // Clients keep a place for each call up to the highest index.
      if (delta.index === first) yield { ...delta, index: 0 }
    }
  }
}
