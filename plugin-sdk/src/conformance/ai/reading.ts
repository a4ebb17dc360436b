import assert from 'node:assert/strict'
import type { ChatDelta } from '../../contracts/ai.ts'
import { until } from '../soon.ts'
import { question, reply } from './chatting.ts'
import type { AiCheck, AiSubject } from './subject.ts'

/** 32 MiB, of which systems keep some on the way, for a connection that nobody reads from. */
const longText: readonly string[] = Array(512).fill('Lima is the capital of Peru. ok '.repeat(2048))

/** Longest wait for the server to write all of it. Only who never gets it comes near this. */
const longestReadMs = 60_000

export function readingChecks(check: AiCheck): void {
  check('of a reply that nobody reads on, the server keeps the rest', async (subject) => {
    const { server } = subject
    server.play(reply(longText))
    const unread = begin(subject)
    try {
      await outcome(unread.next(), 'a long reply does not begin')
      // Who reads ahead has taken the first reply, too, by the time that the second is read.
      await outcome(readAll(begin(subject)), 'a long reply does not end')
      await until(() => server.openChats() < 2, 'a chat that has ended is still open')
      assert.equal(server.openChats(), 1, 'no more is taken from the server than is asked for')
    } finally {
      await unread.return?.()
    }
    await until(() => server.openChats() === 0, 'the server still writes to somebody who has gone')
  })
}

function begin(subject: AiSubject): AsyncIterator<ChatDelta> {
  return subject.provider.chat(question(subject), new AbortController().signal)[Symbol.asyncIterator]()
}

async function readAll(deltas: AsyncIterator<ChatDelta>): Promise<void> {
  while ((await deltas.next()).done !== true);
}

/** Waits for what may take a while, and fails as it does. */
async function outcome(awaited: Promise<unknown>, otherwise: string): Promise<void> {
  let hasSettled = false
  const settle = () => {
    hasSettled = true
  }
  awaited.then(settle, settle)
  await until(() => hasSettled, otherwise, longestReadMs)
  await awaited
}
