import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { assertUpstream } from './assertions.ts'
import { hear } from './chatting.ts'
import type { AiCheck } from './subject.ts'

export function redirectChecks(check: AiCheck): void {
  check('a server that sends elsewhere is not followed, where the wire can say it', async (subject) => {
    if (subject.wireLacks?.includes('redirect')) return
    const elsewhere = await startElsewhere()
    try {
      subject.server.play({ kind: 'redirect', location: elsewhere.url })
      const { deltas, failure } = await hear(subject)
      assert.equal(elsewhere.visits(), 0, 'the chat, and with it the key, goes nowhere else')
      assert.ok(failure !== undefined, 'a chat that is sent elsewhere is an error')
      assertUpstream(failure.thrown, subject)
      assert.deepEqual(deltas, [])
      assert.equal(subject.server.chats(), 1, 'a provider does not try again by itself')
    } finally {
      await elsewhere.stop()
    }
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
