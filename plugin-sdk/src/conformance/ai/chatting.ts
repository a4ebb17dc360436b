import assert from 'node:assert/strict'
import type { ChatDelta, ChatRequest } from '../../contracts/ai.ts'
import { soon } from '../soon.ts'
import { assertDelta } from './deltas.ts'
import type { ModelScene } from './model-server.ts'
import type { AiSubject } from './subject.ts'

/** A scene that is a reply from beginning to end. */
export type ReplyScene = Extract<ModelScene, { kind: 'reply' }>

/** What a provider yielded for one chat. */
export interface Heard {
  readonly deltas: ChatDelta[]
  /** What it threw at the end, if it did. */
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

/** Chats to the end, whatever that is, and looks at each piece. */
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

/** Chats in the background. Who starts it waits for it later, and may fail before. */
export function hearMeanwhile(...chat: Parameters<typeof hear>): Promise<Heard> {
  const hearing = hear(...chat)
  hearing.catch(() => {})
  return hearing
}

/** Chats, and expects the reply to come to its end. */
export async function hearAll(subject: AiSubject, request?: ChatRequest): Promise<ChatDelta[]> {
  const { deltas, failure } = await hear(subject, request)
  if (failure !== undefined) {
    assert.fail(`a reply from beginning to end failed with ${String(failure.thrown)}`)
  }
  assert.equal(deltas.at(-1)?.type, 'finish', 'the last piece of a reply is "finish"')
  return deltas
}

/** Chats, and leaves the loop as soon as at least this text is there. */
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
