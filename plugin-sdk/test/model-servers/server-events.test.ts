import { readEvents } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'

/** Reads a text that arrives in chunks of this number of bytes. */
async function read(text: string, size = 1000) {
  const bytes = Buffer.from(text)
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.subarray(start, start + size))
  return Array.fromAsync(readEvents(chunks, 1000))
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
  t.strictSame(await Array.fromAsync(readEvents([invalid], 1000)), [{ event: 'message', data: 'a\ufffdb' }])
})

test('An event that is too long is an error', async (t) => {
  const message = 'An event of the answer is longer than 1000 bytes.'
  await t.rejects(read('data: x\n'.repeat(1000)), { message })
  t.equal((await read('data: x\n\n'.repeat(1000))).length, 1000)
})
