import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { ErrorCode } from '../../errors.ts'
import { type Elsewhere, startElsewhere } from '../elsewhere.ts'
import { assertBrokenOff, assertFailed, assertUpstream } from './assertions.ts'
import { hear, hearAll, reply, textOf } from './chatting.ts'
import { failureOfModels, noModels } from './models.ts'
import { type AiCheck, type AiSubject, lacking, lacks } from './subject.ts'

/** The error codes of HTTP statuses, and whether a retry is useless. */
const statuses: readonly [status: number, codes: readonly ErrorCode[], permanent: boolean][] = [
  [400, ['VALIDATION_ERROR'], true],
  [401, ['UPSTREAM_ERROR'], true],
  [404, ['NOT_FOUND'], true],
  [429, ['TOO_MANY_REQUESTS'], false],
  [500, ['UPSTREAM_ERROR'], false],
  [503, ['UPSTREAM_ERROR', 'SERVICE_UNAVAILABLE'], false],
]

export function failureChecks(check: AiCheck): void {
  for (const [status, codes, permanent] of statuses) {
    check(`status ${status} becomes ${codes.join(' or ')}, after one request`, async (subject) => {
      subject.server.play({ kind: 'status', status })
      const { deltas, failure } = await hear(subject)
      assert.ok(failure !== undefined, 'a refused chat is an error')
      const error = assertFailed(failure.thrown, codes, subject)
      assert.equal(error.permanent, permanent, `${error.code} is ${permanent ? '' : 'not '}permanent`)
      assert.equal(error.headers['retry-after'], undefined, 'nobody said when to try again')
      assert.deepEqual(deltas, [])
      assert.equal(subject.server.chats(), 1, 'a provider does not retry')
      assert.equal(subject.server.openChats(), 0)
    })
  }

  check('the key arrives, and no error contains it', async (subject, skip) => {
    const { key, server } = subject
    if (key === undefined) return skip('The provider sends no key ("key").')
    await hearAll(subject)
    assert.ok(server.sent?.(key), 'the server gets the key, and its "sent" tells so')
    for (const [status, codes] of statuses) {
      server.play({ kind: 'status', status })
      const { failure } = await hear(subject)
      const { cause } = assertFailed(failure?.thrown, codes, subject)
      assert.ok(
        !inspect(cause, { depth: 5 }).includes(key),
        `the cause of ${status} is logged without the key`,
      )
    }
  })

  check('retry-after is passed on', async (subject) => {
    const later = new Date(Date.now() + 90_000).toUTCString()
    for (const [status, retryAfter, least, most] of [
      [429, '7', 7, 7],
      [503, '120', 120, 120],
      [429, later, 60, 91],
    ] as const) {
      subject.server.play({ kind: 'status', status, retryAfter })
      const { failure } = await hear(subject)
      const error = assertFailed(
        failure?.thrown,
        ['TOO_MANY_REQUESTS', 'UPSTREAM_ERROR', 'SERVICE_UNAVAILABLE'],
        subject,
      )
      const told = Number(error.headers['retry-after'])
      assert.ok(
        told >= least && told <= most,
        `${retryAfter} becomes ${error.headers['retry-after']} seconds`,
      )
    }
  })

  const text = ['The capital', ' of Peru']
  for (const [what, scene] of [
    ['whose connection is cut', { kind: 'cut', text }],
    ['that ends without "finish"', { kind: 'unfinished', text }],
    ['that the server ends with an error', { kind: 'failure', text }],
    ['that is malformed', { kind: 'garbage' }],
  ] as const) {
    check(`a reply ${what} is an upstream error, after one request`, async (subject) => {
      subject.server.play(scene)
      assertBrokenOff(await hear(subject), 'text' in scene ? scene.text : [], subject)
      assert.equal(subject.server.chats(), 1, 'a provider does not retry')
    })
  }

  check('an unreachable server is an upstream error', async (subject) => {
    await subject.stopServer()
    const { failure } = await hear(subject)
    assert.ok(failure !== undefined, 'a chat without a server is an error')
    assert.equal(assertUpstream(failure.thrown, subject).permanent, false, 'the server may come back')
  })

  check('a chat after a failure succeeds', async (subject) => {
    subject.server.play({ kind: 'cut', text })
    await hear(subject)
    subject.server.play({ kind: 'status', status: 500 })
    await hear(subject)
    subject.server.play(reply(['Lima']))
    assert.equal(textOf(await hearAll(subject)), 'Lima')
  })
}

export function redirectChecks(register: AiCheck): void {
  const check = (
    name: string,
    run: (subject: AiSubject, elsewhere: Elsewhere, skip: (reason: string) => void) => Promise<void>,
  ) =>
    register(`${name} is not followed`, async (subject, skip) => {
      if (lacks(subject, 'redirect')) return skip(lacking('redirect'))
      const elsewhere = await startElsewhere()
      try {
        subject.server.play({ kind: 'redirect', location: elsewhere.url })
        await run(subject, elsewhere, skip)
      } finally {
        await elsewhere.stop()
      }
    })

  check('a redirect of a chat', async (subject, elsewhere) => {
    const { deltas, failure } = await hear(subject)
    assert.equal(elsewhere.visits(), 0, 'the chat and the key go nowhere else')
    assert.ok(failure !== undefined, 'a redirected chat is an error')
    assertUpstream(failure.thrown, subject)
    assert.deepEqual(deltas, [])
    assert.equal(subject.server.chats(), 1, 'a provider does not retry')
  })

  check('a redirect of a request for models', async (subject, elsewhere, skip) => {
    if (lacks(subject, 'models')) return skip(noModels)
    const failure = await failureOfModels(subject)
    assert.equal(elsewhere.visits(), 0, 'the request and the key go nowhere else')
    assert.ok(failure !== null, 'a redirected request is an error')
    assertUpstream(failure.thrown, subject)
  })
}
