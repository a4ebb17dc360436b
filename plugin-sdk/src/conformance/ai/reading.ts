import assert from 'node:assert/strict'
import { soon } from '../soon.ts'
import { question, reply } from './chatting.ts'
import type { AiCheck, AiSubject } from './subject.ts'
import { until } from './until.ts'

/** 32 MiB, of which systems keep some on the way, for a connection that nobody reads from. */
const longText: readonly string[] = Array(512).fill('Lima is the capital of Peru. ok '.repeat(2048))

/** Only who reads nothing more comes near it. */
const longestReadMs = 60_000

export function readingChecks(check: AiCheck): void {
  check('of a reply that nobody reads on, the server keeps the rest', async (subject) => {
    const { server } = subject
    server.play(reply(longText))
    const unread = begin(subject)
    try {
      await soon(unread.next(), 'a long reply does not begin')
      // Who reads ahead has taken the first reply, too, by the time that the second is read.
      await readAll(begin(subject))
      await until(() => server.openChats() < 2, 'a chat that has ended is still open')
      assert.equal(server.openChats(), 1, 'no more is taken from the server than is asked for')
    } finally {
      await unread.return?.()
    }
    await until(() => server.openChats() === 0, 'the server still writes to somebody who has gone')
  })
}

function begin(subject: AiSubject) {
  return subject.provider.chat(question(subject), new AbortController().signal)[Symbol.asyncIterator]()
}

async function readAll(deltas: ReturnType<typeof begin>): Promise<void> {
  let hasEnded = false
  let failure: unknown
  const read = async () => {
    while ((await deltas.next()).done !== true);
  }
  const end = (thrown?: unknown) => {
    hasEnded = true
    failure = thrown
  }
  read().then(() => end(), end)
  await until(() => hasEnded, 'a long reply does not end', longestReadMs)
  assert.equal(failure, undefined, `a long reply failed with ${failure}`)
}
