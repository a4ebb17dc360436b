import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
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
