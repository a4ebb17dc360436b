import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { cut } from '../../src/connections/cut.ts'

/** A connection, and how its other side sees its end: an error's code, or `end`. */
async function connection(t: Test): Promise<{ near: Socket; outcome: Promise<string>; far: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const { promise: outcome, resolve } = Promise.withResolvers<string>()
  far.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? '')).once('end', () => resolve('end'))
  const [near] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => {
    near.destroy()
    far.destroy()
  })
  return { near, far, outcome }
}

test('a connection in use is reset', async (t) => {
  const { near, far, outcome } = await connection(t)
  near.write('half')
  await once(far, 'data')
  const closed = once(near, 'close')
  cut(near)
  await closed
  t.equal(await outcome, 'ECONNRESET')
})

test('a connection whose last bytes wait for their reader is reset', async (t) => {
  const { near, far, outcome } = await connection(t)
  near.end(Buffer.alloc(50_000_000))
  await once(far, 'readable')
  const closed = once(near, 'close')
  cut(near)
  await closed
  far.resume()
  t.equal(await outcome, 'ECONNRESET')
})

for (const [when, wait] of Object.entries({
  'in the same moment': async () => {},
  'a moment later': async () => new Promise(setImmediate),
})) {
  test(`a connection that has ended is closed, when it is cut ${when}`, async (t) => {
    const { near, far, outcome } = await connection(t)
    far.resume()
    near.end('whole')
    const closed = once(near, 'close')
    await wait()
    cut(near)
    await closed
    t.equal(await outcome, 'end')
  })
}
