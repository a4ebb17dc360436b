import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { ErrorCode } from '../../errors.ts'
import { assertBrokenOff, assertCode, assertUpstream } from './assertions.ts'
import { hear, hearAll, reply, textOf } from './chatting.ts'
import { failureOfModels } from './models.ts'
import type { AiCheck, AiSubject } from './subject.ts'

/** What becomes of the statuses of a server, and whether asking again is no use. */
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
      const error = assertCode(failure.thrown, codes, subject)
      assert.equal(error.permanent, permanent, `${error.code} is ${permanent ? '' : 'not '}permanent`)
      assert.equal(error.headers['retry-after'], undefined, 'nobody said when to try again')
      assert.deepEqual(deltas, [])
      assert.equal(subject.server.chats(), 1, 'a provider does not try again by itself')
      assert.equal(subject.server.openChats(), 0)
    })
  }

  check('when to try again is passed on', async (subject) => {
    const later = new Date(Date.now() + 90_000).toUTCString()
    for (const [status, retryAfter, least, most] of [
      [429, '7', 7, 7],
      [503, '120', 120, 120],
      [429, later, 60, 91],
    ] as const) {
      subject.server.play({ kind: 'status', status, retryAfter })
      const { failure } = await hear(subject)
      const error = assertCode(
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
    ['that stops in mid-sentence', { kind: 'unfinished', text }],
    ['that the server gives up', { kind: 'failure', text }],
    ['that makes no sense', { kind: 'garbage' }],
  ] as const) {
    check(`a reply ${what} is an upstream error, after one request`, async (subject) => {
      subject.server.play(scene)
      assertBrokenOff(await hear(subject), 'text' in scene ? scene.text : [], subject)
      assert.equal(subject.server.chats(), 1, 'a provider does not try again by itself')
    })
  }

  check('a server that is gone is an upstream error', async (subject) => {
    await subject.stopServer()
    const { failure } = await hear(subject)
    assert.ok(failure !== undefined, 'a chat with nobody is an error')
    assert.equal(assertUpstream(failure.thrown, subject).permanent, false, 'it may come back')
  })

  check('a failure does not spoil the next chat', async (subject) => {
    subject.server.play({ kind: 'cut', text })
    await hear(subject)
    subject.server.play({ kind: 'status', status: 500 })
    await hear(subject)
    subject.server.play(reply(['Lima']))
    assert.equal(textOf(await hearAll(subject)), 'Lima')
  })
}

type Elsewhere = Awaited<ReturnType<typeof startElsewhere>>

export function redirectChecks(register: AiCheck): void {
  const check = (name: string, run: (subject: AiSubject, elsewhere: Elsewhere) => Promise<void>) =>
    register(`${name} is not followed, where the wire can say it`, async (subject) => {
      if (subject.wireLacks?.includes('redirect')) return
      const elsewhere = await startElsewhere()
      try {
        subject.server.play({ kind: 'redirect', location: elsewhere.url })
        await run(subject, elsewhere)
      } finally {
        await elsewhere.stop()
      }
    })

  check('a server that sends a chat elsewhere', async (subject, elsewhere) => {
    const { deltas, failure } = await hear(subject)
    assert.equal(elsewhere.visits(), 0, 'the chat, and with it the key, goes nowhere else')
    assert.ok(failure !== undefined, 'a chat that is sent elsewhere is an error')
    assertUpstream(failure.thrown, subject)
    assert.deepEqual(deltas, [])
    assert.equal(subject.server.chats(), 1, 'a provider does not try again by itself')
  })

  check('a server that sends who asks for its models elsewhere', async (subject, elsewhere) => {
    const failure = await failureOfModels(subject)
    assert.equal(elsewhere.visits(), 0, 'the question, and with it the key, goes nowhere else')
    if (failure !== null) assertUpstream(failure.thrown, subject)
  })
}

/** Another server of this machine, which only counts who comes. */
async function startElsewhere() {
  let visits = 0
  const server = createServer((socket) => {
    visits += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/elsewhere`,
    visits: () => visits,
    async stop() {
      server.close()
      await once(server, 'close')
    },
  }
}
