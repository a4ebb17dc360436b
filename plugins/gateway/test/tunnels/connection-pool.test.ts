import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { type Test, test } from 'tap'
import { ConnectionPool } from '../../src/tunnels/connection-pool.ts'

function startPool(t: Test, spares: number) {
  let asked = 0
  const dial = (count: number) => {
    asked += count
  }
  const pool = new ConnectionPool(dial, { spares, waitMs: 60_000 })
  t.teardown(() => pool.close())
  return { pool, asked: () => asked }
}

const connection = () => new PassThrough() as unknown as TLSSocket
const client = () => new EventEmitter() as Socket

test('clients that leave before their node has opened their connections leave no more than the spare ones', async (t) => {
  const { pool, asked } = startPool(t, 2)
  const clients = Array.from({ length: 20 }, client)
  const taken = clients.map((one) => pool.take(one))
  t.equal(asked(), 22)
  for (const one of clients) one.emit('close')
  t.ok((await Promise.all(taken)).every((found) => found === null))
  const opened = Array.from({ length: 22 }, connection)
  for (const socket of opened) pool.add(socket)
  const open = opened.filter(({ destroyed }) => !destroyed)
  t.equal(open.length, 2)
  t.equal(await pool.take(client()), open[0], 'the spare ones are for the next clients')
})

test('clients wait as long as their node opens connections, and it is asked once for each', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { pool, asked } = startPool(t, 0)
  const taken = Array.from({ length: 60 }, () => pool.take(client()))
  for (let opened = 0; opened < 59; opened += 1) {
    mock.timers.tick(2_000)
    pool.add(connection())
  }
  t.ok((await Promise.all(taken.slice(0, 59))).every((found) => found !== null))
  t.equal(asked(), 60)
  mock.timers.tick(3_000)
  t.equal(asked(), 61, 'what did not come is asked for again')
  mock.timers.tick(57_000)
  t.equal(await taken[59], null, 'the node opens none any more')
})
