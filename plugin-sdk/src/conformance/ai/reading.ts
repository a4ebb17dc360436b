import assert from 'node:assert/strict'
import type { ChatDelta } from '../../contracts/ai.ts'
import { until } from '../soon.ts'
import { question, reply } from './chatting.ts'
import type { AiCheck, AiSubject } from './subject.ts'

/** A text of 32 MiB, more than the buffers of a connection that nobody reads hold. */
const longText: readonly string[] = Array(512).fill('Lima is the capital of Peru. ok '.repeat(2048))

/** Longest time for the server to write all of it, in milliseconds. */
const maxReadMs = 60_000

export function readingChecks(check: AiCheck): void {
  check('the rest of a reply that is not read stays at the server', async (subject) => {
    const { server } = subject
    server.play(reply(longText))
    const unread = begin(subject)
    try {
      await outcome(unread.next(), 'a long reply does not begin')
      // A provider that reads ahead has taken the first reply by the time the second is read.
      await outcome(readAll(begin(subject)), 'a long reply does not end')
      await until(() => server.openChats() < 2, 'a chat that has ended is still open')
      assert.equal(server.openChats(), 1, 'no more is taken from the server than is requested')
    } finally {
      await unread.return?.()
    }
    await until(() => server.openChats() === 0, 'the server still writes after the reader left')
  })
}

function begin(subject: AiSubject): AsyncIterator<ChatDelta> {
  return subject.provider.chat(question(subject), new AbortController().signal)[Symbol.asyncIterator]()
}

async function readAll(deltas: AsyncIterator<ChatDelta>): Promise<void> {
  while ((await deltas.next()).done !== true);
}

/** Waits for a promise that may take a while, and fails as it does. */
async function outcome(awaited: Promise<unknown>, otherwise: string): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  awaited.then(end, end)
  await until(() => ended, otherwise, maxReadMs)
  await awaited
}
