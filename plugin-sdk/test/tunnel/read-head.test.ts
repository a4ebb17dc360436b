import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { headLine, readHead } from '@nodekeep/plugin-sdk/tunnel'
import fc from 'fast-check'
import { type Test, test } from 'tap'

/** A stream that yields the given pieces, and then ends if `end` is true. */
function streamOf(pieces: readonly Uint8Array[], end = true): Duplex {
  const left = [...pieces]
  return new Duplex({
    read() {
      setImmediate(() => {
        const piece = left.shift()
        if (piece !== undefined) this.push(piece)
        else if (end) this.push(null)
      })
    },
    write: (_chunk, _encoding, done) => done(),
  })
}

/** Two ends of a TCP connection. */
async function socketPair(t: Test): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as { port: number }
  const client = connect({ ...address, host: '127.0.0.1', allowHalfOpen: true })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => {
    client.destroy()
    accepted.destroy()
    server.close()
  })
  return [client, accepted]
}

const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 20 })

test('a line in any pieces is read once, and the bytes after it stay in the stream', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[^\n]{0,60}$/),
      pieces,
      fc.infiniteStream(fc.nat(7)),
      async (line, rest, cuts) => {
        const bytes = Buffer.concat([Buffer.from(`${line}\n`), ...rest])
        const cut: Buffer[] = []
        for (let at = 0; at < bytes.length; ) {
          const size = 1 + (cuts.next().value ?? 0)
          cut.push(bytes.subarray(at, at + size))
          at += size
        }
        const stream = streamOf(cut)
        t.equal(await readHead(stream, headLine, { maxBytes: 400 }), Buffer.from(line).toString())
        t.same(await buffer(stream), Buffer.concat(rest))
      },
    ),
    { numRuns: 50 },
  )
})

test('a parser that consumes nothing leaves the whole stream as it was', async (t) => {
  const [client, accepted] = await socketPair(t)
  client.write('GET / HT')
  const peek = readHead(
    accepted,
    (bytes) => (bytes.length < 12 ? null : { value: bytes.length, length: 0 }),
    {
      maxBytes: 100,
    },
  )
  await once(accepted, 'readable')
  client.write('TP/1.1\r\n')
  t.ok((await peek) >= 12)
  client.end('\r\n')
  t.equal(String(await buffer(accepted)), 'GET / HTTP/1.1\r\n\r\n')
})

test('after the head, a pipe gets every byte and the end', async (t) => {
  const [client, accepted] = await socketPair(t)
  const body = Buffer.alloc(1_000_000, 'x')
  client.write('{"head":1}\n')
  client.end(body)
  t.equal(await readHead(accepted, headLine, { maxBytes: 100 }), '{"head":1}')
  accepted.pipe(accepted)
  t.same(await buffer(client), body)
})

test('a head that is too long, too late, cut short or refused fails', async (t) => {
  const long = streamOf([Buffer.alloc(50), Buffer.alloc(50)], false)
  await t.rejects(readHead(long, headLine, { maxBytes: 100 }), /within 100 bytes/)
  const atOnce = streamOf([Buffer.from(`${'x'.repeat(100)}\n`)], false)
  await t.rejects(readHead(atOnce, headLine, { maxBytes: 100 }), /within 100 bytes/)

  const late = streamOf([Buffer.from('{')], false)
  await t.rejects(readHead(late, headLine, { maxBytes: 100, withinMs: 20 }), /nothing useful for 0.02 s/)

  const short = streamOf([Buffer.from('{"head"')])
  await t.rejects(readHead(short, headLine, { maxBytes: 100 }), /closed before/)

  const refused = streamOf([Buffer.from('x')])
  const refuse = () => {
    throw new Error('No.')
  }
  await t.rejects(readHead(refused, refuse, { maxBytes: 100 }), /^No\.$/)

  const [client, accepted] = await socketPair(t)
  accepted.on('error', () => {})
  const reset = readHead(accepted, headLine, { maxBytes: 100 })
  client.resetAndDestroy()
  await t.rejects(reset, { code: 'ECONNRESET' })
  await t.rejects(readHead(accepted, headLine, { maxBytes: 100 }), /closed before/)
})

test('after a failure, it listens to nothing any more', async (t) => {
  const stream = streamOf([Buffer.alloc(200)], false)
  await t.rejects(readHead(stream, headLine, { maxBytes: 100, withinMs: 10_000 }))
  t.same(
    ['readable', 'end', 'close', 'error'].map((event) => stream.listenerCount(event)),
    [0, 0, 0, 0],
  )
})
