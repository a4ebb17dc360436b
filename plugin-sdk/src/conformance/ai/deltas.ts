import assert from 'node:assert/strict'
import type { ChatDelta, ChatFinishReason } from '../../contracts/ai.ts'

const finishReasons: Readonly<Record<ChatFinishReason, true>> = {
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
}

/** Checks the form of one piece, as it came: a provider may be written without types. */
export function assertDelta(delta: ChatDelta, before: readonly ChatDelta[]): void {
  const shown = JSON.stringify(delta)
  assert.notEqual(before.at(-1)?.type, 'finish', `${shown} came after "finish"`)
  switch (delta.type) {
    case 'text':
    case 'reasoning':
      assert.equal(typeof delta.text, 'string', `${shown} has a text`)
      return
    case 'usage':
      for (const tokens of [delta.inputTokens, delta.outputTokens]) {
        assert.ok(Number.isSafeInteger(tokens) && tokens >= 0, `${shown} counts whole tokens`)
      }
      return
    case 'finish':
      assert.ok(Object.hasOwn(finishReasons, delta.reason), `${shown} has one of the known reasons`)
      return
    case 'tool_call':
      assertToolCall(delta, before, shown)
      return
  }
  assert.fail(`${shown} is no piece of a reply`)
}

function assertToolCall(
  delta: Extract<ChatDelta, { type: 'tool_call' }>,
  before: readonly ChatDelta[],
  shown: string,
): void {
  const begun = new Set(before.map((earlier) => (earlier.type === 'tool_call' ? earlier.index : -1)))
  begun.delete(-1)
  assert.ok(begun.has(delta.index) || delta.index === begun.size, `the calls of ${shown} are counted from 0`)
  for (const part of ['id', 'name', 'arguments'] as const) {
    if (delta[part] !== undefined) assert.equal(typeof delta[part], 'string', `${shown}: ${part} is a text`)
  }
  if (begun.has(delta.index)) return
  assert.ok(delta.id && delta.name, `${shown}, the first piece of a call, has its id and name`)
}
