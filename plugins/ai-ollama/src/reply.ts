import { randomUUID } from 'node:crypto'
import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'
import type { ChatResponse, ToolCall } from 'ollama/browser'

/** A piece of a reply. Any field may be missing. */
type Piece = Partial<ChatResponse>

/**
 * Reads the pieces of a reply up to the piece with `done`. A piece that adds nothing becomes an empty text.
 *
 * @throws Error if the pieces end before
 */
export async function* readReply(pieces: AsyncIterable<Piece>): AsyncGenerator<ChatDelta> {
  let calls = 0
  let finished = false
  for await (const piece of pieces) {
    const { content, thinking, tool_calls: called } = piece.message ?? {}
    if (thinking) yield { type: 'reasoning', text: thinking }
    if (content || !(thinking || called || piece.done)) yield { type: 'text', text: content ?? '' }
    for (const call of called ?? []) {
      yield readCall(call, calls)
      calls += 1
    }
    if (piece.done !== true) continue
    yield* readUsage(piece)
    finished = true
    yield { type: 'finish', reason: finishReason(piece.done_reason, calls > 0) }
  }
  if (!finished) throw new Error('The reply ended without "done".')
}

/** A call comes in one piece. Servers before version 0.12.10 give it no id. */
function readCall(
  { id, function: { name, arguments: args } }: ToolCall & { id?: string },
  index: number,
): ChatDelta {
  return {
    type: 'tool_call',
    index,
    id: id || `call_${randomUUID()}`,
    name,
    // Other servers with this protocol send JSON text.
    arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  }
}

/** The protocol leaves out a count of 0. If a count is not valid, both are ignored. */
function* readUsage({ prompt_eval_count: input, eval_count: output }: Piece): Iterable<ChatDelta> {
  if ((input ?? output ?? null) === null) return
  const [inputTokens, outputTokens] = [input ?? 0, output ?? 0]
  if (isCount(inputTokens) && isCount(outputTokens)) yield { type: 'usage', inputTokens, outputTokens }
}

function isCount(tokens: number): boolean {
  return Number.isSafeInteger(tokens) && tokens >= 0
}

function finishReason(reason: string | undefined, hasCalls: boolean): ChatFinishReason {
  if (reason === 'length') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}
