import assert from 'node:assert/strict'
import type { ChatDelta } from '../../contracts/ai.ts'
import { until } from '../soon.ts'
import { assertEnded } from './assertions.ts'
import { hear, hearAll, hearMeanwhile, leaveAfter, question } from './chatting.ts'
import type { AiCheck, AiSubject, ModelScene } from './subject.ts'

const maxEndMs = 1000

export function endingChecks(check: AiCheck): void {
  check('an aborted chat ends before its first piece', async (subject) => {
    subject.server.play({ kind: 'silence' })
    await assertAborts(subject, () => subject.server.openChats() > 0)
  })

  check('an aborted chat ends in mid-reply', async (subject) => {
    const scene: ModelScene = { kind: 'stall', text: ['The', ' capital'] }
    subject.server.play(scene)
    await assertAborts(subject, (deltas) => deltas.some(({ type }) => type === 'text'))
  })

  check('a chat that was aborted before it began makes no request', async (subject) => {
    const signal = AbortSignal.abort()
    const { deltas, failure } = await hear(subject, question(subject), signal)
    assert.deepEqual(deltas, [])
    assert.ok(failure !== undefined, 'an aborted chat ends with an error')
    assertEnded(failure.thrown, signal)
    await hearAll(subject)
    assert.equal(subject.server.chats(), 1, 'only the second chat reached the server')
  })

  check('leaving the reply ends the chat at the server', async (subject) => {
    subject.server.play({ kind: 'stall', text: ['The', ' capital'] })
    await leaveAfter(subject, 'The')
    await assertClosed(subject)
  })

  check('leaving before the first piece ends the chat at the server', async (subject) => {
    subject.server.play({ kind: 'silence' })
    const { signal } = new AbortController()
    const deltas = subject.provider.chat(question(subject), signal)[Symbol.asyncIterator]()
    let ended = false
    const end = () => {
      ended = true
    }
    deltas.next().then(end, end)
    await until(() => ended || subject.server.openChats() > 0, 'the chat does not reach the server')
    assert.ok(!ended, 'a server that says nothing has no first piece')
    assert.ok(deltas.return !== undefined, 'a reply can be left: its iterator has "return"')
    // It is not awaited because it may resolve only when the wait for the piece does.
    Promise.resolve(deltas.return()).catch(() => {})
    await assertClosed(subject)
    await until(() => ended, 'the wait for the first piece goes on', maxEndMs)
  })

  check('the end of one chat does not end another', async (subject) => {
    subject.server.play({ kind: 'stall', text: ['The'] })
    const first = new AbortController()
    const second = new AbortController()
    const chats = [first, second].map(({ signal }) => hearMeanwhile(subject, question(subject), signal))
    await until(() => subject.server.openChats() === 2, 'two chats do not reach the server at once')
    first.abort()
    await chats[0]
    await until(() => subject.server.openChats() < 2, 'the server still writes after the reader left')
    assert.equal(subject.server.openChats(), 1, 'the other chat goes on')
    second.abort()
    await chats[1]
    await assertClosed(subject)
  })
}

/** Chats until something has happened, aborts, and expects the chat to be over on both sides. */
async function assertAborts(
  subject: AiSubject,
  happened: (deltas: readonly ChatDelta[]) => boolean,
): Promise<void> {
  const controller = new AbortController()
  const deltas: ChatDelta[] = []
  const chatting = (async () => {
    for await (const delta of subject.provider.chat(question(subject), controller.signal)) deltas.push(delta)
  })()
  let ended = false
  const outcome = chatting.then(
    () => null,
    (thrown: unknown) => ({ thrown }),
  )
  outcome.finally(() => {
    ended = true
  })
  await until(() => ended || happened(deltas), 'the chat does not begin')
  assert.ok(!ended, 'the chat ended before it was aborted')
  controller.abort()
  await until(() => ended, 'the chat goes on after it was aborted', maxEndMs)
  const failure = await outcome
  assert.ok(failure !== null, 'an aborted chat ends with an error, not as if it were complete')
  assertEnded(failure.thrown, controller.signal)
  await assertClosed(subject)
}

async function assertClosed({ server }: AiSubject): Promise<void> {
  await until(() => server.openChats() === 0, 'the server still writes after the reader left', maxEndMs)
}
