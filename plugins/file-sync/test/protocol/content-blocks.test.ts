import { createHash } from 'node:crypto'
import { test } from 'tap'
import { ContentBlocks, largestBlock } from '../../src/protocol/content-blocks.ts'

const newHash = () => createHash('sha256')
const sha256 = (bytes: Uint8Array) => newHash().update(bytes).digest('hex')

/** Random bytes that are the same each time. */
function randomBytes(size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let state = 1
  for (let at = 0; at < size; at++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[at] = state
  }
  return bytes
}

function contentOf(bytes: Uint8Array, chunk = 65_536, size = bytes.length) {
  const blocks = new ContentBlocks(size, newHash)
  for (let at = 0; at < bytes.length; at += chunk) blocks.add(bytes.subarray(at, at + chunk))
  return blocks.end()
}

const mebibyte = 1024 * 1024
const random = randomBytes(24 * mebibyte)

test('blocks are the parts of a file, in order', async (t) => {
  const { sha256: whole, size, blocks } = contentOf(random)
  t.equal(whole, sha256(random))
  t.equal(size, random.length)
  let at = 0
  for (const block of blocks) {
    t.equal(block.sha256, sha256(random.subarray(at, at + block.size)))
    at += block.size
    t.ok(block.size <= mebibyte && (block.size >= 65_536 || at === size), `${block.size} bytes`)
  }
  t.equal(at, size)
  const average = size / blocks.length
  t.ok(average > 200_000 && average < 350_000, `${average} bytes on average`)
})

test('the cuts do not depend on how the bytes arrive, and never change', async (t) => {
  const bytes = random.subarray(0, 2 * mebibyte)
  const expected = contentOf(bytes)
  for (const chunk of [1, 1000, 65_537, bytes.length]) t.strictSame(contentOf(bytes, chunk), expected)
  t.strictSame(
    expected.blocks.map(({ size }) => size),
    [436_691, 280_749, 267_947, 314_605, 297_001, 331_895, 168_264],
  )
})

test('a byte that is inserted changes one or two blocks', async (t) => {
  const known = new Set(contentOf(random).blocks.map((block) => block.sha256))
  for (const at of [0, 5 * mebibyte, 12_345_678]) {
    const changed = new Uint8Array(random.length + 1)
    changed.set(random.subarray(0, at))
    changed.set(random.subarray(at), at + 1)
    const others = contentOf(changed).blocks.filter((block) => !known.has(block.sha256))
    t.ok(others.length <= 3, `${others.length} blocks`)
  }
})

test('content without any structure has the largest blocks, and an empty file none', async (t) => {
  const sizes = contentOf(new Uint8Array(2 * mebibyte + 5)).blocks.map(({ size }) => size)
  t.strictSame(sizes, [mebibyte, mebibyte, 5])
  t.strictSame(contentOf(new Uint8Array(0)), { sha256: sha256(new Uint8Array(0)), size: 0, blocks: [] })
  t.strictSame(contentOf(new Uint8Array(1)).blocks.length, 1)
})

test('a larger file has larger blocks', async (t) => {
  const gibibyte = 1024 * mebibyte
  const largest = (size: number) => contentOf(new Uint8Array(65 * mebibyte), mebibyte, size).blocks[0]?.size
  t.equal(largest(gibibyte + 1), mebibyte)
  t.equal(largest(3 * gibibyte), 2 * mebibyte)
  t.equal(largest(5000 * gibibyte), largestBlock)
})
