import { readEvents } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'

/** Reads a text that arrives in chunks of this number of bytes. */
async function read(text: string, size = 1000) {
  const bytes = Buffer.from(text)
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.subarray(start, start + size))
  const events = await Array.fromAsync(readEvents(chunks, 1000))
  return events.map(({ event, data }) => ({ event, data }))
}

test('Events come with their type and data, at every split of the bytes', async (t) => {
  const text = [
    'data: añ€😀\n\n',
    ': a comment\n\n',
    'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
    'data: last\nevent: named after its data\nid: 7\n\n',
    'data:no blank\ndata:  two blanks\ndata\n\n',
    'event: without data\n\n',
    'other: field\ndata: cut',
  ].join('')
  for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
    t.strictSame(
      await read(text, size),
      [
        { event: 'message', data: 'añ€😀' },
        { event: 'ping', data: '{"type": "ping"}' },
        { event: 'named after its data', data: 'last' },
        { event: 'message', data: 'no blank\n two blanks\n' },
        { event: 'message', data: 'cut' },
      ],
      `in chunks of ${size} bytes`,
    )
  }
})

test('A byte order mark begins no field, and bytes that are not UTF-8 become U+FFFD', async (t) => {
  t.strictSame(await read('\ufeffdata: x\n\n'), [{ event: 'message', data: 'x' }])
  const invalid = Buffer.concat([Buffer.from('data: a'), Buffer.from([0xff]), Buffer.from('b\n\n')])
  t.match(await Array.fromAsync(readEvents([invalid], 1000)), [{ event: 'message', data: 'a\ufffdb' }])
})

test('An event that is too long is an error', async (t) => {
  const message = 'An event of the answer is longer than 1000 bytes.'
  await t.rejects(read('data: x\n'.repeat(1000)), { message })
  t.equal((await read('data: x\n\n'.repeat(1000))).length, 1000)
})

test('Events with blank data are left out, and end a stream that has hardly anything else', async (t) => {
  const text =
    'data:\n\nevent: ping\r\ndata: \r\n\r\ndata\n\ndata: x\n\ndata:\t \ndata:\n\ndata: y\ndata:\ndata: z\n\n'
  for (let size = 1; size <= text.length; size += 1) {
    t.strictSame(
      await read(text, size),
      [
        { event: 'message', data: 'x' },
        { event: 'message', data: 'y\n\nz' },
      ],
      `in chunks of ${size} bytes`,
    )
  }
  await t.rejects(read('data:\n\n'.repeat(1000)), {
    message: 'An event of the answer is longer than 1000 bytes.',
  })
  await t.rejects(read('data: x\n\ndata:\n\ndata:\n\n'.repeat(1000), 40), {
    message: 'The answer has hardly any content.',
  })
})

test('A JSON object in place of events is one event, at every split of the bytes', async (t) => {
  const text = '\r\n {\n\n  "error": "data: ü"\n\n}\n\n'
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size += 1) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const events = await Array.fromAsync(readEvents(chunks, 1000))
    t.strictSame(events, [{ event: 'message', data: text, isWholeBody: true }], `in chunks of ${size} bytes`)
  }
  await t.rejects(read(`{"a":"${'x'.repeat(1000)}"}`), { message: 'The answer is longer than 1000 bytes.' })
  await t.rejects(read(' '.repeat(2000), 7), { message: /longer than 1000 bytes/ })
})

test('A body is left when its reader leaves, also at its first bytes', async (t) => {
  for (const first of [' ', 'data: x\n\n', '{']) {
    let isLeft = false
    const body = (async function* () {
      try {
        yield Buffer.from(first)
        yield Buffer.from('data: y\n\n')
        yield Buffer.from('data: z\n\n')
      } finally {
        isLeft = true
      }
    })()
    for await (const _ of readEvents(body, 1000)) break
    t.ok(isLeft, JSON.stringify(first))
  }
})
