import { readWithin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('a body that is short enough comes whole', async (t) => {
  const pieces = [Buffer.from('añ'), Buffer.alloc(0), Buffer.from('ejo')]
  t.equal(String(await readWithin(pieces, 6)), 'añejo')
  t.equal((await readWithin([], 0)).length, 0)
  const { body } = new Response('from a server')
  t.equal(String(await readWithin(body ?? [], 100)), 'from a server')
})

test('one that is longer is given up, and its rest canceled', async (t) => {
  let sent = 0
  let canceled = false
  async function* endless() {
    try {
      for (;;) {
        sent += 10
        yield new Uint8Array(10)
      }
    } finally {
      canceled = true
    }
  }
  await t.rejects(readWithin(endless(), 25), { message: 'The answer is longer than 25 bytes.' })
  t.equal(sent, 30)
  t.ok(canceled)
})

test('a body that breaks off fails as it does', async (t) => {
  async function* broken() {
    yield Buffer.from('so far')
    throw new Error('The connection broke.')
  }
  await t.rejects(readWithin(broken(), 100), { message: 'The connection broke.' })
})
