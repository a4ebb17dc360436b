import t from 'tap'
import { ChunkBatch } from '../../src/streaming/chunk-batch.ts'

t.test('a batch is full with 256 KiB or 1,024 chunks', async (t) => {
  const large = new ChunkBatch()
  t.notOk(large.add(Buffer.alloc(256 * 1024 - 1)))
  t.ok(large.add(Buffer.alloc(1)))
  t.equal(large.bytes, 256 * 1024)
  const many = new ChunkBatch()
  for (let count = 1; count < 1024; count += 1) t.notOk(many.add(Buffer.alloc(1)))
  t.ok(many.add(Buffer.alloc(1)))
})

t.test('all bytes are written at their position, however few a call writes', async (t) => {
  const batch = new ChunkBatch()
  for (const text of ['abc', '', 'defg', 'h']) batch.add(Buffer.from(text))
  for (const most of [1, 2, 3, 100]) {
    const file = Buffer.alloc(10, '.')
    const writev = async (chunks: readonly Uint8Array[], position: number) => {
      const bytes = Buffer.concat(chunks).subarray(0, most)
      bytes.copy(file, position)
      return bytes.length
    }
    await batch.write(writev, 2)
    t.equal(file.toString(), '..abcdefgh', `${most} at a time`)
  }
})

t.test('a batch whose writer fails ends with its error', async (t) => {
  const batch = new ChunkBatch()
  batch.add(Buffer.from('abc'))
  const writev = async (): Promise<number> => Promise.reject(new Error('The disk is full.'))
  await t.rejects(batch.write(writev, 0), { message: 'The disk is full.' })
})

t.test('only large chunks that fill their buffers are freed', async (t) => {
  const batch = new ChunkBatch()
  const whole = new Uint8Array(16 * 1024)
  const part = new Uint8Array(new ArrayBuffer(32 * 1024), 0, 16 * 1024)
  const small = new Uint8Array(16 * 1024 - 1)
  for (const chunk of [whole, part, small]) batch.add(chunk)
  batch.free()
  t.strictSame([whole.length, part.length, small.length], [0, 16 * 1024, 16 * 1024 - 1])
})
