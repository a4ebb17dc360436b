import assert from 'node:assert/strict'
import type { ChatDelta, ChatFinishReason, ChatRequest } from '../../contracts/ai.ts'
import { told } from '../failures.ts'
import { soon } from '../soon.ts'
import type { AiSubject, ReplyScene } from './subject.ts'

/** The pieces that a provider yielded for one chat. */
export interface Heard {
  readonly deltas: ChatDelta[]
  /** The error at the end, if any. */
  readonly failure?: { readonly thrown: unknown }
}

/** A reply from beginning to end. */
export function reply(text: readonly string[], rest: Partial<ReplyScene> = {}): ReplyScene {
  return { kind: 'reply', text, finish: 'stop', usage: { inputTokens: 11, outputTokens: 7 }, ...rest }
}

/** A short question for the server's first model. */
export function question({ models }: AiSubject, rest: Partial<ChatRequest> = {}): ChatRequest {
  const [model = ''] = models
  return { model, messages: [{ role: 'user', content: 'What is the capital of Peru?' }], ...rest }
}

/** Chats to the end, and checks each piece. */
export async function hear(
  subject: AiSubject,
  request: ChatRequest = question(subject),
  signal: AbortSignal = new AbortController().signal,
): Promise<Heard> {
  const deltas: ChatDelta[] = []
  const listen = async (): Promise<Heard> => {
    try {
      for await (const delta of subject.provider.chat(request, signal)) {
        assertDelta(delta, deltas)
        deltas.push(delta)
      }
      return { deltas }
    } catch (thrown) {
      if (thrown instanceof assert.AssertionError) throw thrown
      return { deltas, failure: { thrown } }
    }
  }
  return soon(listen(), 'the chat does not end')
}

/** Chats in the background. The caller awaits the result later, or fails earlier. */
export function hearMeanwhile(...chat: Parameters<typeof hear>): Promise<Heard> {
  const hearing = hear(...chat)
  hearing.catch(() => {})
  return hearing
}

/** Chats, and expects the reply to come to its end. */
export async function hearAll(subject: AiSubject, request?: ChatRequest): Promise<ChatDelta[]> {
  const { deltas, failure } = await hear(subject, request)
  if (failure !== undefined) {
    assert.fail(`a reply from beginning to end failed with ${told(failure.thrown)}`)
  }
  assert.equal(deltas.at(-1)?.type, 'finish', 'the last piece of a reply is "finish"')
  return deltas
}

/** Chats, and leaves the loop once at least this text has come. */
export async function leaveAfter(subject: AiSubject, text: string): Promise<void> {
  const controller = new AbortController()
  let heard = ''
  const listen = async () => {
    for await (const delta of subject.provider.chat(question(subject), controller.signal)) {
      if (delta.type === 'text') heard += delta.text
      if (heard.length >= text.length) break
    }
  }
  const left = soon(listen(), `the text "${text}" does not come, or the loop cannot be left`)
  await left.catch((error) => {
    controller.abort()
    throw error
  })
  assert.ok(heard.startsWith(text), `"${heard}" came instead of "${text}"`)
}

export function textOf(deltas: readonly ChatDelta[]): string {
  return deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')
}

const finishReasons: Readonly<Record<ChatFinishReason, true>> = {
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
}

/** Checks the form of one piece, because a provider may be written without types. */
function assertDelta(delta: ChatDelta, before: readonly ChatDelta[]): void {
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
