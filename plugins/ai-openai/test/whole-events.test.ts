import { test } from 'tap'
import { WholeEvents } from '../src/whole-events.ts'

/** What comes of a text that arrives in pieces of so many bytes. */
function cut(text: string, size: number): { pieces: string[]; rest: string } {
  const events = new WholeEvents(1000)
  const bytes = Buffer.from(text)
  const pieces: string[] = []
  for (let start = 0; start < bytes.length; start += size) {
    const whole = events.take(bytes.subarray(start, start + size))
    if (whole !== null) pieces.push(Buffer.from(whole).toString())
  }
  return { pieces, rest: Buffer.from(events.rest() ?? []).toString() }
}

test('pieces end where an event ends, however they come', async (t) => {
  for (const end of ['\n\n', '\r\n\r\n', '\n\r\n', '\n\n\n']) {
    const events = ['data: añ€😀', ': ping', 'data: a\ndata: b'].map((event) => event + end)
    const text = `${events.join('')}data: cut`
    for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
      const { pieces, rest } = cut(text, size)
      t.equal(pieces.join('') + rest, text, `${JSON.stringify(end)} in pieces of ${size}`)
      t.equal(rest, 'data: cut')
      t.ok(pieces.every((piece) => /\n\r?\n$|^\r?\n$/.test(piece)))
    }
    t.equal(cut(text, 1000).pieces.length, 1, 'what has come is passed on at once')
  }
})

test('a line of blanks, or with a return in it, is no empty one', async (t) => {
  t.strictSame(cut('data: a\n \ndata: b\rc\n\r', 3), { pieces: [], rest: 'data: a\n \ndata: b\rc\n\r' })
})

test('what has no data is a part of the next event', async (t) => {
  for (const other of [': ping\n\n', 'event: ping\n\n', 'dat: 1\r\n\r\n', 'xdata: 1\n\n']) {
    const text = `${other.repeat(3)}data: a\n\n${other}`
    for (let size = 1; size <= text.length; size += 1) {
      const expected = { pieces: [text.slice(0, -other.length)], rest: other }
      t.strictSame(cut(text, size), expected, JSON.stringify([other, size]))
    }
    t.throws(() => cut(other.repeat(200), 64), { message: /longer than 1000 bytes/ }, other)
  }
})

test('the longest event is as long as allowed', async (t) => {
  t.throws(() => cut('x'.repeat(1001), 10), { message: 'An event of the answer is longer than 1000 bytes.' })
  t.doesNotThrow(() => cut(`data: ${'x'.repeat(992)}\n\n`.repeat(20), 10))
})
