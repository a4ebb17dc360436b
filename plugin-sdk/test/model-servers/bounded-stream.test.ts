import { test } from 'tap'
import { limitEvents, limitLines, readJsonLines } from '../../src/model-servers/bounded-stream.ts'

/** Yields a text in chunks of this number of bytes. */
function* inChunks(text: string, size: number): Iterable<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

async function events(text: string, size: number): Promise<string[]> {
  const chunks: string[] = []
  for await (const chunk of limitEvents(inChunks(text, size), 1000))
    chunks.push(Buffer.from(chunk).toString())
  return chunks
}

async function lines(text: string, size: number): Promise<string[]> {
  return Array.fromAsync(limitLines(inChunks(text, size), 1000))
}

test('Chunks end at the end of an event, at every split of the bytes', async (t) => {
  for (const end of ['\n\n', '\r\n\r\n', '\n\r\n']) {
    const all = ['data: añ€😀', 'event: x\ndata: b', 'data: a\ndata: b'].map((event) => event + end)
    const text = `${all.join('')}data: cut`
    for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
      const chunks = await events(text, size)
      t.equal(chunks.join(''), text, `${JSON.stringify(end)} in chunks of ${size} bytes`)
      t.equal(chunks.at(-1), 'data: cut')
      t.ok(chunks.slice(0, -1).every((chunk) => /\n\r?\n$/.test(chunk)))
    }
    t.equal((await events(text, 1000)).length, 2, 'Events that arrive together are passed on together.')
  }
})

test('A line of spaces, or with a carriage return in it, ends no event', async (t) => {
  const text = 'data: a\n \ndata: b\rc\n\r'
  t.strictSame(await events(text, 3), [text])
})

test('Events without data are left out, and many of them count as one long event', async (t) => {
  for (const other of [': ping\n\n', 'event: ping\n\n', 'dat: 1\r\n\r\n', 'xdata: 1\n\n']) {
    const chunks = [other, other, 'data: a\n\n', other].map((event) => Buffer.from(event))
    const passed = await Array.fromAsync(limitEvents(chunks, 1000))
    t.equal(Buffer.concat(passed).toString(), 'data: a\n\n', other)
    for (let size = 1; size <= 40; size += 1) {
      const text = (await events(`${other.repeat(3)}data: a\n\n${other}`, size)).join('')
      t.ok(text.includes('data: a\n\n'), JSON.stringify([other, size]))
    }
    await t.rejects(events(other.repeat(200), 64), { message: /longer than 1000 bytes/ }, other)
    const words = 'data: as much as the rest\n\n'
    await t.resolves(events(`${other}${words}`.repeat(200), 64), other)
    await t.rejects(
      events(`${other.repeat(20)}data: a\n\n`.repeat(200), 64),
      { message: /hardly any content/ },
      other,
    )
  }
})

test('An event may have the maximum length', async (t) => {
  const message = 'An event of the answer is longer than 1000 bytes.'
  await t.rejects(events('x'.repeat(1001), 10), { message })
  await t.rejects(events('data: x\n'.repeat(1000), 10), { message })
  await t.resolves(events(`data: ${'x'.repeat(992)}\n\n`.repeat(20), 10))
})

test('A stream is read only on request, and is canceled when its reader leaves', async (t) => {
  let sent = 0
  let canceled = false
  async function* endless() {
    try {
      for (;;) {
        sent += 1
        yield Buffer.from('data: x\n\n')
      }
    } finally {
      canceled = true
    }
  }
  for await (const _chunk of limitEvents(endless(), 1000)) break
  t.equal(sent, 1)
  t.ok(canceled)
})

test('Lines are passed on without line ends, at every split of the bytes', async (t) => {
  const text = '{"a":"añ€😀"}\r\n\n  \n{"b":1}\n{"c":2}'
  for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
    t.strictSame(
      await lines(text, size),
      ['{"a":"añ€😀"}', '{"b":1}', '{"c":2}'],
      `in chunks of ${size} bytes`,
    )
  }
  await t.rejects(lines('x'.repeat(1001), 10), { message: 'A line of the answer is longer than 1000 bytes.' })
  await t.resolves(lines(`${'x'.repeat(1000)}\n`.repeat(3), 10))
})

test('A stream that breaks off fails with its own error', async (t) => {
  async function* broken() {
    yield Buffer.from('data: so far\n\n')
    throw new Error('The connection broke.')
  }
  await t.rejects(Array.fromAsync(limitEvents(broken(), 100)), { message: 'The connection broke.' })
  await t.rejects(Array.fromAsync(limitLines(broken(), 100)), { message: 'The connection broke.' })
})

test('Blank lines count as one long line', async (t) => {
  for (const blank of ['\n', '\r\n', ' \t\n']) {
    await t.rejects(
      lines(blank.repeat(1200), 64),
      { message: /longer than 1000 bytes/ },
      JSON.stringify(blank),
    )
    t.equal((await lines(`${blank.repeat(200)}x\n`, 64)).length, 1)
    t.equal((await lines(`${blank}xyz\n`.repeat(2000), 64)).length, 2000)
    await t.rejects(lines(`${blank.repeat(200)}x\n`.repeat(20), 64), { message: /hardly any content/ })
  }
})

test('A stream that is there at once does not hold up the event loop', async (t) => {
  const flood = Buffer.from('data: {}\n\n'.repeat(40_000))
  for (const read of [limitEvents, limitLines]) {
    let turns = 0
    let isReading = true
    const turn = () => {
      turns += 1
      if (isReading) setImmediate(turn)
    }
    turn()
    for await (const _unit of read([flood], 1000));
    isReading = false
    t.ok(turns > flood.length / 65_536, `The event loop made ${turns} turns.`)
  }
})

test('JSON lines are parsed, and the error for another line does not quote it', async (t) => {
  const text = '{"a":"€"}\n\n7\r\nnull'
  t.strictSame(await Array.fromAsync(readJsonLines(inChunks(text, 3), 1000)), [{ a: '€' }, 7, null])
  const message = 'A line of the answer is not valid JSON.'
  await t.rejects(Array.fromAsync(readJsonLines(inChunks('{"a": my secret', 1000), 1000)), { message })
})
