import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { assertUpstream } from './assertions.ts'
import { hear } from './chatting.ts'
import { failureOfModels } from './models.ts'
import type { AiCheck, AiSubject } from './subject.ts'

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
